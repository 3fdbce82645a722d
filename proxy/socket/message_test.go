package socket

import (
	"testing"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

func TestRequest(t *testing.T) {
	for message, want := range map[string]string{
		`{"type":"response.create","model":"m","input":"x"}`:                                    `{"stream":true,"model":"m","input":"x"}`,
		`{"type":"response.create","stream_id":"a","model":"m","stream":false}`:                 `{"stream":true,"model":"m"}`,
		` { "model" : "m" , "stream_id" : null , "type" : "response.create", "generate":false}`: `{"stream":true,"model":"m","generate":false}`,
		`{"type":"response.create"}`:                                                            `{"stream":true}`,
		`{"type":"response.create","background":true}`:                                          "",
		`{"type":"response.create","background":null}`:                                          `{"stream":true,"background":null}`,
	} {
		m, err := readMessage([]byte(message))
		if err != nil || m.kind != typeCreate {
			t.Fatalf("%s: %+v, %v", message, m, err)
		}
		got, err := m.request()
		if (err != nil) != (want == "") || (err == nil && string(got) != want) {
			t.Errorf("%s: %s, %v; want %s", message, got, err, want)
		}
	}
}

func TestReadMessageRefuses(t *testing.T) {
	for _, message := range []string{``, `1`, `[]`, `{"type":"a","type":"b"}`, `{"type":"response.create","stream_id":1}`, `{"type":"response.create","stream_id":{}}`, `{"type":"response.create"} {}`, "{\"type\":\"\xff\"}"} {
		if m, err := readMessage([]byte(message)); err == nil {
			t.Errorf("%s: %+v", message, m)
		}
	}
}

func TestInterruptMessage(t *testing.T) {
	for message, want := range map[string]string{
		`{"type":"response.interrupt","response_id":"r"}`:                                                        `{"type":"response.interrupt","response_id":"r"}`,
		`{"mode":"discard_partial_items","response_id":"r","type":"response.interrupt","stream_id":"a","x":"y"}`: `{"type":"response.interrupt","response_id":"r","mode":"discard_partial_items","stream_id":"a"}`,
		`{"type":"response.interrupt","response_id":"r","mode":"a secret","stream_id":"a"}`:                      `{"type":"response.interrupt","response_id":"r","stream_id":"a"}`,
	} {
		m, err := readMessage([]byte(message))
		if got := m.interrupt(m.lane, "r"); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", message, got, err, want)
		}
	}
}

func TestErrorMessage(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"code":"c","message":"m"}}`:                             `{"type":"error","status":429,"error":{"code":"c","message":"m"}}`,
		`{"type":"error","status":7,"error":{"code":"c"},"stream_id":"x"}`: `{"type":"error","status":429,"error":{"code":"c"}}`,
		`<html>`:                  `{"type":"error","status":429,"error":{"message":"heldcall: the upstream refused the request with status 429","type":"upstream_error","param":null,"code":null}}`,
		`{"error":"text"}`:        `{"type":"error","status":429,"error":{"message":"heldcall: the upstream refused the request with status 429","type":"upstream_error","param":null,"code":null}}`,
		`{"error":{"a":1,"a":2}}`: `{"type":"error","status":429,"error":{"message":"heldcall: the upstream refused the request with status 429","type":"upstream_error","param":null,"code":null}}`,
	} {
		if got := string(errorMessage(429, []byte(body))); got != want {
			t.Errorf("%s: %s; want %s", body, got, want)
		}
	}
}

// FuzzMessages: of every message, the result is strict JSON with the same fields, and the lane is
// taken off and put back without a change.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`{"type":"response.create","model":"m","input":"x","stream_id":"a"}`, `{"type":"response.create","stream":true}`,
		`{"stream\u005fid":"a","type":"response.create"}`, `{"type":"response.completed","response":{"id":"r"},"stream_id":"a b\"c"}`,
		` {"type" : "error" , "stream_id":"a" } `, `{"stream_id":"a","stream_id":"b"}`, `{"a":{"stream_id":"a"}}`, `{"stream_id":"a"}`, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		lane, rest := offLane(message)
		if strictjson.Strict(message) == nil && gjson.ParseBytes(message).IsObject() {
			if err := strictjson.Strict(rest); err != nil {
				t.Errorf("%q without its lane is %q: %v", message, rest, err)
			}
			if field := gjson.GetBytes(message, laneField); field.Type == gjson.String && lane != field.Str {
				t.Errorf("%q is on lane %q", message, lane)
			}
			if gjson.GetBytes(rest, laneField).String() != "" {
				t.Errorf("%q keeps its lane: %q", message, rest)
			}
		}
		m, err := readMessage(message)
		if err != nil || m.kind != typeCreate {
			return
		}
		body, err := m.request()
		if err != nil {
			return
		}
		sent := createMessage(body, m.lane)
		if err := strictjson.Strict(sent); err != nil {
			t.Fatalf("%q becomes %q: %v", message, sent, err)
		}
		got, want := gjson.ParseBytes(sent).Map(), gjson.ParseBytes(message).Map()
		delete(want, "stream")
		for name, value := range want {
			if name != laneField && got[name].Raw != value.Raw {
				t.Errorf("%q lost %s: %q", message, name, sent)
			}
		}
		if got[laneField].Str != m.lane || len(got) > len(want)+1 {
			t.Errorf("%q becomes %q", message, sent)
		}
	})
}
