package app_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// The eighth promise against upstreams that quote the key they were sent.

// quotedKey is an upstream's key that text, JSON and URLs spell differently.
const quotedKey = `sk-up/"opensesame"+Wq7==`

// spelt are the ways in which an upstream may quote the key.
func spelt() map[string]string {
	inJSON, _ := json.Marshal(quotedKey)
	return map[string]string{
		"text":           quotedKey,
		"JSON":           string(inJSON[1 : len(inJSON)-1]),
		"escaped slash":  strings.ReplaceAll(string(inJSON[1:len(inJSON)-1]), "/", `\/`),
		"query":          url.QueryEscape(quotedKey),
		"path":           url.PathEscape(quotedKey),
		"Basic":          base64.StdEncoding.EncodeToString([]byte("me:" + quotedKey)),
		"Basic, shifted": base64.StdEncoding.EncodeToString([]byte("user:" + quotedKey)),
		"base64 of URLs": base64.RawURLEncoding.EncodeToString([]byte(quotedKey)),
	}
}

// showsKey reports a piece of the key in any spelling: of base64 the middle.
func showsKey(answer string) bool {
	for _, spelling := range spelt() {
		if strings.Contains(answer, spelling) {
			return true
		}
	}
	for before := range 3 {
		digits := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + quotedKey))
		if strings.Contains(answer, digits[8:20]) {
			return true
		}
	}
	return strings.Contains(answer, "opensesame")
}

func withKey(c *app.Config) { c.Proxy.Upstreams[0].APIKey = quotedKey }

// quoting is a reply with a text in a header and in the body.
func quoting(status int, text string) fakemodel.Reply {
	r := fakemodel.Whole(status, []byte(`{"error":{"message":"no such key: `+text+` (you sent `+text+`)","type":"x"}}`))
	r.Header = append(r.Header, fakemodel.Field{Name: "X-Got", Value: "Bearer " + text}, fakemodel.Field{Name: "Location", Value: "/?key=" + text})
	return r
}

func TestPromise8_ErrorsDoNotShowTheKey(t *testing.T) {
	t.Parallel()
	for name, text := range spelt() {
		w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
			if r.Method == http.MethodGet && r.Path == "/v1/models" {
				return fakemodel.Reply{Header: quoting(200, text).Header, Body: []fakemodel.Write{{Bytes: []byte(`{"data":[]}`)}}}
			}
			return quoting(401, text)
		}, withKey)
		for route, request := range map[string]string{
			"gated":            rawPost("/v1/chat/completions", wholeRequest, ""),
			"gated, streamed":  rawPost("/v1/chat/completions", streamedRequest, ""),
			"ungated":          rawPost("/v1/embeddings", "{}", ""),
			"ungated, no body": "HEAD /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
			"ungated, good":    "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		} {
			got := w.raw(request)
			if showsKey(got) || !strings.Contains(got, "X-Got: Bearer ") || !strings.Contains(got, "[upstream key]") {
				t.Errorf("%s, %s: %s", name, route, got)
			}
		}
		if showsKey(w.log.String()) {
			t.Errorf("%s: the log shows the key", name)
		}
	}
}

func TestPromise8_GoodAnswersDoNotShowTheKey(t *testing.T) {
	t.Parallel()
	inJSON := spelt()["JSON"]
	w := build(t, allowAll, func(r *fakemodel.Request) fakemodel.Reply {
		var reply fakemodel.Reply
		if r.Streamed() {
			reply = fakemodel.Events((&fakemodel.Stream{}).Role().Text("first").Writes()...)
			reply.Body = append(reply.Body, fakemodel.Write{Bytes: []byte(`data: {"error":{"message":"key ` + inJSON + ` has expired"}}` + "\n\n")})
		} else {
			reply = fakemodel.Whole(200, []byte(`{"error":{"message":"key `+inJSON+` has expired"},"choices":[]}`))
		}
		reply.Header = append(reply.Header, fakemodel.Field{Name: "X-Got", Value: quotedKey}, fakemodel.Field{Name: "x-" + url.QueryEscape(quotedKey), Value: "1"})
		return reply
	}, withKey)
	for name, body := range bodies() {
		if got := w.raw(rawPost("/v1/chat/completions", body, "")); showsKey(got) || !strings.Contains(got, "key [upstream key] has expired") || !strings.HasPrefix(got, "HTTP/1.1 200") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestPromise8_KeyInPiecesAndCompressed(t *testing.T) {
	t.Parallel()
	text := []byte(`{"error":"no such key: ` + spelt()["JSON"] + `"}`)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(text)
	z.Close()
	half := len(text) / 2
	coding := func(name string) []fakemodel.Field { return []fakemodel.Field{{Name: "content-encoding", Value: name}} }
	var reply fakemodel.Reply
	w := build(t, askAll, func(*fakemodel.Request) fakemodel.Reply { return reply }, withKey)
	for name, tt := range map[string]struct {
		reply fakemodel.Reply
		want  string
	}{
		"in two chunks":  {fakemodel.Reply{Status: 403, Body: []fakemodel.Write{{Bytes: text[:half]}, {Bytes: text[half:]}}}, "HTTP/1.1 403"},
		"until the end":  {fakemodel.Reply{Status: 500, Body: []fakemodel.Write{{Bytes: text[:half]}, {Bytes: text[half:]}}, Framing: fakemodel.CloseDelimited}, "HTTP/1.1 500"},
		"gzip":           {fakemodel.Reply{Status: 401, Header: coding("gzip"), Body: []fakemodel.Write{{Bytes: packed.Bytes()}}}, "HTTP/1.1 401"},
		"unknown coding": {fakemodel.Reply{Status: 401, Header: coding("rot13"), Body: []fakemodel.Write{{Bytes: text}}}, "HTTP/1.1 502"},
		"broken coding":  {fakemodel.Reply{Status: 401, Header: coding("br"), Body: []fakemodel.Write{{Bytes: text}}}, "HTTP/1.1 502"},
	} {
		reply = tt.reply
		got := w.raw("GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept-Encoding: gzip\r\n\r\n")
		if showsKey(got) || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s", name, got)
		}
		if strings.HasPrefix(tt.want, "HTTP/1.1 502") != strings.Contains(got, "answer_not_understood") || strings.Contains(got, "ncoding: gzip") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A compressed error that does not quote the key, and any file, pass as they came.
func TestPromise8_WhatShowsNoKeyIsUnchanged(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(`{"error":"slow down"}`))
	z.Close()
	var reply fakemodel.Reply
	w := build(t, askAll, func(*fakemodel.Request) fakemodel.Reply { return reply }, withKey)
	for status, body := range map[int][]byte{429: packed.Bytes(), 200: []byte("a file with " + quotedKey)} {
		reply = fakemodel.Reply{Status: status, Body: []fakemodel.Write{{Bytes: body}}}
		if status == 429 {
			reply.Header = []fakemodel.Field{{Name: "Content-Encoding", Value: "gzip"}}
		}
		req, _ := http.NewRequest(http.MethodGet, w.url("/v1/files/f1/content"), nil)
		req.Header.Set("Accept-Encoding", "gzip")
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !bytes.Equal(got, body) || resp.StatusCode != status || (resp.Header.Get("Content-Encoding") == "gzip") != (status == 429) {
			t.Errorf("%d: %v %q", resp.StatusCode, err, got)
		}
	}
}

func TestPromise8_LogsDoNotQuoteUpstream(t *testing.T) {
	t.Parallel()
	var reply fakemodel.Reply
	w := build(t, allowAll, func(*fakemodel.Request) fakemodel.Reply { return reply }, withKey)
	for name, header := range map[string]fakemodel.Field{
		"no header":      {Name: "key " + quotedKey + " is unknown", Value: ""},
		"too long":       {Name: "X-Got", Value: quotedKey + strings.Repeat("x", 64<<10)},
		"control bytes":  {Name: "X-Got", Value: quotedKey + "\x00"},
		"invalid length": {Name: "Content-Length", Value: quotedKey},
	} {
		reply = fakemodel.Reply{Header: []fakemodel.Field{header}, Framing: fakemodel.CloseDelimited}
		for _, request := range []string{rawPost("/v1/chat/completions", wholeRequest, ""), rawPost("/v1/embeddings", "{}", "")} {
			if got := w.raw(request); showsKey(got) {
				t.Errorf("%s: %s", name, got)
			}
		}
		if log := w.log.String(); showsKey(log) || !strings.Contains(log, "read the head of the answer") {
			t.Errorf("%s: logged %s", name, log)
		}
	}
}

func TestPromise8_NoKeyNoAuthorization(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, callThenText)
	w.raw(rawPost("/v1/chat/completions", wholeRequest, ""))
	w.raw(rawPost("/v1/embeddings", "{}", "x-api-key: own\r\n"))
	for _, r := range w.upstream.Requests() {
		if got := r.Values("Authorization"); len(got) > 0 {
			t.Errorf("%s was asked with Authorization %q", r.Path, got)
		}
	}
	if got := w.upstream.Requests()[1].Get("X-Api-Key"); got != "own" {
		t.Errorf("the agent's own key did not pass: %q", got)
	}
}

// A call whose arguments spread the upstream's key over several events is not released, and
// no person is asked about it: each event alone does not have the key.
func TestPromise8_KeyInPiecesOfACall(t *testing.T) {
	t.Parallel()
	for _, s := range speeches {
		if strings.HasPrefix(s.name, "responses") {
			continue // an event of Responses repeats the arguments whole, and the call is that one
		}
		for _, policy := range []string{askAll, "rules:\n  - allow: [\"bash(ls *)\"]\n"} {
			model := lister()
			model.Rules[0].Say = fakemodel.Say(fakemodel.Answer{
				Text: "Let me look.", Fragment: 4,
				Calls: []fakemodel.Call{{ID: lsCall.ID, Name: lsCall.Name, Arguments: `{"command":"ls ` + spelt()["JSON"] + `"}`}},
			})
			w := build(t, policy, model.Reply, withKey)
			got := <-w.begin(s.path, s.body(true), s.header...)
			if !strings.Contains(got.body, "is not understood") || secretOf(got.body) != "" {
				t.Errorf("%s: %s, %v", s.name, got.body, got.err)
			}
			page, err := w.console.Requests(t.Context(), approvals.Filter{})
			if err != nil || len(page.Items) != 0 {
				t.Errorf("%s: people were asked %d times, %v", s.name, len(page.Items), err)
			}
			if showsKey(w.log.String()) {
				t.Errorf("%s: the log shows the key", s.name)
			}
		}
	}
}

// A reviewer may paste the key into a note, which the agent reads after an abort.
func TestPromise8_NotesOfReviewersDoNotShowTheKey(t *testing.T) {
	t.Parallel()
	for name, body := range bodies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, callThenText, withKey)
			answer := make(chan string, 1)
			go func() { answer <- w.post("/v1/chat/completions", body).rest() }()
			note := "it leaks " + quotedKey + " and " + spelt()["Basic"]
			w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionAbortRun, Note: note})
			if got := <-answer; showsKey(got) || !strings.Contains(got, "it leaks [upstream key] and ") {
				t.Errorf("the agent got %s", got)
			}
		})
	}
}
