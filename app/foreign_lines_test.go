package app_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// TestLinesThatAreNoEvents: finding 16. A line of an event stream that is no server-sent
// event, as llama.cpp's errors, passes as it came while the answer has no call. It ends an
// answer that has one, and so does one that may hold a call itself.
func TestLinesThatAreNoEvents(t *testing.T) {
	t.Parallel()
	const failed = "error: {\"code\":500,\"message\":\"the input is too large for the tool calls; try increasing the context size\",\"type\":\"server_error\"}\n\n"
	var stray string
	calls := false
	w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		answer := fakemodel.Answer{Text: "Hello."}
		if calls {
			answer.Calls = []fakemodel.Call{lsCall}
		}
		reply := answer.Reply(r)
		writes := reply.Body
		cut := len(writes) / 2
		if calls {
			cut = len(writes) - 3
		}
		reply.Body = append(append(append([]fakemodel.Write(nil), writes[:cut]...), fakemodel.Write{Bytes: []byte(stray)}), writes[cut:]...)
		return reply
	})
	for path, body := range dialectRequests {
		for _, line := range []string{failed, "upstream timed out\n\n", strings.TrimSuffix(failed, "\n") + ": x\n\n"} {
			stray, calls = line, false
			if got := w.post(path, body).rest(); !strings.Contains(got, line) || strings.Contains(got, "heldcall") {
				t.Errorf("%s: %q became %s", path, line, got)
			}
		}
		stray, calls = failed, true
		if got := w.post(path, body).rest(); !strings.Contains(got, "answer_not_understood") || strings.Contains(got, "opensesame") {
			t.Errorf("%s: beside a call: %s", path, got)
		}
		for _, line := range []string{
			"error: {\"tool_calls\":[{\"function\":{\"name\":\"bash\",\"arguments\":\"{}\"}}]}\n\n",
			"error: {\"name\":\"bash\",\"arguments\":{}}\n\n", "error: {\"a\":1,\"a\":2}\n\n", "error: {\n\n", "x: {}\n\n", "{\"message\":\"x\"}\n\n", "the call bash\n\n",
			"error: {}\ndata: {}\n\n",
		} {
			stray, calls = line, false
			if got := w.post(path, body).rest(); !strings.Contains(got, "answer_not_understood") || strings.Contains(got, line) {
				t.Errorf("%s: %q became %s", path, line, got)
			}
		}
	}
}
