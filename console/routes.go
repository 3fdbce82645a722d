package console

import (
	"net/http"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/oidc"
)

// handlerFunc answers a request, or returns an error that is reported as a
// problem. It returns no error once it has begun to answer.
type handlerFunc func(w http.ResponseWriter, r *http.Request) error

// route is one route, which console/openapi/openapi.json describes.
type route struct {
	method, path string
	role         reviewers.Role // that the sender needs
	about        string
	handle       handlerFunc
}

type handlers struct {
	requests    requestHandlers
	runs        runHandlers
	grants      grantHandlers
	proposals   proposalHandlers
	secrets     secretHandlers
	delegations delegationHandlers
	audit       auditHandlers
	live        *liveHandlers
	push        pushHandlers
	passkeys    passkeyHandlers
	signIn      *signInHandlers
	pages       *pageHandlers
	health      healthHandlers
}

func (h *handlers) routes() []route {
	const viewer, reviewer, admin = reviewers.RoleViewer, reviewers.RoleReviewer, reviewers.RoleAdmin
	return []route{
		{"GET", "/api/v1/requests", viewer, "list requests: status, kind, session_id, run_id, risk, q (words that a request must contain), cursor, limit", h.requests.list},
		{"GET", "/api/v1/requests/{id}", viewer, "one request", h.requests.show},
		{"GET", "/api/v1/requests/{id}/suggestions", viewer, "the suggested patterns of a request: what each allows, and how many recent requests it would have covered", h.grants.suggestions},
		{"POST", "/api/v1/requests/{id}/decision", reviewer, `decide a request: {"action": "approve"}`, h.requests.decide},
		{"POST", "/api/v1/requests/{id}/challenge", reviewer, "what a browser needs to have your passkey confirm an approval, which is the body; its assertion is the field assertion of the decision", h.passkeys.challengeDecision},
		{"POST", "/api/v1/decisions", reviewer, `decide several requests: {"decisions": [{"request_id": "...", "action": "deny", "note": "..."}]}`, h.requests.decideBatch},
		{"GET", "/api/v1/runs", viewer, "runs that had a call or a signal, the most recently active first; of those that have ended the last 500", h.runs.list},
		{"GET", "/api/v1/runs/{id}", viewer, "one run", h.runs.show},
		{"POST", "/api/v1/runs/{id}/signal", admin, `pause, resume or stop a run: {"action": "pause_run"}, resume_run or abort_run`, h.runs.signal},
		{"POST", "/api/v1/runs/{id}/workspace", reviewer, `make a folder a part of the run's workspace for 24 hours: {"folder": "/srv/other"}; the answer is a grant`, h.runs.addFolder},
		{"GET", "/api/v1/signals", viewer, "signals by principal that are in force", h.runs.listSignals},
		{"POST", "/api/v1/signals", admin, `pause, resume or stop all runs of an agent, user or tenant, present and future: {"principal": {"agent": "coder"}, "action": "pause_run"}, resume_run or abort_run`, h.runs.sendSignal},
		{"GET", "/api/v1/grants", viewer, "grants in force: tenant, user, agent, session_id, tool, expired, cursor, limit", h.grants.list},
		{"POST", "/api/v1/grants", admin, `create a grant: {"effect": "allow", "principal": {"tenant": "default"}, "patterns": ["bash(npm run *)"]}`, h.grants.add},
		{"POST", "/api/v1/grants/preview", viewer, "which recent calls a grant with this body would have covered", h.grants.preview},
		{"GET", "/api/v1/grants/{id}", viewer, "one grant", h.grants.show},
		{"DELETE", "/api/v1/grants/{id}", reviewer, "revoke a grant; reviewers who are no admins can only close trust windows, and take folders of runs away", h.grants.revoke},
		{"GET", "/api/v1/policy/proposals", viewer, "rules for the policies that the decisions of people suggest, each with its effect: since (7 days ago), approved (3), sessions (2)", h.proposals.list},
		{"GET", "/api/v1/secrets", viewer, "secrets of agents, without their values", h.secrets.list},
		{"POST", "/api/v1/secrets", admin, `store a secret, or replace its value: {"name": "GITHUB_TOKEN", "value": "...", "principal": {"tenant": "default", "user": "*", "agent": "*"}}`, h.secrets.set},
		{"DELETE", "/api/v1/secrets", admin, "delete a secret: name, tenant, user, agent, session_id", h.secrets.delete},
		{"GET", "/api/v1/grant-templates", viewer, "grant templates of the configuration", h.grants.listTemplates},
		{"GET", "/api/v1/events", viewer, "all events, as server-sent events; resumes after Last-Event-ID; with requests=true each event about a request is followed by the request, until it has ended", h.live.events},
		{"GET", live.Path, viewer, "pending requests and decisions, over a WebSocket; resumes after last_event_id", h.live.websocket},
		{"GET", "/api/v1/delegations", viewer, "delegations in force", h.delegations.list},
		{"POST", "/api/v1/delegations", reviewer, `delegate your decisions: {"to": "...", "until": "2026-12-24T18:00:00Z"}`, h.delegations.add},
		{"DELETE", "/api/v1/delegations/{id}", reviewer, "end a delegation", h.delegations.revoke},
		{"GET", "/api/v1/audit", viewer, "the audit log, oldest first: since, cursor, limit", h.audit.list},
		{"GET", "/api/v1/audit/state", viewer, "records of the state that are not as the audit log says", h.audit.compare},
		{"GET", "/api/v1/me", viewer, "your name, role and groups", h.signIn.showMe},
		{"GET", "/api/v1/push", reviewer, "the key with which browsers subscribe to notifications, and your subscribed browsers", h.push.show},
		{"POST", "/api/v1/push", reviewer, `subscribe a browser to the requests that you may approve: the JSON of its PushSubscription`, h.push.subscribe},
		{"DELETE", "/api/v1/push/{id}", reviewer, "unsubscribe a browser", h.push.unsubscribe},
		{"GET", "/api/v1/passkeys", reviewer, "your passkeys, and the origin of the pages that can use them", h.passkeys.list},
		{"POST", "/api/v1/passkeys", reviewer, `register a passkey: {"name": "...", "credential": {...}}; with an assertion of another one, if you have any`, h.passkeys.register},
		{"POST", "/api/v1/passkeys/options", reviewer, `what a browser needs to create a passkey: {"name": "..."}`, h.passkeys.create},
		{"POST", "/api/v1/passkeys/challenge", reviewer, `what a browser needs to have your passkey confirm a change: {"add": {"name": "...", "credential": {...}}} or {"revoke": "..."}`, h.passkeys.challenge},
		{"POST", "/api/v1/passkeys/{id}/revoke", reviewer, `revoke a passkey: {"assertion": {...}}`, h.passkeys.revoke},
		{"GET", "/api/v1/session", public, "ways to sign in", h.signIn.showMethods},
		{"POST", "/api/v1/session", public, `sign in: {"token": "..."}`, h.signIn.signIn},
		{"DELETE", "/api/v1/session", viewer, "sign out", h.signIn.signOut},
		{"POST", "/api/v1/session/oidc", public, "begin a sign-in at the OpenID Connect provider: returns the URL for the browser", h.signIn.beginOIDC},
		{"POST", "/api/v1/session/oidc/code", public, `end a sign-in at the provider: {"code": "...", "state": "...", "secret": "..."}`, h.signIn.finishOIDC},
		{"GET", "/openapi.json", public, "this API, as OpenAPI 3.1", h.pages.showOpenAPI},
		{"GET", "/reference", public, "this API, as a page", h.pages.showReference},
		{"GET", "/metrics", public, "Prometheus metrics", h.pages.exportMetrics()},
		{"GET", "/healthz", public, "liveness", h.health.health},
		{"GET", "/readyz", public, "readiness to hold and release calls", h.health.readiness},
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
