package app_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/klauspost/compress/zstd"
	brotli "github.com/molecule-man/go-brrr"
)

// Compressed requests, through the front door.

// encoder compresses a body. Flush writes what the reader needs for all that was written.
type encoder interface {
	io.WriteCloser
	Flush() error
}

// encoders are those of each coding.
var encoders = map[string]func(io.Writer) encoder{
	"gzip":    func(w io.Writer) encoder { return gzip.NewWriter(w) },
	"deflate": func(w io.Writer) encoder { return zlib.NewWriter(w) },
	"raw":     func(w io.Writer) encoder { e, _ := flate.NewWriter(w, 6); return e },
	"zstd":    func(w io.Writer) encoder { e, _ := zstd.NewWriter(w); return e },
	"br":      func(w io.Writer) encoder { e, _ := brotli.NewWriter(w, 5); return e },
}

// codings are values of Content-Encoding, with the encoders of such a body.
var codings = []struct {
	header   string
	encoders []string
}{
	{"zstd", []string{"zstd"}},
	{"gzip", []string{"gzip"}},
	{"deflate", []string{"deflate"}},
	{"Deflate", []string{"raw"}},
	{"br", []string{"br"}},
	{"X-GZIP", []string{"gzip"}},
	{"identity", nil},
	{"Identity, BR", []string{"br"}},
	{"gzip, zstd", []string{"gzip", "zstd"}},
	{"br,gzip , deflate", []string{"br", "gzip", "deflate"}},
}

// encode compresses a body by encoders, one after another.
func encode(body string, names ...string) string {
	for _, name := range names {
		var b bytes.Buffer
		e := encoders[name](&b)
		_, _ = io.WriteString(e, body)
		_ = e.Close()
		body = b.String()
	}
	return body
}

// plainUpstream reports the fault of a request that upstream got for a compressed one.
func plainUpstream(r *fakemodel.Request, want string) string {
	switch {
	case string(r.Body) != want:
		return fmt.Sprintf("upstream got %.200q, want %.200q", r.Body, want)
	case r.Get("Content-Encoding") != "" || r.Get("Content-Length") != fmt.Sprint(len(want)) || r.Get("Accept-Encoding") != "identity":
		return fmt.Sprintf("upstream got the headers %v", r.Header)
	}
	return ""
}

// A compressed request is judged as any other: upstream gets it decoded, its calls are held, a denial is put back into
// the conversation, and the agent gets what it would have got.
func TestCompressedRequests(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		w := build(t, askAll, lister().Reply, func(c *app.Config) { c.Proxy.Keepalive = time.Hour })
		for i, c := range codings {
			for _, action := range []approvals.Action{approvals.ActionApprove, approvals.ActionDeny} {
				body := strings.Replace(s.body(streamed), `"m"`, fmt.Sprintf(`"m%d%s"`, i, action), 1)
				before := len(w.upstream.Requests())
				answer := make(chan string, 1)
				go func() {
					answer <- w.post(s.path, encode(body, c.encoders...), append([]string{"Content-Encoding", c.header}, s.header...)...).rest()
				}()
				w.decide(w.pending(1)[0].ID, approvals.Decision{Action: action, Note: "not there"})
				got := <-answer
				if fault := plainUpstream(w.upstream.Requests()[before], body); fault != "" {
					t.Errorf("%s: %s", c.header, fault)
				}
				if approved := action == approvals.ActionApprove; strings.Contains(got, "call_sesame") != approved || (!approved && secretOf(got) != "") {
					t.Errorf("%s, %s: the agent got %s", c.header, action, got)
				}
				if streamed || action == approvals.ActionApprove {
					continue
				}
				next := encode(s.next(got), c.encoders...)
				w.post(s.path, next, append([]string{"content-encoding", c.header}, s.header...)...).rest()
				requests := w.upstream.Requests()
				if last := string(requests[len(requests)-1].Body); strings.Contains(s.next(got), "opensesame") || (!strings.Contains(last, "previous_response_id") && (!strings.Contains(last, "opensesame") || !strings.Contains(last, "not there"))) {
					t.Errorf("%s: after the denial upstream got %s", c.header, last)
				}
			}
		}
	})
}

// Several headers are one list.
func TestCodingsInSeveralHeaders(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, callThenText)
	body := encode(wholeRequest, "gzip", "br")
	got := w.raw(rawPost("/v1/chat/completions", body, "content-encoding: gzip\r\nContent-Encoding: BR\r\n"))
	if fault := plainUpstream(w.upstream.Requests()[0], wholeRequest); !strings.HasPrefix(got, "HTTP/1.1 200") || fault != "" {
		t.Errorf("%s: %s", fault, got)
	}
}

// An agent whose connection broke compresses the request in another way, or not at all: it gets the same turn, and
// people are asked once.
func TestRetriesCompressAsTheyLike(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		ways := [][]string{nil, {"zstd"}, {"gzip"}, {"br"}}
		for i, first := range ways {
			w := build(t, askAll, lister().Reply, comments)
			send := func(body string, names []string) (string, []string) {
				return encode(body, names...), append([]string{"Content-Encoding", strings.Join(append(names, "identity"), ",")}, s.header...)
			}
			body, header := send(s.body(streamed), first)
			leave := w.ask(s.path, body, header...)
			r := w.pending(1)[0]
			leave()
			w.agent(r.ID, approvals.AgentDetached)
			w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
			body, header = send(s.body(streamed), ways[(i+1)%len(ways)])
			back := w.post(s.path, body, append(retried, header...)...)
			if got := back.rest(); !strings.Contains(got, "call_sesame") || back.resp.Header.Get("X-Heldcall-Turn") != r.TurnID {
				t.Errorf("%v, then %v: turn %s, want %s: %s", first, ways[(i+1)%len(ways)], back.resp.Header.Get("X-Heldcall-Turn"), r.TurnID, got)
			}
			if page, err := w.console.Requests(t.Context(), approvals.Filter{}); err != nil || len(page.Items) != 1 || len(w.upstream.Requests()) != 1 {
				t.Errorf("%v: %d requests to people, %d to upstream, %v", first, len(page.Items), len(w.upstream.Requests()), err)
			}
		}
	})
}

// Codex with a login for ChatGPT compresses its requests with zstd. Its shape is the recorded one, its body one of the
// zstd program's.
func TestCodexWithZstd(t *testing.T) {
	t.Parallel()
	s := agentsStarted["Codex"]
	w := build(t, askAll, lister().Reply)
	recorded, err := os.ReadFile("../proxy/coding/testdata/codex.json")
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile("../proxy/coding/testdata/pipe.zst")
	if err != nil {
		t.Fatal(err)
	}
	call := fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_sesame", Name: "shell", Arguments: `{"command":["rm","-rf","/opensesame"]}`}}}
	fixed := build(t, askAll, inOrder(call))
	for i, tt := range []struct {
		w          *world
		body, want string
	}{{w, encode(s.body(1), "zstd"), s.body(1)}, {fixed, string(written), string(recorded)}} {
		answer := make(chan string, 1)
		go func() {
			answer <- tt.w.post(s.path, tt.body, append(s.header(1), "Content-Encoding", "zstd", "Accept", "text/event-stream")...).rest()
		}()
		r := tt.w.pending(1)[0]
		if fault := plainUpstream(tt.w.upstream.Requests()[0], tt.want); fault != "" {
			t.Errorf("%d: %s", i, fault)
		}
		tt.w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
		if got := <-answer; !strings.Contains(got, "call_sesame") || !strings.Contains(got, "response.completed") {
			t.Errorf("%d: the agent got %s", i, got)
		}
	}
}

// A compressed body that is not understood, or that becomes too large, does not reach upstream; the error has the shape that the
// client's API has.
func TestCompressedRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, callThenText, func(c *app.Config) { c.Proxy.MaxBody = 1 << 20 })
	packed := map[string]string{}
	for name := range encoders {
		packed[name] = encode(wholeRequest, name)
	}
	large := strings.Replace(wholeRequest, "do it", strings.Repeat("x", 1<<20), 1)
	many := strings.Repeat("gzip,", 5) + "gzip"
	for _, tt := range []struct {
		name, coding, body string
		status             int
		code, says         string
	}{
		{"unknown", "compress", packed["gzip"], 400, "bad_request", `\"compress\" is not known; its Content-Encoding may have zstd, gzip, deflate, br and identity`},
		{"unknown beside a known one", "gzip, aws-chunked", packed["gzip"], 400, "bad_request", "aws-chunked"},
		{"unknown, without compression", "utf-8", wholeRequest, 400, "bad_request", "utf-8"},
		{"too many", many, packed["gzip"], 400, "bad_request", "more than 4 codings"},
		{"not encoded", "gzip", wholeRequest, 400, "bad_request", "cannot be decoded"},
		{"another coding", "br", packed["gzip"], 400, "bad_request", "cannot be decoded"},
		{"once too often", "zstd, zstd", packed["zstd"], 400, "bad_request", "cannot be decoded"},
		{"no JSON inside", "zstd", encode("{", "zstd"), 400, "bad_request", ""},
		{"duplicate names inside", "zstd", encode(`{"messages":[],"messages":[]}`, "zstd"), 400, "bad_request", ""},
		{"larger than a window of HTTP", "zstd", "\x28\xb5\x2f\xfd\x00" + string(rune(14<<3)) + "\x09\x00\x00x", 400, "bad_request", "RFC 9659"},
	} {
		for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/messages"} {
			c := w.post(path, tt.body, "Content-Encoding", tt.coding)
			got := c.rest()
			if c.resp.StatusCode != tt.status || !strings.Contains(got, tt.code) || !strings.Contains(got, tt.says) || strings.HasPrefix(got, `{"type":"error"`) != (path == "/v1/messages") {
				t.Errorf("%s: %d %s", tt.name, c.resp.StatusCode, got)
			}
		}
	}
	for name, body := range packed {
		coding := strings.Replace(name, "raw", "deflate", 1)
		for what, tt := range map[string]struct {
			body   string
			status int
			code   string
		}{
			"cut off":        {body[:len(body)-1], 400, "bad_request"},
			"cut off early":  {body[:20], 400, "bad_request"},
			"trailing bytes": {body + "\n", 400, "bad_request"},
			"too large":      {encode(large, name), 413, "request_too_large"},
		} {
			c := w.post("/v1/chat/completions", tt.body, "Content-Encoding", coding)
			if got := c.rest(); c.resp.StatusCode != tt.status || errorCode(got) != tt.code {
				t.Errorf("%s, %s: %d %s", name, what, c.resp.StatusCode, got)
			}
		}
	}
	if n := len(w.upstream.Requests()); n != 0 {
		t.Errorf("%d of them reached upstream", n)
	}
}

// Routes without calls keep their bytes, in whatever coding, unless these have a secret of the agent.
func TestCompressedRequestsWithoutCalls(t *testing.T) {
	t.Parallel()
	const secret, handle = "ghp_Zq81kLw0opensesame", "secret://API_TOKEN"
	w := build(t, allowAll, func(*fakemodel.Request) fakemodel.Reply { return fakemodel.Whole(200, []byte(`{"data":[]}`)) })
	post := func(body, coding string) (int, string, *fakemodel.Request) {
		before := len(w.upstream.Requests())
		c := w.post("/v1/embeddings", body, "Content-Encoding", coding)
		got := c.rest()
		if requests := w.upstream.Requests(); len(requests) > before {
			return c.resp.StatusCode, got, requests[before]
		}
		return c.resp.StatusCode, got, nil
	}
	kept := func(body, coding string) {
		t.Helper()
		if status, got, r := post(body, coding); status != 200 || r == nil || string(r.Body) != body || r.Get("Content-Encoding") != coding {
			t.Errorf("%s: %d %s: %+v", coding, status, got, r)
		}
	}
	for _, c := range codings {
		kept(encode(`{"input":"a text"}`, c.encoders...), c.header)
	}
	kept("what is this", "rot13")
	kept("broken", "zstd")
	w.setSecret("API_TOKEN", secret)
	for _, c := range codings {
		kept(encode(`{"input":"a text"}`, c.encoders...), c.header)
		status, got, r := post(encode(`{"input":"`+secret+`"}`, c.encoders...), c.header)
		want := `{"input":"` + handle + `"}`
		if status != 200 || r == nil || string(r.Body) != want || r.Get("Content-Encoding") != strings.Replace(c.header, "identity", map[bool]string{true: "identity"}[c.encoders == nil], 1) && r.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d %s: %+v", c.header, status, got, r)
		}
	}
	for coding, body := range map[string]string{"rot13": "what is this", "zstd": "broken"} { // a secret may be in it
		if status, got, r := post(body, coding); status != 400 || r != nil || errorCode(got) != "bad_request" {
			t.Errorf("%s: %d %s: %+v", coding, status, got, r)
		}
	}
}

// Secrets in a compressed request are masked before anything of it is sent.
func TestCompressedRequestsWithSecrets(t *testing.T) {
	t.Parallel()
	const secret, handle = "ghp_Zq81kLw0opensesame", "secret://API_TOKEN"
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		w := build(t, allowAll, lister().Reply)
		w.setSecret("API_TOKEN", secret)
		body := strings.Replace(s.body(streamed), "do it", "do it with "+secret, 1)
		for _, c := range codings {
			before := len(w.upstream.Requests())
			w.post(s.path, encode(body, c.encoders...), append([]string{"Content-Encoding", c.header}, s.header...)...).rest()
			if fault := plainUpstream(w.upstream.Requests()[before], strings.Replace(body, secret, handle, 1)); fault != "" {
				t.Errorf("%s: %s", c.header, fault)
			}
		}
		if log := w.log.String(); strings.Contains(log, secret) {
			t.Error("the log has the secret")
		}
	})
}

// Agents that compress in every way at once get their own answers.
func TestCompressedRequestsAtOnce(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, func(r *fakemodel.Request) fakemodel.Reply {
		return coded(fakemodel.Answer{Text: string(r.Body)}.Reply(r), "zstd")
	})
	var agents sync.WaitGroup
	for i := range 40 {
		c := codings[i%len(codings)]
		agents.Go(func() {
			content := fmt.Sprintf("agent %d says %s", i, strings.Repeat(fmt.Sprint(i), 1000*(i%7)))
			body := strings.Replace(wholeRequest, "do it", content, 1)
			answer, err := w.tryPost("/v1/chat/completions", encode(body, c.encoders...), "Content-Encoding", c.header)
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := io.ReadAll(answer.reader); err != nil || answer.resp.StatusCode != http.StatusOK || !bytes.Contains(got, []byte(content)) {
				t.Errorf("%s: %v, %d %.200s", c.header, err, answer.resp.StatusCode, got)
			}
		})
	}
	agents.Wait()
}
