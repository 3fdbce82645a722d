package console

import (
	"reflect"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/oidc"
	"github.com/heldcall/heldcall/console/problem"
)

// exchange is what goes in and out by a route. Zero fields are nothing.
type exchange struct {
	query  []string // names of parameters, all optional texts
	header []string // the same
	body   reflect.Type
	reply  reflect.Type
	media  string        // of the reply; "": JSON
	socket *conversation // that the route upgrades to
}

// conversation is the messages of a WebSocket.
type conversation struct{ sends, receives []socketMessage } // as the console does

// socketMessage is one of them.
type socketMessage struct {
	name live.Type
	is   reflect.Type // a live.Message
}

// listOf is the form of every list.
type listOf[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor"`
}

// batchPayload is several decisions, each with its request_id.
type batchPayload struct {
	Decisions []approvals.DecisionPayload `json:"decisions"`
}

// batchReply is an outcome for each of them, in their order.
type batchReply struct {
	Items []outcome `json:"items"`
}

// readinessReply is the answer of a heldcall that is ready.
type readinessReply struct {
	Checks []problem.Check `json:"checks"`
	Status string          `json:"status"`
}

// healthReply is the answer of a process that serves.
type healthReply struct {
	Status string `json:"status"`
}

// exchanges are what goes in and out by each route, by method and path.
func exchanges() map[string]exchange {
	var (
		request    = reflect.TypeFor[approvals.Request]()
		grant      = reflect.TypeFor[approvals.Grant]()
		grantBody  = reflect.TypeFor[approvals.GrantPayload]()
		delegation = reflect.TypeFor[approvals.Delegation]()
		self       = reflect.TypeFor[me]()
	)
	return map[string]exchange{
		"GET /api/v1/requests": {
			query: []string{"status", "kind", "session_id", "run_id", "risk", "q", "cursor", "limit"}, reply: reflect.TypeFor[approvals.Page](),
		},
		"GET /api/v1/requests/{id}":           {reply: request},
		"POST /api/v1/requests/{id}/decision": {body: reflect.TypeFor[approvals.DecisionPayload](), reply: request},
		"POST /api/v1/decisions":              {body: reflect.TypeFor[batchPayload](), reply: reflect.TypeFor[batchReply]()},
		"GET /api/v1/runs":                    {reply: reflect.TypeFor[listOf[approvals.Run]]()},
		"GET /api/v1/runs/{id}":               {reply: reflect.TypeFor[approvals.Run]()},
		"POST /api/v1/runs/{id}/signal":       {body: reflect.TypeFor[approvals.Signal](), reply: reflect.TypeFor[approvals.Steered]()},
		"GET /api/v1/grants": {
			query: []string{"tenant", "user", "agent", "session_id", "tool", "expired", "cursor", "limit"}, reply: reflect.TypeFor[approvals.GrantPage](),
		},
		"POST /api/v1/grants":         {body: grantBody, reply: grant},
		"POST /api/v1/grants/preview": {body: grantBody, reply: reflect.TypeFor[approvals.GrantPreview]()},
		"GET /api/v1/grants/{id}":     {reply: grant},
		"DELETE /api/v1/grants/{id}":  {reply: grant},
		"GET /api/v1/grant-templates": {reply: reflect.TypeFor[listOf[approvals.GrantTemplate]]()},
		"GET /api/v1/events":          {query: []string{"requests"}, header: []string{"Last-Event-ID"}, reply: reflect.TypeFor[approvals.Event](), media: "text/event-stream"},
		"GET /api/v1/ws": {
			query: []string{"last_event_id"}, header: []string{"Sec-WebSocket-Protocol"}, socket: &conversation{
				sends: []socketMessage{
					{live.TypeRequest, reflect.TypeFor[live.Message[live.ToldRequest]]()},
					{live.TypeUpdate, reflect.TypeFor[live.Message[live.ToldRequest]]()},
					{live.TypeReady, reflect.TypeFor[live.Message[live.Ready]]()},
					{live.TypeStatus, reflect.TypeFor[live.Message[live.AgentStatus]]()},
					{live.TypeError, reflect.TypeFor[live.Message[problem.Problem]]()},
				},
				receives: []socketMessage{
					{live.TypeResponse, reflect.TypeFor[live.Message[approvals.DecisionPayload]]()},
					{live.TypeQuery, reflect.TypeFor[live.Message[live.StatusQuery]]()},
				},
			},
		},
		"GET /api/v1/audit":               {query: []string{"since", "cursor", "limit"}, reply: reflect.TypeFor[approvals.EventPage]()},
		"GET /api/v1/delegations":         {reply: reflect.TypeFor[listOf[approvals.Delegation]]()},
		"POST /api/v1/delegations":        {body: reflect.TypeFor[delegationPayload](), reply: delegation},
		"DELETE /api/v1/delegations/{id}": {reply: delegation},
		"GET /api/v1/me":                  {reply: self},
		"GET /api/v1/push":                {reply: reflect.TypeFor[pushReply]()},
		"POST /api/v1/push":               {body: reflect.TypeFor[subscriptionPayload](), reply: reflect.TypeFor[pushBrowser]()},
		"DELETE /api/v1/push/{id}":        {},
		"GET /api/v1/session":             {reply: reflect.TypeFor[signInMethods]()},
		"POST /api/v1/session":            {body: reflect.TypeFor[signInPayload](), reply: self},
		"DELETE /api/v1/session":          {},
		"POST /api/v1/session/oidc":       {reply: reflect.TypeFor[oidc.Begun]()},
		"POST /api/v1/session/oidc/code":  {body: reflect.TypeFor[oidc.Returned](), reply: self},
		"GET /openapi.json":               {reply: reflect.TypeFor[object]()},
		"GET /reference":                  {reply: reflect.TypeFor[string](), media: "text/html"},
		"GET /metrics":                    {reply: reflect.TypeFor[string](), media: "text/plain"},
		"GET /healthz":                    {reply: reflect.TypeFor[healthReply]()},
		"GET /readyz":                     {reply: reflect.TypeFor[readinessReply]()},
	}
}
