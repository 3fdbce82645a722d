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
	// freeRequestBytes is the size of requests that need no reservation.
	freeRequestBytes = 16 << 10
)

// ErrOverloaded refuses requests for which there is no memory.
var ErrOverloaded = &intercept.Error{Code: intercept.CodeOverloaded, Reason: "the requests being served need all of proxy.memory; send the request again later"}

// reserve reserves memory for requests to people that are about to be recorded. Memory reports whether
// there are n more bytes.
func reserve(requests []approvals.Request, memory func(n int) bool) *intercept.Error {
	size := 0
	for i := range requests {
		size += requests[i].Size()
	}
	if size > maxRequestBytes {
		return &intercept.Error{Code: intercept.CodeAnswerNotUnderstood, Reason: fmt.Sprintf("its calls need %d bytes to be shown to reviewers, the limit is %d; none of it is released", size, maxRequestBytes)}
	}
	if size > freeRequestBytes && !memory(size*bytesRecording) {
		return ErrOverloaded
	}
	return nil
}
