package proxy

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/valyala/fasthttp"
)

// sessionNames are parts of the names of headers by which clients and gateways name a session, a
// conversation, a user or their group, in lower case: session-id and thread-id of Codex, session_id of
// pi, x-session-affinity of opencode, X-Claude-Code-Session-Id, X-Task-ID of Cline, Helicone-User-Id,
// X-OpenWebUI-Chat-Id, x-grok-conv-id, x-litellm-customer-id, x-portkey-metadata, OpenAI-Organization,
// X-Consumer-Id of Kong, X-Auth-Request-Email.
var sessionNames = parts("session thread conv chat task affinity room channel context-id user customer account organization org-id project tenant workspace team " +
	"member consumer visitor profile email subject identity client-id device agent-id metadata property tags owner participant")

// credentialNames are parts of the names of headers with credentials: a gateway has its own beside the
// key of the provider, such as Ocp-Apim-Subscription-Key, x-portkey-api-key and Helicone-Auth.
var credentialNames = parts("key auth token credential")

// providerNames begin the names of headers that change the answer, such as anthropic-beta.
var providerNames = parts("anthropic- openai-")

func parts(names string) [][]byte { return bytes.Fields([]byte(names)) }

// namesSession reports whether a header, with its name in lower case, tells who asks for what. Those
// that heldcall reads count by themselves, and so does the User-Agent.
func namesSession(name, value []byte) bool {
	switch {
	case string(name) == "authorization":
		return !bytes.HasPrefix(value, []byte("AWS4-")) // a signature of the time
	case string(name) == "user-agent", string(name) == "idempotency-key", bytes.HasPrefix(name, []byte("x-heldcall-")), bytes.HasPrefix(name, []byte("sec-")):
		return false
	}
	within := func(part []byte) bool { return bytes.Contains(name, part) }
	return slices.ContainsFunc(sessionNames, within) || slices.ContainsFunc(credentialNames, within) ||
		slices.ContainsFunc(providerNames, func(prefix []byte) bool { return bytes.HasPrefix(name, prefix) })
}

// sessionHeaders returns the headers that tell who asks for what, in the order of their names.
func sessionHeaders(h *fasthttp.RequestHeader) (found []conversation.SessionHeader) {
	for name, value := range h.AllInOrder() {
		if lower := bytes.ToLower(name); namesSession(lower, value) {
			found = append(found, conversation.SessionHeader{Name: string(lower), Digest: conversation.DigestHeader(value)})
		}
	}
	slices.SortStableFunc(found, func(a, b conversation.SessionHeader) int { return cmp.Compare(a.Name, b.Name) })
	return found
}
