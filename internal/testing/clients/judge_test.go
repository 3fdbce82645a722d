//go:build clients

package clients_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// expected is what a job's client and model should each have seen.
type expected struct {
	text     string
	calls    []fakemodel.Call // as the client accumulates them
	finishes []string         // the words for why the answer ended, one of which is right
	usage    fakemodel.Usage
	requests int      // at the model
	told     []string // a text in the result of each call that the model got
}

// finishes are an API's words for an answer with calls and for one without. Some
// SDKs use those of Chat Completions for all.
var finishes = map[fakemodel.API]struct{ calls, stop []string }{
	fakemodel.Chat:      {[]string{"tool_calls"}, []string{"stop"}},
	fakemodel.Responses: {[]string{"completed", "tool_calls"}, []string{"completed", "stop"}},
	fakemodel.Messages:  {[]string{"tool_use", "tool_calls"}, []string{"end_turn", "stop"}},
}

func expect(api fakemodel.API, job string) expected {
	calls := callsOf(job)
	e := expected{text: openingOf(job), calls: calls, finishes: finishes[api].calls, usage: firstUsage, requests: 2}
	for _, c := range calls {
		e.told = append(e.told, "ran "+c.Name+" with ")
	}
	switch scenarioOf(job) {
	case deny, ann, carol:
		e.calls, e.finishes, e.requests = nil, finishes[api].stop, 3
		e.usage = continuedUsage
		e.told[0] = note
		if scenarioOf(job) == ann && slices.Contains(renewed, fieldOf(job)) {
			e.requests++ // that of the program that was killed
		}
	case denyFirst:
		e.calls, e.told[0] = calls[1:], note
	case denySecond:
		e.calls, e.told[1] = calls[:1], note
	case question, questions, secret:
		e.askedFor(api, job)
	case edit:
		calls[0].Arguments = editedArguments(job)
		e.told[0] = editedNote
		if stored(job) {
			e.told[0] = "The arguments that ran: " + calls[0].Arguments + " Reviewer's note: " + editedNote
		}
	}
	return e
}

// stored reports whether the server remembers the conversation of a job, so that
// the model sees its calls as it made them.
func stored(job string) bool { return strings.HasPrefix(strings.Split(job, "/")[2], "stored") }

func judge(t *testing.T, api fakemodel.API, r report, m *model) {
	t.Helper()
	if broken(r.Job) {
		if r.Error == "" && holdTime(t) == fullHold {
			t.Errorf("%s: the heartbeats did not break this client; heldcall's table need not spare it", r.Job)
		}
		return
	}
	if r.Error != "" {
		t.Errorf("%s: %s", r.Job, r.Error)
		return
	}
	want := expect(api, r.Job)
	continued := slices.Contains([]scenario{deny, ann, carol, question}, scenarioOf(r.Job))
	if r.Text != want.text && !(continued && strings.HasPrefix(r.Text, opening) && strings.HasSuffix(r.Text, continuation)) {
		t.Errorf("%s: text %q, want %q", r.Job, r.Text, want.text)
	}
	if r.Finish != nil && !slices.Contains(want.finishes, strings.ReplaceAll(*r.Finish, "-", "_")) {
		t.Errorf("%s: finish reason %q, want one of %q", r.Job, *r.Finish, want.finishes)
	}
	if len(r.Calls) != len(want.calls) {
		t.Errorf("%s: calls %+v, want %+v", r.Job, r.Calls, want.calls)
		return
	}
	for i, c := range want.calls {
		if got := r.Calls[i]; got.ID != c.ID || got.Name != c.Name || !sameJSON(got.Arguments, c.Arguments) {
			t.Errorf("%s: call %d is %+v, want %+v", r.Job, i, got, c)
		}
	}
	if r.Usage == nil || r.Usage.Completion != want.usage.Completion {
		t.Errorf("%s: usage %+v, want %+v", r.Job, r.Usage, want.usage)
	} else if r.Usage.Prompt != nil && *r.Usage.Prompt != want.usage.Prompt {
		t.Errorf("%s: %d tokens in the prompt, want %d", r.Job, *r.Usage.Prompt, want.usage.Prompt)
	}
	if r.Next != conclusion {
		t.Errorf("%s: the next answer is %q, want %q", r.Job, r.Next, conclusion)
	}
	judgeTold(t, r.Job, want, m)
}

// judgeTold looks at what the model knows of the calls in the job's last
// request: all that it made, the denied ones too.
func judgeTold(t *testing.T, job string, want expected, m *model) {
	t.Helper()
	told, requests := m.told(job)
	if requests != want.requests {
		t.Errorf("%s: the model was asked %d times, want %d", job, requests, want.requests)
	}
	made := callsOf(job)
	if scenarioOf(job) == edit && !stored(job) {
		made[0].Arguments = editedArguments(job)
	}
	if len(told) != len(made) {
		t.Errorf("%s: the model knows of %d calls, it made %d", job, len(told), len(made))
		return
	}
	for i, c := range made {
		got := told[i]
		if got.Call.ID != c.ID || got.Call.Name != c.Name || !sameJSON(got.Call.Arguments, c.Arguments) {
			t.Errorf("%s: the model knows call %d as %+v, it made %+v", job, i, got.Call, c)
		}
		if !strings.Contains(got.Result, want.told[i]) {
			t.Errorf("%s: of call %d the model was told %q, without %q", job, i, got.Result, want.told[i])
		}
	}
}

func sameJSON(a, b string) bool {
	var left, right any
	return json.Unmarshal([]byte(a), &left) == nil && json.Unmarshal([]byte(b), &right) == nil && reflect.DeepEqual(left, right)
}
