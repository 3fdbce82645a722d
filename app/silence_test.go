package app_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// fewHeartbeats is much less than the model takes time for in these tests, at a keepalive of
// 50 ms: so many come on a slow machine too.
const fewHeartbeats = 3

// heartbeats counts those of an answer.
func heartbeats(answer string, streamed bool) int {
	if !streamed {
		return len(answer) - len(strings.TrimLeft(answer, "\n"))
	}
	return strings.Count(answer, ": keepalive\n") + strings.Count(answer, "event: keepalive\n") + strings.Count(answer, "event: ping\n")
}

// TestPromise14_NeverSilent_Fragments: the model writes a call for a long time, without a pause.
// The call is allowed by its arguments, so that it passes as soon as it is complete.
func TestPromise14_NeverSilent_Fragments(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		long := fakemodel.Call{ID: "call_sesame", Name: "bash", Arguments: `{"command":"` + strings.Repeat("ls; ", 50) + `"}`}
		w := build(t, "profiles: none\ndefault: ask\nrules: [{allow: [\"bash(*)\"]}]\n", func(r *fakemodel.Request) fakemodel.Reply {
			reply := fakemodel.Answer{Calls: []fakemodel.Call{long}}.Reply(r)
			reply.Body = slowly(reply.Body)
			reply.Framing = fakemodel.Chunked
			return reply
		})
		answer := w.post(s.path, s.body(streamed), s.header...).rest()
		if n := heartbeats(answer, streamed); n < fewHeartbeats {
			t.Errorf("%d heartbeats in %.2000s", n, answer)
		}
		if !strings.Contains(answer, "call_sesame") {
			t.Errorf("the call is not in %s", answer)
		}
	})
}

// slowly is a body in about a hundred fragments, 10 ms apart.
func slowly(body []fakemodel.Write) (slow []fakemodel.Write) {
	all := joinedWrites(body)
	for fragment := range slices.Chunk(all, len(all)/100) {
		slow = append(slow, fakemodel.Write{Bytes: fragment, Delay: 10 * time.Millisecond})
	}
	return slow
}

func joinedWrites(body []fakemodel.Write) (all []byte) {
	for _, w := range body {
		all = append(all, w.Bytes...)
	}
	return all
}

// TestPromise14_NeverSilent_Pauses: upstream sends its head and nothing for a while, then the
// first half of a text, within an event, and again nothing.
func TestPromise14_NeverSilent_Pauses(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		const text = "Let me look at it, for some time."
		w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
			reply := fakemodel.Answer{Text: text, Fragment: 100}.Reply(r)
			all := joinedWrites(reply.Body)
			half := strings.Index(string(all), text) + 5
			reply.Body = []fakemodel.Write{{Bytes: all[:half], Delay: time.Second}, {Bytes: all[half:], Delay: time.Second}}
			return reply
		})
		answer := w.post(s.path, s.body(streamed), s.header...).rest()
		begins := answer
		for _, event := range []string{"chatcmpl", "response.created", "message_start"} {
			begins, _, _ = strings.Cut(begins, event)
		}
		first, all := heartbeats(begins, streamed), heartbeats(answer, streamed)
		if streamed && (first < fewHeartbeats || all-first < fewHeartbeats) {
			t.Errorf("%d heartbeats before the first event and %d later: %s", first, all-first, answer)
		}
		if !streamed && all < fewHeartbeats { // which begin when the body does
			t.Errorf("%d heartbeats: %q", all, answer)
		}
		if !strings.Contains(answer, text) {
			t.Errorf("the text is not in %s", answer)
		}
	})
}
