package console

import (
	"net/http"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/oidc"
	"github.com/heldcall/heldcall/console/openapi"
)

// handlerFunc answers a request, or returns an error that is reported as a
// problem. It returns no error once it has begun to answer.
type handlerFunc func(w http.ResponseWriter, r *http.Request) error

type route struct {
	method, path string
	role         reviewers.Role // that the sender needs
	about        string
	handle       handlerFunc
}

// handlers are those of all routes, by resource.
type handlers struct {
	requests    requestHandlers
	runs        runHandlers
	grants      grantHandlers
	delegations delegationHandlers
	audit       auditHandlers
	live        *liveHandlers
	push        pushHandlers
	signIn      *signInHandlers
	pages       *pageHandlers
	health      healthHandlers
}

// routes is the whole API.
func (h *handlers) routes() []route {
	const viewer, reviewer, admin = reviewers.RoleViewer, reviewers.RoleReviewer, reviewers.RoleAdmin
	return []route{
		{"GET", "/api/v1/requests", viewer, "list requests: status, kind, session_id, run_id, risk, q (words that all stand in them), cursor, limit", h.requests.list},
		{"GET", "/api/v1/requests/{id}", viewer, "one request", h.requests.show},
		{"POST", "/api/v1/requests/{id}/decision", reviewer, `decide it: {"action": "approve"}`, h.requests.decide},
		{"POST", "/api/v1/decisions", reviewer, `decide several: {"decisions": [{"request_id": "...", "action": "deny", "note": "..."}]}`, h.requests.decideBatch},
		{"GET", "/api/v1/runs", viewer, "runs that somebody steered", h.runs.list},
		{"GET", "/api/v1/runs/{id}", viewer, "one of them", h.runs.show},
		{"POST", "/api/v1/runs/{id}/signal", admin, `steer a run: {"action": "pause_run"}, resume_run or abort_run`, h.runs.signal},
		{"GET", "/api/v1/grants", viewer, "grants in force: tenant, user, agent, session_id, tool, expired, cursor, limit", h.grants.list},
		{"POST", "/api/v1/grants", admin, `grant by hand: {"effect": "allow", "principal": {"tenant": "default"}, "patterns": ["bash(npm run *)"]}`, h.grants.add},
		{"POST", "/api/v1/grants/preview", viewer, "the same body: which calls recorded lately it would have covered", h.grants.preview},
		{"GET", "/api/v1/grants/{id}", viewer, "one grant", h.grants.show},
		{"DELETE", "/api/v1/grants/{id}", admin, "revoke it", h.grants.revoke},
		{"GET", "/api/v1/grant-templates", viewer, "grants that the configuration keeps ready", h.grants.listTemplates},
		{"GET", "/api/v1/events", viewer, "everything that happens, as server-sent events; resumes after Last-Event-ID; with requests=true each request too, as it then stands, until it came as it ended", h.live.events},
		{"GET", socketPath, viewer, "what waits, as it comes, and decisions, over a WebSocket; resumes after last_event_id", h.live.websocket},
		{"GET", "/api/v1/delegations", viewer, "who decides in whose place", h.delegations.list},
		{"POST", "/api/v1/delegations", reviewer, `let another decide in your place: {"to": "...", "until": "2026-12-24T18:00:00Z"}`, h.delegations.add},
		{"DELETE", "/api/v1/delegations/{id}", reviewer, "end that", h.delegations.revoke},
		{"GET", "/api/v1/audit", viewer, "what happened, oldest first: since, cursor, limit", h.audit.list},
		{"GET", "/api/v1/me", viewer, "who you are, and your role and groups", h.signIn.showMe},
		{"GET", "/api/v1/push", reviewer, "the key that a browser subscribes to notifications with, and your browsers that have", h.push.show},
		{"POST", "/api/v1/push", reviewer, `tell a browser of what you may approve: the JSON of its PushSubscription`, h.push.subscribe},
		{"DELETE", "/api/v1/push/{id}", reviewer, "tell that browser nothing more", h.push.unsubscribe},
		{"GET", "/api/v1/session", public, "how a browser signs in", h.signIn.showMethods},
		{"POST", "/api/v1/session", public, `sign in: {"token": "..."}`, h.signIn.signIn},
		{"DELETE", "/api/v1/session", viewer, "sign out", h.signIn.signOut},
		{"POST", "/api/v1/session/oidc", public, "begin to sign in by the OpenID Connect provider: where the browser goes", h.signIn.beginOIDC},
		{"POST", "/api/v1/session/oidc/code", public, `end it: {"code": "...", "state": "...", "secret": "..."}`, h.signIn.finishOIDC},
		{"GET", "/openapi.json", public, "this API, as OpenAPI 3.1", h.pages.showOpenAPI},
		{"GET", "/reference", public, "the same, for people", h.pages.showReference},
		{"GET", "/metrics", public, "Prometheus metrics", h.pages.exportMetrics()},
		{"GET", "/healthz", public, "is the process alive", h.health.health},
		{"GET", "/readyz", public, "can it hold and release calls", h.health.readiness},
	}
}

// browserRoutes are the routes of pages, which are not part of the API.
func (h *handlers) browserRoutes() []route {
	return []route{
		{"GET", "/{$}", public, "", h.pages.front},
		{"GET", "/inbox/{file...}", public, "", h.pages.inboxFile},
		{"GET", oidc.CallbackPath, public, "", h.pages.inboxPage},
	}
}

// describe adds to routes what goes in and out by them.
func describe(routes []route) []openapi.Route {
	described, known := make([]openapi.Route, len(routes)), exchanges()
	for i, r := range routes {
		described[i] = openapi.Route{Method: r.method, Path: r.path, Role: r.role, About: r.about, Exchange: known[r.method+" "+r.path]}
	}
	return described
}
