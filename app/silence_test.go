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

// TestPromise14_NeverSilent_Pauses: upstream sends its head and nothing until heartbeats have
// come, then the first half of a text, within an event, and again nothing until others have.
// The heartbeats of a whole answer begin with the first half.
func TestPromise14_NeverSilent_Pauses(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		const text = "Let me look at it, for some time."
		firstHalf, secondHalf := make(chan struct{}), make(chan struct{})
		w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
			reply := fakemodel.Answer{Text: text, Fragment: 100}.Reply(r)
			all := joinedWrites(reply.Body)
			half := strings.Index(string(all), text) + 5
			reply.Body = []fakemodel.Write{{Bytes: all[:half], Gate: firstHalf}, {Bytes: all[half:], Gate: secondHalf}}
			return reply
		})
		if !streamed {
			close(firstHalf)
		}
		agent := w.post(s.path, s.body(streamed), s.header...)
		if streamed {
			agent.untilHeartbeats(fewHeartbeats, streamed)
			close(firstHalf)
		}
		answer := agent.untilHeartbeats(fewHeartbeats, streamed)
		close(secondHalf)
		if answer += agent.rest(); !strings.Contains(answer, text) {
			t.Errorf("the text is not in %s", answer)
		}
	})
}

// untilHeartbeats reads until so many heartbeats have come, and returns what it read.
func (c *call) untilHeartbeats(count int, streamed bool) string {
	c.t.Helper()
	var got strings.Builder
	for heartbeats(got.String(), streamed) < count {
		b, err := c.reader.ReadByte()
		if err != nil {
			c.t.Fatalf("read the answer: %v (so far %q, waiting for %d heartbeats)", err, got.String(), count)
		}
		got.WriteByte(b)
	}
	return got.String()
}
