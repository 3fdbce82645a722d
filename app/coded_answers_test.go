package app_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// Answers that a gateway compresses although identity was asked for, through the front door.

// coded compresses a reply by encoders, one around another. Each write is flushed.
func coded(reply fakemodel.Reply, names ...string) fakemodel.Reply {
	if len(names) == 0 {
		return reply
	}
	var out bytes.Buffer
	var chain []encoder // the innermost first
	w := io.Writer(&out)
	for i := len(names) - 1; i >= 0; i-- {
		e := encoders[names[i]](w)
		chain, w = append([]encoder{e}, chain...), e
	}
	writes := make([]fakemodel.Write, len(reply.Body))
	for i, write := range reply.Body {
		_, _ = w.Write(write.Bytes)
		for _, e := range chain {
			if i < len(writes)-1 {
				_ = e.Flush()
			} else {
				_ = e.Close()
			}
		}
		write.Bytes = bytes.Clone(out.Bytes())
		writes[i] = write
		out.Reset()
	}
	reply.Body = writes
	return labelled(reply, strings.ReplaceAll(strings.Join(names, ", "), "raw", "deflate"))
}

// labelled adds a Content-Encoding to a reply.
func labelled(reply fakemodel.Reply, coding string) fakemodel.Reply {
	reply.Header = append(append([]fakemodel.Field{}, reply.Header...), fakemodel.Field{Name: "content-encoding", Value: coding})
	return reply
}

// answerCodings are those of answers, by encoders.
var answerCodings = [][]string{{"gzip"}, {"deflate"}, {"raw"}, {"zstd"}, {"br"}, {"gzip", "br"}, {"br", "zstd"}}

// The agent gets a compressed answer decoded and without its coding, byte for byte what it would have got: approved, denied
// and continued, streamed and whole.
func TestCompressedAnswers(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		var next []string // encoders of the next answers
		answer := func(w *world, body string, action approvals.Action) string {
			answer := make(chan *call, 1)
			go func() { answer <- w.post(s.path, body, s.header...) }()
			w.decide(w.pending(1)[0].ID, approvals.Decision{Action: action})
			c := <-answer
			if coding := c.resp.Header.Values("Content-Encoding"); len(coding) > 0 || c.resp.StatusCode != http.StatusOK {
				t.Errorf("%v: status %d, coding %q", next, c.resp.StatusCode, coding)
			}
			return c.rest()
		}
		patient := func(c *app.Config) { c.Proxy.Keepalive = time.Hour }
		model, codedModel := lister(), lister()
		plain := build(t, askAll, model.Reply, patient)
		packed := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply { return coded(codedModel.Reply(r), next...) }, patient)
		for i, names := range answerCodings {
			for _, action := range []approvals.Action{approvals.ActionApprove, approvals.ActionDeny} {
				next = names
				body := strings.Replace(s.body(streamed), `"m"`, fmt.Sprintf(`"m%d%s"`, i, action), 1)
				want, got := answer(plain, body, action), answer(packed, body, action)
				if got != want || strings.Contains(got, "call_sesame") != (action == approvals.ActionApprove) {
					t.Errorf("%v, %s: the agent got\n%s\nwant\n%s", names, action, got, want)
				}
			}
		}
	})
}

// A text is with the agent as soon as its compressed bytes are here, while the rest of the answer is not.
func TestCompressedTextDoesNotWait(t *testing.T) {
	t.Parallel()
	for _, names := range answerCodings {
		gates := []chan struct{}{make(chan struct{}), make(chan struct{})}
		w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
			reply := coded(fakemodel.Answer{Text: "one,two,six", Fragment: 4}.Reply(r), names...)
			for i := range reply.Body {
				gate := gates[0]
				if i > 1 {
					gate = gates[1]
				}
				if i > 0 {
					reply.Body[i].Gate = gate
				}
			}
			return reply
		}, comments)
		c := w.post("/v1/chat/completions", streamedRequest)
		close(gates[0])
		c.until("one,")
		c.until("\n:") // a heartbeat, while nothing arrives
		close(gates[1])
		if rest := c.rest(); !strings.Contains(rest, "[DONE]") {
			t.Errorf("%v: %s", names, rest)
		}
	}
}

// A held turn whose answer is compressed continues after its connection broke.
func TestCompressedAnswersAreKept(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		model := lister()
		w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply { return coded(model.Reply(r), "br") }, comments)
		r := w.detached(s, s.body(streamed))
		w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny})
		w.event("turn_ready")
		back := w.post(s.path, s.body(streamed), append(retried, s.header...)...)
		if got := back.rest(); secretOf(got) != "" || !strings.Contains(got, "Unde") || back.resp.Header.Get("Content-Encoding") != "" || back.resp.Header.Get("X-Heldcall-Turn") != r.TurnID {
			t.Errorf("%v: %s", back.resp.Header, got)
		}
	})
}

// An upstream's compressed error passes with its status, decoded and without the key.
func TestCompressedErrors(t *testing.T) {
	t.Parallel()
	var reply fakemodel.Reply
	w := build(t, askAll, func(*fakemodel.Request) fakemodel.Reply { return reply }, withKey, silent)
	for _, names := range append(answerCodings, nil) {
		for status, want := range map[int]string{429: "slow down", 400: "key [upstream key] has expired"} {
			reply = coded(fakemodel.Fail(status, "some_code", strings.Replace(want, "[upstream key]", quotedKey, 1)), names...)
			c := w.post("/v1/chat/completions", streamedRequest)
			if got := c.rest(); c.resp.StatusCode != status || errorCode(got) != "some_code" || !strings.Contains(got, want) || showsKey(got) || c.resp.Header.Get("Content-Encoding") != "" {
				t.Errorf("%v: %d %v %s", names, c.resp.StatusCode, c.resp.Header, got)
			}
		}
	}
}

// A compressed answer that is not understood is refused, and nothing of its calls is released.
func TestCompressedAnswersThatAreRefused(t *testing.T) {
	t.Parallel()
	var reply fakemodel.Reply
	w := build(t, allowAll, func(*fakemodel.Request) fakemodel.Reply { return reply }, silent)
	whole, streamed := func() fakemodel.Reply {
		return refusedOnce(&fakemodel.Request{Path: "/v1/chat/completions", Body: []byte(wholeRequest)})
	}, func() fakemodel.Reply {
		return refusedOnce(&fakemodel.Request{Path: "/v1/chat/completions", Body: []byte(streamedRequest)})
	}
	cut := func(r fakemodel.Reply, n int) fakemodel.Reply {
		last := &r.Body[len(r.Body)-1].Bytes
		*last = (*last)[:len(*last)-n]
		return r
	}
	type refusal struct {
		reply fakemodel.Reply
		body  string
	}
	refused := map[string]refusal{
		"unknown coding":           {labelled(whole(), "rot13"), wholeRequest},
		"unknown coding, streamed": {labelled(streamed(), "rot13"), streamedRequest},
		"unknown beside a known":   {labelled(coded(whole(), "gzip"), "gzip, dcz"), wholeRequest},
		"not encoded":              {labelled(whole(), "br"), wholeRequest},
		"an error, not encoded":    {labelled(fakemodel.Fail(500, "x", "bash"), "gzip"), wholeRequest},
		"an unknown error":         {labelled(fakemodel.Fail(500, "x", "bash"), "rot13"), wholeRequest},
	}
	for name := range encoders {
		refused["cut off: "+name] = refusal{cut(coded(whole(), name), 2), wholeRequest}
		trailing := coded(whole(), name)
		trailing.Body[0].Bytes = append(trailing.Body[0].Bytes, "x"...)
		refused["trailing bytes: "+name] = refusal{trailing, wholeRequest}
	}
	for name, tt := range refused {
		if reply = tt.reply; reply.Framing == fakemodel.ContentLength {
			reply.Framing = fakemodel.Chunked
		}
		c := w.post("/v1/chat/completions", tt.body)
		if got := c.rest(); c.resp.StatusCode != http.StatusBadGateway || leaks(got) != "" || errorCode(got) != "answer_not_understood" {
			t.Errorf("%s: %d %s", name, c.resp.StatusCode, got)
		}
	}
}

// An answer that is much in a small body ends with a clear error, whole, streamed, as one event or as an error of
// upstream's.
func TestAnswerBombs(t *testing.T) {
	t.Parallel()
	event := `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}` + "\n\n"
	var reply fakemodel.Reply
	w := build(t, askAll, func(*fakemodel.Request) fakemodel.Reply { return reply }, silent, func(c *app.Config) { c.Proxy.MaxBody = 4 << 20 })
	for name := range encoders {
		for what, tt := range map[string]struct {
			reply       fakemodel.Reply
			begin, unit string
			status      int
		}{
			"whole":     {fakemodel.Whole(200, nil), `{"a":"`, "x", 502},
			"one event": {fakemodel.Events(), `data: {"a":"`, "x", 200},
			"many":      {fakemodel.Events(), event, event, 200},
			"an error":  {fakemodel.Fail(500, "x", "y"), `{"error":"`, "x", 502},
		} {
			if what == "many" && name != "gzip" && name != "zstd" { // the agent gets many bytes
				continue
			}
			reply = tt.reply
			reply.Framing, reply.Body = fakemodel.Chunked, []fakemodel.Write{{Bytes: bombOf(name, tt.begin, tt.unit)}}
			reply = labelled(reply, strings.Replace(name, "raw", "deflate", 1))
			c := w.post("/v1/chat/completions", map[bool]string{true: wholeRequest, false: streamedRequest}[what == "whole"])
			end := "" // of the answer
			n, err := io.Copy(writerFunc(func(p []byte) { end = end[max(0, len(end)-1<<12):] + string(p) }), c.reader)
			if sent := len(reply.Body[0].Bytes); err != nil || c.resp.StatusCode != tt.status || !strings.Contains(end, "answer_not_understood") || n > int64(4<<20+101*(sent+64<<10)) {
				t.Errorf("%s, %s: %v, status %d, %d bytes of %d, which end with %.300q", name, what, err, c.resp.StatusCode, n, sent, end[max(0, len(end)-300):])
			}
		}
	}
	reply = refusedOnce(&fakemodel.Request{Path: "/v1/chat/completions", Body: []byte(wholeRequest)})
	w.turn("any-key") // whose answer has a call
	w.pending(1)
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

// bombOf is a small body that begins with a text and continues with another one, for a gigabyte where that is quick to make. Its end is not there.
func bombOf(name, begin, unit string) []byte {
	var b bytes.Buffer
	e := encoders[name](&b)
	chunk := strings.Repeat(unit, 1<<20/len(unit))
	write := func(text string) []byte {
		before := b.Len()
		_, _ = io.WriteString(e, text)
		_ = e.Flush()
		return bytes.Clone(b.Bytes()[before:])
	}
	write(begin)
	if name == "zstd" || name == "br" { // what they write depends on what was before
		for range 8 {
			write(chunk)
		}
		return b.Bytes()
	}
	write(chunk)
	write(chunk)
	again := write(chunk) // it refers to the window only, which is the same each time
	for range 1 << 10 {
		b.Write(again)
	}
	return b.Bytes()
}
