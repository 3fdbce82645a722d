package app_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/notify/shoutrrr"
)

// The test program also is the child process that sends messages, as heldcall is, and the
// heldcall that a test kills.
func TestMain(m *testing.M) {
	if shoutrrr.IsChild(os.Args) {
		os.Exit(shoutrrr.RunChild(os.Stdin, os.Stdout))
	}
	if config := os.Getenv(killedConfig); config != "" {
		os.Exit(runUntilKilled(config))
	}
	os.Exit(m.Run())
}

const ntfyToken = "tk-s3cr3t-of-ntfy"

// ntfy is an ntfy server. told receives its messages, each with its topic.
func ntfy(t *testing.T, status func(topic string) int) (configure func(name string) app.ShoutrrrConfig, told chan string) {
	told = make(chan string, 20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if _, password, _ := r.BasicAuth(); password != ntfyToken {
			t.Errorf("the password is %q", password)
		}
		topic := strings.TrimPrefix(r.URL.Path, "/")
		code := status(topic)
		w.WriteHeader(code)
		if code == http.StatusOK {
			_, _ = io.WriteString(w, `{"id":"1"}`)
			told <- topic + ": " + string(text)
			return
		}
		_, _ = io.WriteString(w, `{"code":50001,"error":"no: `+ntfyToken+`"}`)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	return func(name string) app.ShoutrrrConfig {
		return app.ShoutrrrConfig{Name: name, URL: app.Secret("ntfy://ann:" + ntfyToken + "@" + host + "/" + name + "?scheme=http")}
	}, told
}

func next(t *testing.T, told chan string) string {
	t.Helper()
	select {
	case text := <-told:
		return text
	case <-time.After(soon):
		t.Fatal("no message arrives")
		return ""
	}
}

// A service gets the messages of its routes, again after a failure, once across a restart,
// and those of quiet hours after these end. Its token stays in its URL.
func TestServicesOfShoutrrrAreTold(t *testing.T) {
	t.Parallel()
	failed := make(chan struct{}, 20)
	first := true
	configure, told := ntfy(t, func(string) int {
		if first {
			first = false
			failed <- struct{}{}
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	var config app.Config
	w := build(t, askAll, callThenText, func(c *app.Config) {
		c.Notify.Shoutrrr = []app.ShoutrrrConfig{configure("phone"), configure("night")}
		c.Notify.Routes = []app.RouteConfig{
			{To: []string{"phone"}, Tenants: []string{"default"}, Tools: []string{"ba*"}},
			{To: []string{"night"}},
		}
	}, restarting(&config))
	agent := w.post("/v1/chat/completions", streamedRequest)
	id := w.pending(1)[0].ID
	text := next(t, told)
	for _, want := range []string{"phone: heldcall holds a call of \"bash\"", "opensesame", w.app.ConsoleURL() + "/#/requests/" + id} {
		if !strings.Contains(text, want) {
			t.Errorf("the message lacks %q: %s", want, text)
		}
	}
	<-failed

	restart := func(change func(*app.Config)) {
		if err := w.stop(); err != nil {
			t.Fatal(err)
		}
		change(&config)
		w.start(config)
	}
	allDay := app.QuietConfig{Hours: "00:00-00:00"}
	restart(func(c *app.Config) {
		c.Notify.Routes = []app.RouteConfig{{To: []string{"phone"}}, {To: []string{"night"}, Quiet: allDay}}
		c.Notify.Routes = append([]app.RouteConfig{{To: []string{"night"}, Quiet: allDay}}, c.Notify.Routes...)
	})
	second := w.post("/v1/chat/completions", strings.Replace(streamedRequest, "do it", "do that", 1))
	w.pending(2)
	restart(func(c *app.Config) { c.Notify.Routes = []app.RouteConfig{{To: []string{"night", "phone"}}} })
	after := []string{next(t, told), next(t, told), next(t, told)} // the first at night, the second at both
	if text := strings.Join(after, "\n"); strings.Count(text, "night: ") != 2 || strings.Count(text, "phone: ") != 1 || strings.Count(text, id) != 1 {
		t.Errorf("after quiet hours and restarts the messages are\n%s", text)
	}
	if len(told) != 0 {
		t.Errorf("and more: %s", <-told)
	}
	if log := w.log.String(); strings.Contains(log, ntfyToken) || !strings.Contains(log, "the service answered 503") {
		t.Errorf("the log has the token, or lacks the failure:\n%s", log)
	}
	agent.cancel()
	second.cancel()
}

// A service that never answers holds up no call, no other channel and not the end.
func TestAHungServiceOfShoutrrrDelaysNothing(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 20)
	ended := make(chan struct{})
	defer close(ended)
	configure, told := ntfy(t, func(topic string) int {
		if topic == "hung" {
			asked <- struct{}{}
			<-ended
		}
		return http.StatusOK
	})
	w := build(t, askAll, callThenText, func(c *app.Config) {
		c.Notify.Shoutrrr = []app.ShoutrrrConfig{configure("hung"), configure("phone")}
	})
	agent := w.post("/v1/chat/completions", streamedRequest)
	id := w.pending(1)[0].ID
	<-asked
	if text := next(t, told); !strings.HasPrefix(text, "phone: ") {
		t.Errorf("the message is %s", text)
	}
	w.decide(id, approve(id))
	if answer := agent.rest(); !strings.Contains(answer, lsCall.ID) {
		t.Errorf("the agent got %q", answer)
	}
	if err := w.stop(); err != nil {
		t.Errorf("heldcall ended with: %v", err)
	}
}
