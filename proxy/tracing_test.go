package proxy

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/upstream"
	"github.com/valyala/fasthttp"
)

// Tracing that is off allocates nothing in an exchange, whatever becomes of it.
func TestTracingThatIsOffAllocatesNothing(t *testing.T) {
	p := &Proxy{}
	x := &exchange{p: p, fasthttp: &fasthttp.RequestCtx{}}
	e := intercept.Envelope{Method: http.MethodPost, Path: "/chat/completions"}
	h := &hearing{call: intercept.Call{Name: "bash"}}
	x.docket.cases, x.docket.asked = []*hearing{h}, []*hearing{h}
	requests := []approvals.Request{{}}
	head, now, refusal := make([]byte, 0, 4<<10), time.Now(), &intercept.Error{}
	allocated := testing.AllocsPerRun(100, func() {
		x.spans = p.beginSpans(x)
		x.spans.identified(x)
		l := x.spans.asks(x, e)
		head = l.Append(head[:0])
		x.spans.headCame(http.StatusOK)
		x.spans.blockCame()
		x.spans.upstreamEnded("")
		x.spans.asked(&x.docket)
		x.spans.answered(requests)
		x.spans.abandoned(leftPending, "")
		x.spans.decided(&x.docket, now, nil)
		x.spans.passed(h)
		x.spans.failed(refusal)
		x.spans.end(x)
	})
	if allocated > 0 || len(head) > 0 {
		t.Errorf("%v allocations, and the head %q", allocated, head)
	}
}

// A key that the end of a long name cuts through is hidden like any other.
func TestLongNamesHideTheKeyBeforeTheyAreCut(t *testing.T) {
	const key = "sk-live-0123456789abcdef"
	s := &spans{redactor: upstream.NewKeyRedactor(key)}
	for before := nameLimit - len(key) - 1; before <= nameLimit+1; before++ {
		got := s.short("", strings.Repeat("é", before/2)+strings.Repeat("x", before%2)+key).Value.AsString()
		if strings.Contains(got, key[:4]) || !utf8.ValidString(got) || len(got) > nameLimit+len("\uFFFD…") {
			t.Errorf("after %d bytes: %q", before, got)
		}
	}
}
