package main

import (
	"crypto/tls"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/fakeproxy"
)

// modelList answers the request for models if it has the key.
func modelList(r *fakemodel.Request) fakemodel.Reply {
	reply := fakemodel.Whole(200, []byte(`{"data":[]}`))
	switch {
	case r.Path != "/v1/models":
		reply = fakemodel.Whole(404, []byte(`{}`))
	case len(r.Values("Authorization")) == 0 || r.Values("Authorization")[0] != "Bearer sk-right":
		reply = fakemodel.Whole(401, []byte(`{}`))
	}
	return reply
}

// doctor runs the command, and returns its exit code and output.
func doctor(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	var stdout, stderr strings.Builder
	code = execute(t.Context(), append([]string{"doctor"}, args...), &streams{strings.NewReader(""), &stdout, &stderr}, newHangups())
	return code, stdout.String(), stderr.String()
}

// Each upstream is connected to as it is configured, and each step that fails is named with its remedy.
func TestDoctor(t *testing.T) {
	authority, err := fakeproxy.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := authority.Issue(time.Hour, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	model, err := fakemodel.NewTLS(modelList, &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	p, err := fakeproxy.Start(fakeproxy.Options{User: "ann", Password: "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	page, err := fakemodel.New(func(*fakemodel.Request) fakemodel.Reply {
		reply := fakemodel.Whole(200, []byte("<html>sign in</html>"))
		reply.Header = []fakemodel.Field{{Name: "Content-Type", Value: "text/html"}}
		return reply
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(page.Close)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "ca.pem"), authority.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		keys string
		code int
		want []string
	}{
		"all is well":       {"url: " + model.URL() + ", ca: ca.pem, api_key: sk-right", 0, []string{"resolve      ok: 127.0.0.1 is an address", "connect      ok: connected to " + model.Addr(), `TLS          ok: TLS 1.3, certificate by "CN=Example Corp CA" until 20`, "GET /models  ok: answered with status 200"}},
		"the agent's key":   {"url: " + model.URL() + ", ca: ca.pem", 0, []string{"answered with status 401, as expected: the key comes from the agent"}},
		"a proxy":           {"url: " + model.URL() + ", ca: ca.pem, api_key: sk-right, proxy: 'http://ann:s3cret@" + p.Addr() + "'", 0, []string{"proxy        ok: http://" + p.Addr() + " has connected to " + model.Addr()}},
		"the wrong key":     {"url: " + model.URL() + ", ca: ca.pem, api_key: sk-wrong", 1, []string{"FAILED: answered with status 401: it refuses the key", "What to do about GET /models of /v1: check api_key and key_header"}},
		"the wrong path":    {"url: " + strings.TrimSuffix(model.URL(), "/v1") + ", ca: ca.pem, api_key: sk-right", 0, []string{"answered with status 404: the upstream is reached"}},
		"a login page":      {"url: " + page.URL(), 1, []string{"FAILED: answered with status 200, which is not JSON", "a login page of the network"}},
		"unknown authority": {"url: " + model.URL(), 1, []string{"connect  ok", "TLS      FAILED: the certificate of " + model.Addr(), "What to do about TLS of /v1: set ca of this upstream"}},
		"refused":           {"url: https://" + closed.Addr().String(), 1, []string{"connect  FAILED: " + closed.Addr().String() + " refused the connection"}},
		"another password":  {"url: " + model.URL() + ", proxy: 'http://ann:s3cret2@" + p.Addr() + "'", 1, []string{"proxy    FAILED: the proxy refused the user or the password (407)"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(folder, "heldcall.yaml")
			if err := os.WriteFile(file, []byte("proxy:\n  upstreams: [{prefix: /v1, "+tt.keys+"}]\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out, errors := doctor(t, "--config", file)
			if code != tt.code || (code == 0) != (errors == "") {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, errors)
			}
			for _, want := range append(tt.want, "UPSTREAM", "/v1 http") {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			if strings.Contains(out+errors, "s3cret") {
				t.Errorf("the password is in\n%s%s", out, errors)
			}
			_, out, _ = doctor(t, "--config", file, "-o", "json")
			var all []app.Diagnosis
			if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 1 || all[0].OK() != (tt.code == 0) || len(all[0].Findings) < 2 || strings.Contains(out, "s3cret") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// Without a file the upstreams are those of `heldcall run`, and the environment is that of the command.
func TestDoctorWithoutAFile(t *testing.T) {
	model, err := fakemodel.New(modelList)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	for _, name := range []string{"HELDCALL_CONFIG", "OPENAI_API_BASE", "COPILOT_PROVIDER_BASE_URL", "HELDCALL_OPENAI_URL", "HELDCALL_ANTHROPIC_URL", "ANTHROPIC_API_KEY"} {
		t.Setenv(name, "")
	}
	t.Setenv("OPENAI_BASE_URL", model.URL())
	t.Setenv("ANTHROPIC_BASE_URL", "http://"+model.Addr())
	t.Setenv("OPENAI_API_KEY", "sk-right")
	code, out, notes := doctor(t)
	if code != 0 || !strings.Contains(notes, "heldcall: model: "+model.URL()+", from OPENAI_BASE_URL") {
		t.Errorf("exit code %d: %s", code, notes)
	}
	for _, want := range []string{"/v1 " + model.URL(), "status 200", "/anthropic/v1 " + model.URL(), "/anthropic " + model.URL(), "status 401, as expected"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	t.Setenv("OPENAI_API_KEY", "sk-wrong")
	t.Setenv("HTTP_PROXY", "http://ann:s3cret%@p:1") // which loopback does not use
	code, out, errors := doctor(t)
	if code != 1 || !strings.Contains(errors, "heldcall: 1 of 3 upstreams cannot be used as they are configured") || !strings.Contains(out, "\nWhat to do about GET /models of /v1: check api_key") {
		t.Errorf("exit code %d: %s\n%s", code, errors, out)
	}
}
