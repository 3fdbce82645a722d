package proxy

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/valyala/fasthttp"
)

// sessionNames are parts of the names of headers by which clients name a session, a conversation or
// a user, in lower case: session-id and thread-id of Codex, session_id of pi, x-session-affinity of
// opencode, X-Claude-Code-Session-Id, X-Task-ID of Cline, Helicone-User-Id,
// X-OpenWebUI-Chat-Id, x-grok-conv-id, x-litellm-customer-id, OpenAI-Organization.
var sessionNames = [][]byte{
	[]byte("session"), []byte("thread"), []byte("conv"), []byte("chat"), []byte("task"), []byte("affinity"),
	[]byte("user"), []byte("customer"), []byte("account"), []byte("organization"), []byte("project"), []byte("tenant"),
}

// namesSession reports whether a header, with its name in lower case, names a session. heldcall's
// own headers count by themselves, and so does the User-Agent.
func namesSession(name []byte) bool {
	if string(name) == "user-agent" || bytes.HasPrefix(name, []byte("x-heldcall-")) {
		return false
	}
	return slices.ContainsFunc(sessionNames, func(part []byte) bool { return bytes.Contains(name, part) })
}

// sessionHeaders returns the headers by which a client names a session, in the order of their names.
func sessionHeaders(h *fasthttp.RequestHeader) (found []conversation.SessionHeader) {
	for name, value := range h.AllInOrder() {
		if lower := bytes.ToLower(name); namesSession(lower) {
			found = append(found, conversation.SessionHeader{Name: string(lower), Digest: conversation.DigestHeader(value)})
		}
	}
	slices.SortStableFunc(found, func(a, b conversation.SessionHeader) int { return cmp.Compare(a.Name, b.Name) })
	return found
}
