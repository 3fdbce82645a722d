package conversation

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept/chat"
)

// released are the released calls of one session.
type released struct {
	principal approvals.Principal
	session   string
	requests  map[string]string // by call
	recorded  []approvals.RequestResult
}

func (r *released) Any() bool { return len(r.requests) > 0 }
func (r *released) AnyIn(principal approvals.Principal, session string) bool {
	return principal == r.principal && session == r.session
}

func (r *released) Awaited(principal approvals.Principal, session, call string) (approvals.RequestResult, bool) {
	request, ok := r.requests[call]
	return approvals.RequestResult{Request: request}, ok && r.AnyIn(principal, session)
}
func (r *released) Record(one approvals.RequestResult) { r.recorded = append(r.recorded, one) }
func (r *released) Released(all ...*approvals.Request) {}
func (r *released) NotReleased(string, ...string)      {}

// answering is an answer of the model.
type answering string

func (a answering) Text() string { return string(a) }

// Results of calls that nobody released are not recorded, and what is recorded is short
// and without secrets.
func TestResults(t *testing.T) {
	result := func(call, content string) string {
		return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%q}`, call, content)
	}
	const secret = "s3cret-s3cret"
	long := strings.Repeat("é", 100<<10)
	for name, tt := range map[string]struct {
		items   string
		session string // of the request
		next    string
		want    string // "REQUEST PREVIEW", of each result
		text    string // of the answer, as it is recorded
		cut     bool
	}{
		"one":                      {items: result("a", "done"), next: "Well.", want: "A done", text: "Well."},
		"of a call not released":   {items: result("c", "done"), want: ""},
		"of another session":       {items: result("a", "done"), session: "other", want: ""},
		"two":                      {items: result("a", "1") + "," + result("b", "2"), want: "A 1,B 2"},
		"two of one call":          {items: result("a", "1") + "," + result("a", "2"), want: "A 2"},
		"a secret":                 {items: result("a", "x "+secret), next: secret, want: "A x [secret]", text: "[secret]"},
		"a secret at the limit":    {items: result("a", strings.Repeat("x", approvals.MaxResultPreview-3)+secret), want: "A " + strings.Repeat("x", approvals.MaxResultPreview-3) + "[se", cut: true},
		"a long one":               {items: result("a", long), next: long, want: "A " + long[:approvals.MaxResultPreview], text: long[:approvals.MaxNextText-4] + "…", cut: true},
		"a secret where it is cut": {items: result("a", strings.Repeat(secret, 5000)), want: "A " + strings.Repeat("[secret]", approvals.MaxResultPreview/8), cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			of := &released{principal: approvals.Principal{Tenant: DefaultTenant}, session: "s1", requests: map[string]string{"a": "A", "b": "B"}}
			b.Shared.Released = of
			b.Redact = func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(secret), []byte("[secret]")) }
			r := requestTo(chat.Dialect{}, `{"model":"m","messages":[{"role":"user","content":"do it"},`+tt.items+`]}`)
			if r.Session = "s1"; tt.session != "" {
				r.Session = tt.session
			}
			c := b.prepared(t, r)
			c.Results.Read()
			c.Results.Record(answering(tt.next))
			c.Results.Record(answering("again"))
			var got []string
			for _, one := range of.recorded {
				got = append(got, one.Request+" "+one.Result.Preview)
				if one.Result.NextText != tt.text || one.Result.Truncated != tt.cut || !one.Result.ReceivedAt.Equal(r.Began) || time.UTC != one.Result.ReceivedAt.Location() {
					t.Errorf("recorded %+v", one)
				}
			}
			if strings.Join(got, ",") != tt.want {
				t.Errorf("recorded %.200q, want %.200q", got, tt.want)
			}
		})
	}
}

// Without calls that wait for a result, the session of the request is not computed.
func TestResultsCostNothing(t *testing.T) {
	for _, none := range []ReleasedCalls{nil, &released{}} {
		b := newBench()
		b.Shared.Released = none
		c := b.prepared(t, chatRequest())
		if allocations := testing.AllocsPerRun(10, func() { c.Results.Read(); c.Results.Record(nil) }); allocations > 0 || c.KnownSession() != "" {
			t.Errorf("%v allocations, session %q", allocations, c.KnownSession())
		}
		c.Results.Released()
	}
}
