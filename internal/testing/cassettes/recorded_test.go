package cassettes_test

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/heldcall/heldcall/internal/testing/cassettes"
)

var (
	stream = http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}
	whole  = http.Header{"Content-Type": {"application/json"}}
)

// want are the exchanges of testdata, file by file in lexical order.
var want = []cassettes.Exchange{
	{File: "chat-array.json", Header: stream, Body: []byte("data: {\"n\":1.50}\n\ndata: {\"text\":\"a\\nb\"}\n\ndata: [DONE]\n\n")},
	{
		File: "chat-govcr.yaml", Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: []byte("data: {\"a\":1}\n\n"), RequestBody: []byte(`{"q":1}`), Method: "POST", URL: "http://example.test/v1/chat/completions",
	},
	{
		File: "chat-httpmock.yaml", Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: []byte("data: {\"a\":1}\n\n"), RequestBody: []byte(`{"q":1}`), Method: "POST", URL: "/v1/chat/completions",
	},
	{File: "chat-httpmock.yaml", Index: 1, URL: "/v1/chat/completions", Status: 400, Header: whole, Body: []byte(`{"a":2}`)},
	{File: "chat-raw.sse", Header: stream, Body: []byte("data: {\"a\":1}\n\n: x\n\ndata: [DONE]")},
	{File: "chat-raw.sse.json", Header: stream, Body: []byte("data: {\"a\":2}\n\n")},
	{File: "chat-raw.sse.txt", Header: stream, Body: []byte("data: {\"a\":1}\r\n\r\n")},
	{File: "chat-raw.txt", Header: stream, Body: []byte("data: {\"a\":3}\ndata: {\"a\":4}\n")},
	{
		File: "chat-ruby.yaml", Header: whole, Body: []byte(`{"a":1}`), RequestBody: []byte(`{"q":1}`),
		Method: "POST", URL: "http://example.test/v1/chat/completions",
	},
	{File: "chat-ruby.yaml", Index: 1, Header: whole, Body: []byte("{\"a\":\"h\xc3\xb6\"}"), RequestBody: []byte(`{"q":2}`)},
	{
		File: "chat-session.sessionrecord.json", RequestBody: []byte(`{"q":1.0}`), Method: "POST", URL: "https://example.test/v1/chat/completions",
		Header: http.Header{"Content-Type": {"text/event-stream"}, "X-Two": {"1", "2"}}, Body: []byte("data: {\"a\":1}\n\n"),
	},
	{File: "chat-session.sessionrecord.json", Index: 1, Status: 500, Header: whole, Body: []byte(`{"error":{"code":null}}`)},
	{File: "chat-split.chunks.txt", Header: stream, Body: []byte("data: {\"id\":\"\",\"model\":\"m\"}\n\ndata: {\"id\":\"a\",\"n\":1}\n\ndata: {\"id\":\"a\",\"n\": 2}\n\ndata: [DONE]\n\n")},
	{File: "chat-split.chunks.txt", Index: 1, Header: stream, Body: []byte("data: {\"id\":\"b\",\"n\":3}\n\ndata: [DONE]\n\n")},
	{
		File: "chat-split.chunks.txt", Index: 2, Variant: "unsplit", Header: stream,
		Body: []byte("data: {\"id\":\"\",\"model\":\"m\"}\n\ndata: {\"id\":\"a\",\"n\":1}\n\ndata: {\"id\":\"a\",\"n\": 2}\n\ndata: {\"id\":\"b\",\"n\":3}\n\ndata: [DONE]\n\n"),
	},
	{
		File: "chat-trace.httprr", Status: 429, RequestBody: []byte(`{"q":1}`), Body: []byte("{\"a\":\"h\n\"}"),
		Method: "POST", URL: "/v1/chat/completions",
		Header: http.Header{"Content-Type": {"application/json"}, "X-Two": {"1", "2"}},
	},
	{File: "chat-trace.httprr", Index: 1, Method: "POST", URL: "/v1/chat/completions", Header: stream, Body: []byte("data: {}\r\n\r\n")},
	{
		File: "chat-vcrpy.yaml", Status: 201, RequestBody: []byte(`{"q": 1}`), Method: "POST", URL: "http://example.test/v1/chat/completions",
		Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}, "X-Two": {"1", "2"}},
		Body:   []byte("data: {\"a\":1}\n\ndata: [DONE]\n\n"),
	},
	{
		File: "chat-vcrpy.yaml", Index: 1, Body: []byte(`{"z":"gzip"}`),
		Header: http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}},
	},
	{
		File: "chat-vcrpy.yaml", Index: 2, Header: whole, Body: []byte(`{"text":"<&>","1":{}}`),
		RequestBody: []byte(`{"z":1,"a":[true,null,1.5,"no"]}`),
	},
	{File: "chat-whole.json", Header: whole, Body: []byte("{\n  \"id\": \"whole\"\n}\n")},
	{
		File: "messages-spliced.chunks.txt", Dialect: cassettes.Messages, Header: stream,
		Body: []byte("event: message_start\ndata: {\"type\":\"message_start\",\"id\":\"a\"}\n\nevent: message_start\ndata: {\"type\":\"message_start\",\"id\":\"b\"}\n\n"),
	},
	{
		File: "responses-split.chunks.txt", Dialect: cassettes.Responses, Header: stream,
		Body: []byte("event: response.created\ndata: {\"type\":\"response.created\",\"n\":1}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\"\n\n"),
	},
	{
		File: "responses-split.chunks.txt", Index: 1, Dialect: cassettes.Responses, Header: stream,
		Body: []byte("event: response.created\ndata: {\"response\":{\"type\":\"x\"},\"type\":\"response.created\",\"n\":2}\n\n"),
	},
}

func TestLoadReadsEveryForm(t *testing.T) {
	got, err := cassettes.Load(os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		w := &want[i]
		if w.Status == 0 {
			w.Status = 200
		}
		if w.Dialect == "" {
			w.Dialect = cassettes.Chat
		}
		w.Streamed = bytes.HasPrefix(w.Body, []byte("data")) || bytes.HasPrefix(w.Body, []byte("event"))
	}
	// How gzip wrote the recorded bytes is not for this test to repeat.
	options := cmp.Options{cmpopts.IgnoreFields(cassettes.Exchange{}, "Encoded"), cmpopts.EquateEmpty()}
	if diff := cmp.Diff(want, got, options); diff != "" {
		t.Errorf("exchanges (-want +got):\n%s", diff)
	}
	for _, e := range got {
		if encoded := e.Header.Get("Content-Encoding") != ""; encoded != (e.Encoded != nil) {
			t.Errorf("%s: content encoding %t, but %d encoded bytes", e.Name(), encoded, len(e.Encoded))
		}
	}
}

func TestLoadRefusesWhatItCannotRead(t *testing.T) {
	f := func(name, content, want string) {
		t.Helper()
		_, err := cassettes.Load(fstest.MapFS{name: {Data: []byte(content)}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one with %q and the file", err, want)
		}
	}
	f("a/notes.yaml", "", "does not begin with a dialect")
	f("a/chat-x.bin", "", "no format is known")
	f("a/chat-x.yaml", "other: 1", "holds no response")
	f("a/chat-x.yaml", "interactions: [", "reading the cassette")
	f("a/chat-x.yaml", "http_interactions: [{response: {body: {base64_string: '?'}}}]", "interaction 0: response: illegal base64")
	f("a/chat-x.chunks.txt", "\n", "holds no response")
	f("a/chat-x.httprr", "HTTP/1.1 200 OK", "does not begin with")
	f("a/chat-x.httprr", "httprr trace v1\n5 900\nabc", "cut off")
	f("a/chat-x.httprr", "httprr trace v1\n0 7\nHTTP/1.", "no end of its head")
	f("a/chat-x.json", "[1", "array of chunks")
	f("a/chat-x.sse", "\x1f\x8bnot gzip", "decompressing")
	f("a/chat-x.sessionrecord.json", `{"Entries":[{"ResponseBody":1}]}`, "neither an object nor")
}

func TestCut(t *testing.T) {
	f := func(body string, mode cassettes.Mode, want ...string) {
		t.Helper()
		var got []string
		for _, piece := range cassettes.Cut([]byte(body), mode) {
			got = append(got, string(piece))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mode, diff)
		}
	}
	f("abc", cassettes.ByteByByte, "a", "b", "c")
	f("abcdefghi", cassettes.SevenBytes, "abcdefg", "hi")
	f("abcdefghi", cassettes.InOnePiece, "abcdefghi")
	f("a: 1\nb: 2\n\nc\r\n\r\n\nd", cassettes.EventByEvent, "a: 1\nb: 2\n\n", "c\r\n\r\n", "\nd")
	f("", cassettes.InOnePiece)
	f("a\nb\n", cassettes.EventByEvent, "a\nb\n")
}
