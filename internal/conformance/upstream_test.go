package conformance_test

import (
	"net/http"
	"regexp"
	"sync"
	"testing"

	"github.com/heldcall/heldcall/internal/conformance"
	"github.com/heldcall/heldcall/internal/recorded"
	"github.com/heldcall/heldcall/internal/scripted"
)

// The continuation is what the model says after a denial.
const (
	continuationText           = "Understood, I leave that."
	continuationPrompt   int64 = 7
	continuationComplete int64 = 5
)

var marker = regexp.MustCompile(`trial-[0-9]+\b`)

// upstream replays to each trial its recorded answer, and answers every later
// request of the trial with a short text. A trial is known by a marker in its
// first message, since nothing else of a request is sure to come through.
type upstream struct {
	*scripted.Server

	mu     sync.Mutex
	trials map[string]*trial
	strays []string
}

func startUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{trials: make(map[string]*trial)}
	server, err := scripted.New(u.answer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	u.Server = server
	return u
}

func (u *upstream) add(x *trial) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.trials[x.id] = x
}

func (u *upstream) answer(r *scripted.Request) scripted.Reply {
	u.mu.Lock()
	x := u.trials[string(marker.Find(r.Body))]
	if x == nil || r.Method != http.MethodPost || r.Path != "/v1/chat/completions" {
		u.strays = append(u.strays, r.Method+" "+r.Target)
		u.mu.Unlock()
		return scripted.Fail(http.StatusNotFound, "stray", "no trial sent this")
	}
	x.asked = append(x.asked, r.Body)
	first := len(x.asked) == 1
	u.mu.Unlock()
	if first {
		return x.replay()
	}
	answer := scripted.Answer{
		ID: "chatcmpl-continuation", Text: continuationText,
		Usage: scripted.Usage{Prompt: int(continuationPrompt), Completion: int(continuationComplete)},
	}
	if !x.exchange.Streamed {
		return scripted.Whole(http.StatusOK, answer.Whole())
	}
	// A provider that tells the usage of a stream unasked does so each time.
	stream := answer.Stream(conformance.Fold(x.exchange.Body).Usage != (conformance.Usage{}))
	return scripted.Events(stream.Writes()...)
}

// askedOf returns the bodies of a trial's requests so far.
func (u *upstream) askedOf(x *trial) [][]byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([][]byte(nil), x.asked...)
}

// replay is the recorded answer, cut as the trial wants it.
func (x *trial) replay() scripted.Reply {
	body, header := x.exchange.Body, []scripted.Field{{Name: "Content-Type", Value: x.exchange.Header.Get("Content-Type")}}
	if x.outcome == compressed {
		body = x.exchange.Encoded
		header = append(header, scripted.Field{Name: "Content-Encoding", Value: x.exchange.Header.Get("Content-Encoding")})
	}
	reply := scripted.Reply{Status: x.exchange.Status, Header: header}
	for _, piece := range recorded.Cut(body, x.mode) {
		reply.Body = append(reply.Body, scripted.Write{Bytes: piece})
	}
	if !x.exchange.Streamed && x.mode == recorded.InOnePiece {
		reply.Framing = scripted.ContentLength
	}
	return reply
}

// calls are the calls of the recorded answer as a client reads them.
func callsOf(e recorded.Exchange) []*conformance.Call { return conformance.Fold(e.Body).Calls() }

// trial returns the trial of that id, nil if none was added.
func (u *upstream) trial(id string) *trial {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.trials[id]
}
