package turn

import (
	"fmt"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

const (
	// maxRequestBytes bounds the size of the requests about one answer: they are recorded,
	// published and shown many times.
	maxRequestBytes = 8 << 20
	// bytesRecording is about how many bytes of memory a byte of a request takes while it
	// is recorded.
	bytesRecording = 8
	// bytesWaiting is about how many bytes of memory it takes while it waits for people.
	bytesWaiting = 2
	// bytesKept is about how many bytes of memory a byte of an answer takes that has calls, until they are
	// judged: measured 5 for streams, 5.7 for whole answers.
	bytesKept = 6
	// freeKeptBytes is how many bytes of an answer may be kept without a reservation, and keptStep how many are
	// reserved at least at a time.
	freeKeptBytes = 4 << 10
	keptStep      = 16 << 10
	// freeRequestBytes is the size of requests that need no reservation.
	freeRequestBytes = 16 << 10
)

// ErrOverloaded refuses requests for which there is no memory.
var ErrOverloaded = &intercept.Error{Code: intercept.CodeOverloaded, Reason: "the requests being served need all of proxy.memory; send the request again later"}

// reserve reserves memory for requests to people that are about to be recorded. Memory reports whether
// there are n more bytes. It returns how many are reserved.
func reserve(requests []approvals.Request, memory func(n int) bool) (n int, refusal *intercept.Error) {
	size := 0
	for i := range requests {
		size += requests[i].Size()
	}
	if size > maxRequestBytes {
		return 0, &intercept.Error{Code: intercept.CodeAnswerNotUnderstood, Reason: fmt.Sprintf("its calls need %d bytes to be shown to reviewers, the limit is %d; no more of it is released", size, maxRequestBytes)}
	}
	if size <= freeRequestBytes {
		return 0, nil
	}
	if !memory(size * bytesRecording) {
		return 0, ErrOverloaded
	}
	return size * bytesRecording, nil
}

// next sets the next request to the upstream, and reserves memory for its body if it is not that of the agent.
func (t *Turn) next(e intercept.Envelope) *intercept.Error {
	body, agents := e.Body, t.request.Envelope.Body
	made := len(body) > 0 && (len(agents) == 0 || &body[0] != &agents[0])
	if more := len(body) - t.made; made && more > 0 {
		if !t.output.agent.Reserve(more) {
			return ErrOverloaded
		}
		t.made = len(body)
	}
	t.exchange.Next = e
	return nil
}

// kept are the bytes that are kept of the answers of a turn while they are read.
type kept struct {
	bytes    int // of the answers
	reserved int // of memory
}

// keep reserves memory for n more bytes of the answer that are kept, fewer if n is negative. The error is an
// [*intercept.Error].
func (o *output) keep(n int) error {
	o.kept.bytes = max(0, o.kept.bytes+n)
	need := (o.kept.bytes - freeKeptBytes) * bytesKept
	if need <= o.kept.reserved {
		return nil
	}
	step := max(need-o.kept.reserved, keptStep)
	if !o.agent.Reserve(step) {
		return ErrOverloaded
	}
	o.kept.reserved += step
	return nil
}

// returnKept returns what the calls of an answer do not need while they wait for people.
func (o *output) returnKept() {
	rest := min(o.kept.bytes*bytesWaiting, o.kept.reserved)
	o.agent.Return(o.kept.reserved - rest)
	o.kept.reserved = rest
}
