package console

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/problem"
)

// router serves routes: it guards and authenticates their requests, bounds how long a
// connection may stall, and counts and reports the outcome.
type router struct {
	policy      bindPolicy
	auth        *authenticator
	bodyTimeout time.Duration // to read the body of a request
	metrics     *metrics
	hooks       atomic.Pointer[http.ServeMux]
	log         *slog.Logger
}

func (t *router) handler(routes []route) http.Handler {
	mux := http.NewServeMux()
	byPath := map[string][]route{}
	for _, route := range routes {
		byPath[route.path] = append(byPath[route.path], route)
	}
	for path, routes := range byPath {
		mux.Handle(path, t.byMethod(routes))
	}
	unknown := t.serve("unknown", public, func(_ http.ResponseWriter, r *http.Request) error {
		return problem.New(http.StatusNotFound, problem.CodeNotFound, fmt.Sprintf("there is nothing at %s; GET / lists what there is", r.URL.Path))
	})
	mux.HandleFunc(hooksPath, func(w http.ResponseWriter, r *http.Request) {
		hooks := t.hooks.Load()
		if _, pattern := hooks.Handler(r); pattern != "" {
			t.measured(pattern, hooks.ServeHTTP).ServeHTTP(w, r)
			return
		}
		unknown.ServeHTTP(w, r)
	})
	mux.Handle("/", unknown)
	return mux
}

// hooksPath begins the paths of all hooks.
const hooksPath = "/hooks/"

// useHooks replaces the hooks.
func (t *router) useHooks(hooks []Hook) {
	mux := http.NewServeMux()
	for _, hook := range hooks {
		mux.Handle(hook.Path, hook.Handler)
	}
	t.hooks.Store(mux)
}

// byMethod serves the routes of one path. The methods are distinguished here and not
// in the patterns, of which /a/{id} and POST /a/b would contradict each other.
func (t *router) byMethod(routes []route) http.Handler {
	handlers := map[string]http.Handler{}
	var methods []string
	for _, route := range routes {
		handlers[route.method] = t.serve(route.path, route.role, route.handle)
		methods = append(methods, route.method)
	}
	refuse := t.serve(routes[0].path, public, refuseMethod(methods))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		if handler := handlers[method]; handler != nil {
			handler.ServeHTTP(w, r)
			return
		}
		refuse.ServeHTTP(w, r)
	})
}

// serve guards a handler, authenticates the sender and reports the error.
func (t *router) serve(name string, role reviewers.Role, handle handlerFunc) http.Handler {
	return t.measured(name, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		err := t.policy.Guard(r)
		if err == nil {
			r, err = t.auth.Admit(r, role)
		}
		if err == nil {
			err = handle(w, r)
		}
		if err != nil {
			t.writeProblem(w, r, err)
		}
	})
}

// measured bounds how long the connection may stall, and counts the answer. name is the
// route in metrics.
func (t *router) measured(name string, handle http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
		t.bound(w)
		recorder.Header().Set("Cache-Control", "no-store")
		recorder.Header().Set("X-Content-Type-Options", "nosniff")
		handle(recorder, r)
		t.metrics.requests.WithLabelValues(name, boundedMethod(r.Method), fmt.Sprint(recorder.status)).Inc()
	})
}

func (t *router) bound(w http.ResponseWriter) {
	control := http.NewResponseController(w)
	now := time.Now()
	// Neither can fail on a connection of this server.
	_ = control.SetReadDeadline(now.Add(t.bodyTimeout))
	_ = control.SetWriteDeadline(now.Add(t.bodyTimeout + writeTimeout))
}

func refuseMethod(methods []string) handlerFunc {
	allow := strings.Join(methods, ", ")
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Allow", allow)
		return problem.New(http.StatusMethodNotAllowed, problem.CodeMethodNotAllowed,
			fmt.Sprintf("%s is not possible at %s; use %s", boundedMethod(r.Method), r.URL.Path, allow))
	}
}

// boundedMethod keeps what a client invents out of metrics.
func boundedMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (s *statusRecorder) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap lets [http.ResponseController] reach the connection.
func (s *statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// writeProblem answers with the problem of an error. An error that clients must not
// read is logged and not shown.
func (t *router) writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(r.Method, err)
	logProblem(t.log, p, err, "method", boundedMethod(r.Method), "path", r.URL.Path)
	switch p.Code {
	case problem.CodeStoreUnavailable:
		w.Header().Set("Retry-After", "1")
	case problem.CodeUnauthenticated, problem.CodeWrongToken:
		w.Header().Set("WWW-Authenticate", `Bearer realm="heldcall"`)
	}
	if err := writeJSON(w, p.Status, problem.ContentType, p); err != nil {
		t.log.Error("console problem could not be written", "path", r.URL.Path, "error", err)
		w.WriteHeader(http.StatusInternalServerError)
	}
}
