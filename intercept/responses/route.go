package responses

import (
	"net/http"
	"strings"

	"github.com/heldcall/heldcall/intercept"
)

// operation is what a request asks upstream to do.
type operation int

// The operations.
const (
	opCreate   operation = iota // POST /responses
	opRetrieve                  // GET /responses/{id}
	opCancel                    // POST /responses/{id}/cancel
	opCompact                   // POST /responses/compact
	opCount                     // POST /responses/input_tokens
	opDelete                    // DELETE /responses/{id}
	opConverse                  // POST /conversations
)

// isAuxiliary reports whether a request is about a history or an answer, and asks for no
// text of the model.
func (o operation) isAuxiliary() bool {
	return o == opCompact || o == opCount || o == opDelete || o == opConverse
}

// history is the field of the body that has the history.
func (o operation) history() string {
	if o == opConverse {
		return "items"
	}
	return "input"
}

// The route of all requests, after the upstream's prefix, and the ends of some.
const (
	rootPath    = "/responses"
	cancelPath  = "/cancel"
	compactPath = "/compact"
	countPath   = "/input_tokens"

	conversePath = "/conversations"
)

// findRoute reads a route from the end of the path. The id of a response, and the path before
// the route, keep their letter case.
func findRoute(method, path string) (o operation, id, canonical string, ok bool) {
	switch method {
	case http.MethodPost:
		for _, route := range []struct {
			operation operation
			path      string
		}{{opCreate, rootPath}, {opCompact, rootPath + compactPath}, {opCount, rootPath + countPath}, {opConverse, conversePath}} {
			if canonical, ok = intercept.Canonical(path, route.path); ok {
				return route.operation, "", canonical, true
			}
		}
		if cancelRoute, cut := intercept.Canonical(path, cancelPath); cut {
			head, id, ok := identifiedRoute(cancelRoute[:len(cancelRoute)-len(cancelPath)])
			return opCancel, id, head + cancelPath, ok
		}
	case http.MethodGet:
		head, id, ok := identifiedRoute(path)
		return opRetrieve, id, head, ok
	case http.MethodDelete:
		head, id, ok := identifiedRoute(path)
		return opDelete, id, head, ok
	}
	return 0, "", "", false
}

// identifiedRoute reads a path that ends in /responses/{id}.
func identifiedRoute(path string) (canonical, id string, ok bool) {
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 || slash == len(path)-1 {
		return "", "", false
	}
	head, ok := intercept.Canonical(path[:slash], rootPath)
	return head + path[slash:], path[slash+1:], ok
}
