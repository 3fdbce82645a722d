package console

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/console/problem"
)

func TestOnlyLoopback(t *testing.T) {
	for _, address := range []string{"0.0.0.0:4142", ":4142", "[::]:4142", "192.0.2.7:0", "example.com:1", "127.0.0.1"} {
		if _, err := New(Options{Listen: address, Gate: &scriptedGate{}}); err == nil || !strings.Contains(err.Error(), address) {
			t.Errorf("New on %s = %v, want an error that names it", address, err)
		}
	}
	for _, address := range []string{"127.0.0.1:0", "127.9.9.9:0", "[::1]:0", "localhost:0"} {
		if _, err := New(Options{Listen: address, Gate: &scriptedGate{}}); err != nil {
			t.Errorf("New on %s = %v", address, err)
		}
	}
}

// A name of an attacker that resolves to loopback must not reach the console
// through a browser.
func TestForeignHostIsRefused(t *testing.T) {
	url := start(t, &scriptedGate{}, nil)
	for _, host := range []string{"attacker.example", "attacker.example:4142", "127.0.0.1.attacker.example", "localhost.attacker.example", "0.0.0.0:4142", "192.0.2.1", "[2001:db8::1]:80"} {
		for _, path := range []string{"/", "/api/v1/requests", "/api/v1/events", "/metrics", "/nothing"} {
			status, header, body := ask(t, "GET", url+path, "", "Host", host)
			wantProblem(t, status, header, body, 403, problem.CodeForeignHost)
		}
	}
	for _, host := range []string{"localhost", "LOCALHOST:9", "127.0.0.1", "127.1.2.3:80", "[::1]:80", "[::1]", "localhost.", "localhost.:80"} {
		if status, _, body := ask(t, "GET", url+"/healthz", "", "Host", host); status != 200 {
			t.Errorf("host %s answers %d %s", host, status, body)
		}
	}
}

// A page of another site must not decide.
func TestForeignPageIsRefused(t *testing.T) {
	gate := &scriptedGate{}
	url := start(t, gate, nil)
	const decision = `{"action":"approve"}`
	decide := url + "/api/v1/requests/01A/decision"
	for _, headers := range [][]string{
		{"Origin", "https://attacker.example"},
		{"Origin", "null"},
		{"Origin", "http://localhost:3000"},
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:3000"},
	} {
		status, header, body := ask(t, "POST", decide, decision, headers...)
		wantProblem(t, status, header, body, 403, problem.CodeForeignOrigin)
	}
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/json, text/plain"} {
		status, header, body := ask(t, "POST", decide, decision, "Content-Type", media)
		wantProblem(t, status, header, body, 415, problem.CodeUnsupportedType)
	}
	if gate.decision.Action != "" {
		t.Fatalf("the gate was asked: %+v", gate.decision)
	}
	for _, headers := range [][]string{
		nil,
		{"Origin", url},
		{"Sec-Fetch-Site", "same-origin"},
		{"Sec-Fetch-Site", "none"},
		{"Content-Type", "application/json; charset=utf-8"},
	} {
		if status, _, body := ask(t, "POST", decide, decision, headers...); status != 200 {
			t.Errorf("with %v the answer is %d %s", headers, status, body)
		}
	}
}
