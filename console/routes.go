package console

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/oidc"
	"github.com/heldcall/heldcall/console/problem"
)

// handlerFunc answers a request, or returns an error that is reported as a
// problem. It returns no error once it has begun to answer.
type handlerFunc func(w http.ResponseWriter, r *http.Request) error

type route struct {
	method, path string
	role         reviewers.Role // that it takes
	about        string
	handle       handlerFunc
}

// routes is the whole API.
func (c *Console) routes() []route {
	const viewer, reviewer, admin = reviewers.RoleViewer, reviewers.RoleReviewer, reviewers.RoleAdmin
	return []route{
		{"GET", "/api/v1/requests", viewer, "list requests: status, kind, session_id, run_id, risk, q (words that all stand in them), cursor, limit", c.listRequests},
		{"GET", "/api/v1/requests/{id}", viewer, "one request", c.showRequest},
		{"POST", "/api/v1/requests/{id}/decision", reviewer, `decide it: {"action": "approve"}`, c.decide},
		{"POST", "/api/v1/decisions", reviewer, `decide several: {"decisions": [{"request_id": "...", "action": "deny", "note": "..."}]}`, c.decideSeveral},
		{"GET", "/api/v1/runs", viewer, "runs that somebody steered", c.listRuns},
		{"GET", "/api/v1/runs/{id}", viewer, "one of them", c.showRun},
		{"POST", "/api/v1/runs/{id}/signal", admin, `steer a run: {"action": "pause_run"}, resume_run or abort_run`, c.signal},
		{"GET", "/api/v1/grants", viewer, "grants in force: tenant, user, agent, session_id, tool, expired, cursor, limit", c.listGrants},
		{"POST", "/api/v1/grants", admin, `grant by hand: {"effect": "allow", "principal": {"tenant": "default"}, "patterns": ["bash(npm run *)"]}`, c.addGrant},
		{"POST", "/api/v1/grants/preview", viewer, "the same body: which calls recorded lately it would have covered", c.previewGrant},
		{"GET", "/api/v1/grants/{id}", viewer, "one grant", c.showGrant},
		{"DELETE", "/api/v1/grants/{id}", admin, "revoke it", c.revokeGrant},
		{"GET", "/api/v1/grant-templates", viewer, "grants that the configuration keeps ready", c.listTemplates},
		{"GET", "/api/v1/events", viewer, "everything that happens, as server-sent events; resumes after Last-Event-ID; with requests=true each request too, as it then stands, until it came as it ended", c.events},
		{"GET", socketPath, viewer, "what waits, as it comes, and decisions, over a WebSocket; resumes after last_event_id", c.websocket},
		{"GET", "/api/v1/delegations", viewer, "who decides in whose place", c.listDelegations},
		{"POST", "/api/v1/delegations", reviewer, `let another decide in your place: {"to": "...", "until": "2026-12-24T18:00:00Z"}`, c.delegate},
		{"DELETE", "/api/v1/delegations/{id}", reviewer, "end that", c.revokeDelegation},
		{"GET", "/api/v1/audit", viewer, "what happened, oldest first: since, cursor, limit", c.listAudit},
		{"GET", "/api/v1/me", viewer, "who you are, and your role and groups", c.showMe},
		{"GET", "/api/v1/push", reviewer, "the key that a browser subscribes to notifications with, and your browsers that have", c.showPush},
		{"POST", "/api/v1/push", reviewer, `tell a browser of what you may approve: the JSON of its PushSubscription`, c.subscribePush},
		{"DELETE", "/api/v1/push/{id}", reviewer, "tell that browser nothing more", c.unsubscribePush},
		{"GET", "/api/v1/session", public, "how a browser signs in", c.showSignIn},
		{"POST", "/api/v1/session", public, `sign in: {"token": "..."}`, c.signIn},
		{"DELETE", "/api/v1/session", viewer, "sign out", c.signOut},
		{"POST", "/api/v1/session/oidc", public, "begin to sign in by the OpenID Connect provider: where the browser goes", c.beginOIDC},
		{"POST", "/api/v1/session/oidc/code", public, `end it: {"code": "...", "state": "...", "secret": "..."}`, c.finishOIDC},
		{"GET", "/openapi.json", public, "this API, as OpenAPI 3.1", c.showOpenAPI},
		{"GET", "/reference", public, "the same, for people", c.showReference},
		{"GET", "/metrics", public, "Prometheus metrics", c.exportMetrics()},
		{"GET", "/healthz", public, "is the process alive", c.health},
		{"GET", "/readyz", public, "can it hold and release calls", c.readiness},
	}
}

// handler puts the routes behind the guards.
func (c *Console) handler() http.Handler {
	mux := http.NewServeMux()
	byPath := map[string][]route{}
	pages := []route{{"GET", "/{$}", public, "", c.front}, {"GET", "/inbox/{file...}", public, "", c.inboxFile}, {"GET", oidc.CallbackPath, public, "", c.inboxPage}}
	for _, route := range append(c.routes(), pages...) {
		byPath[route.path] = append(byPath[route.path], route)
	}
	for path, routes := range byPath {
		mux.Handle(path, c.byMethod(routes))
	}
	for _, hook := range c.hooks {
		mux.Handle(hook.Path, c.serveHook(hook))
	}
	mux.Handle("/", c.serve("unknown", public, func(_ http.ResponseWriter, r *http.Request) error {
		return problem.New(http.StatusNotFound, problem.CodeNotFound, fmt.Sprintf("there is nothing at %s; GET / lists what there is", r.URL.Path))
	}))
	return mux
}

// byMethod puts together the routes of one path. The methods are told apart here
// and not in the patterns, of which /a/{id} and POST /a/b would contradict each
// other.
func (c *Console) byMethod(routes []route) http.Handler {
	handlers := map[string]http.Handler{}
	var methods []string
	for _, route := range routes {
		handlers[route.method] = c.serve(route.path, route.role, route.handle)
		methods = append(methods, route.method)
	}
	refuse := c.serve(routes[0].path, public, refuseMethod(methods))
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

// serve guards a handler, asks who the sender is, bounds how long its connection
// may stall, counts what it answered and reports its error. name is the route in
// metrics.
func (c *Console) serve(name string, role reviewers.Role, handle handlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
		c.bound(w)
		header := recorder.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")

		err := c.entrance.guard(r)
		if err == nil {
			r, err = c.admit(r, role)
		}
		if err == nil {
			err = handle(recorder, r)
		}
		if err != nil {
			c.writeProblem(recorder, r, err)
		}
		c.metrics.requests.WithLabelValues(name, boundedMethod(r.Method), fmt.Sprint(recorder.status)).Inc()
	})
}

// serveHook bounds how long who calls may stall, and counts what was answered.
func (c *Console) serveHook(hook Hook) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
		c.bound(w)
		recorder.Header().Set("Cache-Control", "no-store")
		recorder.Header().Set("X-Content-Type-Options", "nosniff")
		hook.Handler.ServeHTTP(recorder, r)
		c.metrics.requests.WithLabelValues(hook.Path, boundedMethod(r.Method), fmt.Sprint(recorder.status)).Inc()
	})
}

// bound sets how long a connection may stall.
func (c *Console) bound(w http.ResponseWriter) {
	control := http.NewResponseController(w)
	now := time.Now()
	// Neither can fail on a connection of this server.
	_ = control.SetReadDeadline(now.Add(c.patience))
	_ = control.SetWriteDeadline(now.Add(c.patience + writeTimeout))
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

// index tells a person what to find where.
func (c *Console) index(w http.ResponseWriter, _ *http.Request) error {
	var page strings.Builder
	page.WriteString("heldcall console\n\nIn a browser, this address is the inbox.\n\nOn the command line:\n" +
		"  heldcall requests           what waits for an answer\n" +
		"  heldcall requests show ID   one request, whole\n" +
		"  heldcall approve ID         release the call\n" +
		"  heldcall deny ID --note WHY tell the model why not\n" +
		"  heldcall modify ID          edit the arguments, then release\n\nOver HTTP:\n")
	for _, route := range c.routes() {
		fmt.Fprintf(&page, "  %-6s %-32s %s\n", route.method, route.path, route.about)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, page.String()) // fails only if the client is gone
	return nil
}

func (c *Console) exportMetrics() handlerFunc {
	export := promhttp.HandlerFor(c.gatherer, promhttp.HandlerOpts{})
	return func(w http.ResponseWriter, r *http.Request) error {
		export.ServeHTTP(w, r)
		return nil
	}
}

// statusRecorder remembers the status for the metrics.
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
