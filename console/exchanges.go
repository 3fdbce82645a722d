package console

import (
	"reflect"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/oidc"
	"github.com/heldcall/heldcall/console/openapi"
	"github.com/heldcall/heldcall/console/passkeys"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/schema"
)

type listOf[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor"`
}

type batchPayload struct {
	Decisions []approvals.DecisionPayload `json:"decisions"`
}

type batchReply struct {
	Items []outcome `json:"items"`
}

type readinessReply struct {
	Checks []problem.Check `json:"checks"`
	Status string          `json:"status"`
}

type healthReply struct {
	Status string `json:"status"`
}

func exchanges() map[string]openapi.Exchange {
	var (
		request    = reflect.TypeFor[approvals.Request]()
		grant      = reflect.TypeFor[approvals.Grant]()
		grantBody  = reflect.TypeFor[approvals.GrantPayload]()
		delegation = reflect.TypeFor[approvals.Delegation]()
		self       = reflect.TypeFor[me]()
	)
	return map[string]openapi.Exchange{
		"GET /api/v1/requests": {
			Query: []string{"status", "kind", "session_id", "run_id", "risk", "q", "cursor", "limit"}, Reply: reflect.TypeFor[approvals.Page](),
		},
		"GET /api/v1/requests/{id}":             {Reply: request},
		"GET /api/v1/requests/{id}/suggestions": {Reply: reflect.TypeFor[listOf[approvals.Suggestion]]()},
		"POST /api/v1/requests/{id}/decision":   {Body: reflect.TypeFor[approvals.DecisionPayload](), Reply: request},
		"POST /api/v1/requests/{id}/challenge":  {Body: reflect.TypeFor[approvals.DecisionPayload](), Reply: reflect.TypeFor[passkeys.BrowserOptions]()},
		"POST /api/v1/decisions":                {Body: reflect.TypeFor[batchPayload](), Reply: reflect.TypeFor[batchReply]()},
		"GET /api/v1/runs":                      {Reply: reflect.TypeFor[listOf[approvals.Run]]()},
		"GET /api/v1/runs/{id}":                 {Reply: reflect.TypeFor[approvals.Run]()},
		"POST /api/v1/runs/{id}/signal":         {Body: reflect.TypeFor[approvals.Signal](), Reply: reflect.TypeFor[approvals.Steered]()},
		"GET /api/v1/signals":                   {Reply: reflect.TypeFor[listOf[approvals.PrincipalSignal]]()},
		"POST /api/v1/signals":                  {Body: reflect.TypeFor[approvals.PrincipalSignalPayload](), Reply: reflect.TypeFor[approvals.PrincipalSignal]()},
		"GET /api/v1/grants": {
			Query: []string{"tenant", "user", "agent", "session_id", "tool", "expired", "cursor", "limit"}, Reply: reflect.TypeFor[approvals.GrantPage](),
		},
		"POST /api/v1/grants":         {Body: grantBody, Reply: grant},
		"POST /api/v1/grants/preview": {Body: grantBody, Reply: reflect.TypeFor[approvals.GrantPreview]()},
		"GET /api/v1/grants/{id}":     {Reply: grant},
		"DELETE /api/v1/grants/{id}":  {Reply: grant},
		"GET /api/v1/grant-templates": {Reply: reflect.TypeFor[listOf[approvals.GrantTemplate]]()},
		"GET /api/v1/policy/proposals": {
			Query: []string{"since", "approved", "sessions"}, Reply: reflect.TypeFor[approvals.Proposals](),
		},
		"GET /api/v1/secrets":    {Reply: reflect.TypeFor[listOf[approvals.Secret]]()},
		"POST /api/v1/secrets":   {Body: reflect.TypeFor[approvals.SecretPayload](), Reply: reflect.TypeFor[approvals.Secret]()},
		"DELETE /api/v1/secrets": {Query: []string{"name", "tenant", "user", "agent", "session_id"}, Reply: reflect.TypeFor[approvals.Secret]()},
		"GET /api/v1/events":     {Query: []string{"requests"}, Header: []string{"Last-Event-ID"}, Reply: reflect.TypeFor[approvals.Event](), Media: "text/event-stream"},
		"GET /api/v1/ws": {
			Query: []string{"last_event_id"}, Header: []string{"Sec-WebSocket-Protocol"}, Socket: &openapi.Conversation{
				Sends: []openapi.Message{
					{Name: live.TypeRequest, Is: reflect.TypeFor[live.Message[live.RequestData]]()},
					{Name: live.TypeUpdate, Is: reflect.TypeFor[live.Message[live.RequestData]]()},
					{Name: live.TypeReady, Is: reflect.TypeFor[live.Message[live.Ready]]()},
					{Name: live.TypeStatus, Is: reflect.TypeFor[live.Message[live.AgentStatus]]()},
					{Name: live.TypeError, Is: reflect.TypeFor[live.Message[problem.Problem]]()},
				},
				Receives: []openapi.Message{
					{Name: live.TypeResponse, Is: reflect.TypeFor[live.Message[approvals.DecisionPayload]]()},
					{Name: live.TypeQuery, Is: reflect.TypeFor[live.Message[live.StatusQuery]]()},
				},
			},
		},
		"GET /api/v1/audit":                 {Query: []string{"since", "cursor", "limit"}, Reply: reflect.TypeFor[approvals.EventPage]()},
		"GET /api/v1/delegations":           {Reply: reflect.TypeFor[listOf[approvals.Delegation]]()},
		"POST /api/v1/delegations":          {Body: reflect.TypeFor[delegationPayload](), Reply: delegation},
		"DELETE /api/v1/delegations/{id}":   {Reply: delegation},
		"GET /api/v1/me":                    {Reply: self},
		"GET /api/v1/push":                  {Reply: reflect.TypeFor[pushReply]()},
		"POST /api/v1/push":                 {Body: reflect.TypeFor[subscriptionPayload](), Reply: reflect.TypeFor[pushBrowser]()},
		"DELETE /api/v1/push/{id}":          {},
		"GET /api/v1/passkeys":              {Reply: reflect.TypeFor[passkeys.Listed]()},
		"POST /api/v1/passkeys":             {Body: reflect.TypeFor[passkeys.Registration](), Reply: reflect.TypeFor[passkeys.Item]()},
		"POST /api/v1/passkeys/options":     {Body: reflect.TypeFor[passkeys.Named](), Reply: reflect.TypeFor[passkeys.BrowserOptions]()},
		"POST /api/v1/passkeys/challenge":   {Body: reflect.TypeFor[passkeys.Change](), Reply: reflect.TypeFor[passkeys.BrowserOptions]()},
		"POST /api/v1/passkeys/{id}/revoke": {Body: reflect.TypeFor[passkeys.Revocation]()},
		"GET /api/v1/session":               {Reply: reflect.TypeFor[signInMethods]()},
		"POST /api/v1/session":              {Body: reflect.TypeFor[signInPayload](), Reply: self},
		"DELETE /api/v1/session":            {},
		"POST /api/v1/session/oidc":         {Reply: reflect.TypeFor[oidc.Begun]()},
		"POST /api/v1/session/oidc/code":    {Body: reflect.TypeFor[oidc.Returned](), Reply: self},
		"GET /openapi.json":                 {Reply: reflect.TypeFor[schema.Object]()},
		"GET /reference":                    {Reply: reflect.TypeFor[string](), Media: "text/html"},
		"GET /metrics":                      {Reply: reflect.TypeFor[string](), Media: "text/plain"},
		"GET /healthz":                      {Reply: reflect.TypeFor[healthReply]()},
		"GET /readyz":                       {Reply: reflect.TypeFor[readinessReply]()},
	}
}
