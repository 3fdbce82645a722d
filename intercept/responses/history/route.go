package history

import (
	"net/http"
	"strings"

	"github.com/heldcall/heldcall/intercept"
)

// operation is what a request asks upstream to do.
type operation int

// The operations. Other packages use the exported ones.
const (
	create   operation = iota // POST /responses
	Retrieve                  // GET /responses/{id}
	Cancel                    // POST /responses/{id}/cancel
	Compact                   // POST /responses/compact
	count                     // POST /responses/input_tokens
	remove                    // DELETE /responses/{id}
	converse                  // POST /conversations
)

// IsAuxiliary reports whether a request is about a history or an answer, and asks for no
// text of the model.
func (o operation) IsAuxiliary() bool {
	return o == Compact || o == count || o == remove || o == converse
}

// history is the field of the body that has the history.
func (o operation) history() string {
	if o == converse {
		return "items"
	}
	return "input"
}

// The route of all requests, after the upstream's prefix, and the ends of some.
const (
	Root       = "/responses"
	Cancelling = "/cancel"
	Compacting = "/compact"
	Counting   = "/input_tokens"

	Conversing = "/conversations"
)

// Find reads a route from the end of the path. The id of a response, and the path before
// the route, keep their letter case.
func Find(method, path string) (o operation, id, canonical string, ok bool) {
	switch method {
	case http.MethodPost:
		for _, route := range []struct {
			operation operation
			path      string
		}{{create, Root}, {Compact, Root + Compacting}, {count, Root + Counting}, {converse, Conversing}} {
			if canonical, ok = intercept.Canonical(path, route.path); ok {
				return route.operation, "", canonical, true
			}
		}
		if rest, cut := intercept.Canonical(path, Cancelling); cut {
			head, id, ok := Identified(rest[:len(rest)-len(Cancelling)])
			return Cancel, id, head + Cancelling, ok
		}
	case http.MethodGet:
		head, id, ok := Identified(path)
		return Retrieve, id, head, ok
	case http.MethodDelete:
		head, id, ok := Identified(path)
		return remove, id, head, ok
	}
	return 0, "", "", false
}

// Identified reads a path that ends in /responses/{id}.
func Identified(path string) (canonical, id string, ok bool) {
	at := strings.LastIndexByte(path, '/')
	if at < 0 || at == len(path)-1 {
		return "", "", false
	}
	head, ok := intercept.Canonical(path[:at], Root)
	return head + path[at:], path[at+1:], ok
}
