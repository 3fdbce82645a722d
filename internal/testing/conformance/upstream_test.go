//go:build conformance

package conformance_test

import (
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/cassettes"
	"github.com/heldcall/heldcall/internal/testing/conformance"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// The continuation is the model's answer after a denial.
const (
	continuationText           = "Understood, I leave that."
	continuationPrompt   int64 = 7
	continuationComplete int64 = 5
)

var marker = regexp.MustCompile(`trial-[0-9]+\b`)

// upstream replays to each trial its recorded answer, and answers every later
// request of the trial with a short text. It remembers for each trial what the
// provider would. A trial is known by a marker in the body of its requests, since
// nothing else of a request is sure to come through.
type upstream struct {
	*fakemodel.Server

	mu     sync.Mutex
	trials map[string]*trial
	strays []string
}

func startUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{trials: make(map[string]*trial)}
	server, err := fakemodel.New(u.answer)
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

func (u *upstream) answer(r *fakemodel.Request) fakemodel.Reply {
	u.mu.Lock()
	defer u.mu.Unlock()
	x := u.trials[string(marker.Find(append([]byte(r.Target), r.Body...)))]
	if x == nil || r.Method != x.method() || r.Target != x.route() {
		u.strays = append(u.strays, r.Method+" "+r.Target)
		return fakemodel.Fail(http.StatusNotFound, "stray", "no trial sent this")
	}
	var is asked
	is.body, is.offered = withoutOffer(r.Body)
	is.shown = is.body
	if x.exchange.Dialect == cassettes.Responses {
		is.shown, is.refusal = x.memory.Expand(is.body)
	}
	x.asked = append(x.asked, is)
	if is.refusal != nil {
		return fakemodel.Fail(http.StatusBadRequest, "", is.refusal.Error())
	}
	reply, answer := x.replay(), x.exchange.Body
	if n := len(x.asked); n > 1 {
		reply, answer = x.goesOn(n, r)
	}
	x.asked[len(x.asked)-1].answer = answer
	if x.exchange.Dialect == cassettes.Responses {
		x.memory.Keep(r.Body, is.shown, answer)
	}
	return reply
}

// goesOn is the answer to request number n of a trial.
func (x *trial) goesOn(n int, r *fakemodel.Request) (fakemodel.Reply, []byte) {
	answer := fakemodel.Answer{
		ID: fmt.Sprintf("later_%d", n), Parts: append(runs(r.Body), fakemodel.Part{Text: continuationText}),
		Usage: fakemodel.Usage{Prompt: int(continuationPrompt), Completion: int(continuationComplete)},
	}
	reply := answer.Reply(r)
	if x.exchange.Dialect == cassettes.Chat && x.exchange.Streamed {
		// A provider that reports the usage of a stream unasked does so each time.
		reply = fakemodel.Events(answer.Stream(conformance.Fold(x.exchange.Body).Usage != (conformance.Usage{})).Writes()...)
	}
	var body []byte
	for _, write := range reply.Body {
		body = append(body, write.Bytes...)
	}
	return reply, body
}

// runs are the calls of hosted tools that the provider runs because they are
// approved, and has not run before.
func runs(body []byte) (parts []fakemodel.Part) {
	input := gjson.GetBytes(body, "input")
	for _, said := range input.Get(`#(type=="mcp_approval_response")#`).Array() {
		id := said.Get("approval_request_id").Str
		if said.Get("approve").Bool() && !input.Get(`#(approval_request_id=="`+id+`")#|#(type=="mcp_call")`).Exists() {
			parts = append(parts, fakemodel.Part{Item: `{"id":"mcp_of_` + id + `","type":"mcp_call","status":"completed","approval_request_id":"` + id + `","server_label":"s","name":"n","arguments":"{}","output":"ok","error":null}`})
		}
	}
	return parts
}

// askedOf returns a trial's requests so far.
func (u *upstream) askedOf(x *trial) []asked {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]asked(nil), x.asked...)
}

// replay is the recorded answer, cut as the trial wants it.
func (x *trial) replay() fakemodel.Reply {
	body, header := x.exchange.Body, []fakemodel.Field{{Name: "Content-Type", Value: x.exchange.Header.Get("Content-Type")}}
	if x.outcome == compressed {
		body = x.exchange.Encoded
		header = append(header, fakemodel.Field{Name: "Content-Encoding", Value: x.exchange.Header.Get("Content-Encoding")})
	}
	reply := fakemodel.Reply{Status: x.exchange.Status, Header: header}
	for _, piece := range cassettes.Cut(body, x.mode) {
		reply.Body = append(reply.Body, fakemodel.Write{Bytes: piece})
	}
	if !x.exchange.Streamed && x.mode == cassettes.InOnePiece {
		reply.Framing = fakemodel.ContentLength
	}
	return reply
}

// trial returns the trial of that id, nil if none was added.
func (u *upstream) trial(id string) *trial {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.trials[id]
}
