package proxy

import (
	"net/http"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
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
		head = l.append(head[:0])
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
