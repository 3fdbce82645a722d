package nats

import (
	"context"
	"reflect"
	"regexp"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// ServiceName is the name under which $SRV finds heldcall.
const ServiceName = "heldcall"

// QueueGroup is that of all replicas: each message is handled once.
const QueueGroup = "heldcall"

// Endpoint is a subject that heldcall answers, with the types of its payload and reply. A
// message that is refused is answered with a [Failure].
type Endpoint struct {
	Name    string         // such as requests.list
	About   string         // what it does, in a few words
	Subject string         // with {name} for each token that differs
	Role    reviewers.Role // that the reviewer in the subject must have; "": there is none in it
	Micro   bool           // it is an endpoint of the micro service, and a payload with unknown fields is refused
	Takes   reflect.Type   // the payload; nil: there is none
	Gives   reflect.Type   // the reply
}

type endpoint struct {
	Endpoint
	answer func(*handlers, context.Context, message) (any, error)
}

func endpoints() []endpoint {
	return append(questions(), []endpoint{
		{Endpoint{
			Name: "decide", About: "Decide a request. The reply is the request after the decision.", Subject: "heldcall.v1.decide.{reviewer}.{id}",
			Role: reviewers.RoleReviewer, Takes: reflect.TypeFor[approvals.DecisionPayload](), Gives: reflect.TypeFor[approvals.Request](),
		}, (*handlers).decide},
		{Endpoint{
			Name: "signal", About: "Pause, resume or abort a run. The reply is the run, and whether any of its requests is recorded.", Subject: "heldcall.v1.signal.{reviewer}.{run}",
			Role: reviewers.RoleAdmin, Takes: reflect.TypeFor[signal](), Gives: reflect.TypeFor[approvals.Steered](),
		}, (*handlers).signal},
		{Endpoint{
			Name: "signals", About: "Pause, resume or abort all runs of an agent, a user or a tenant, present and future. The reply is the signal.", Subject: "heldcall.v1.signals.{reviewer}",
			Role: reviewers.RoleAdmin, Micro: true, Takes: reflect.TypeFor[approvals.PrincipalSignalPayload](), Gives: reflect.TypeFor[approvals.PrincipalSignal](),
		}, (*handlers).signalPrincipal},
		{Endpoint{
			Name: "grants.add", About: "Create a grant. The reply is the grant.", Subject: "heldcall.v1.grants.{reviewer}.add",
			Role: reviewers.RoleAdmin, Micro: true, Takes: reflect.TypeFor[approvals.GrantPayload](), Gives: reflect.TypeFor[approvals.Grant](),
		}, (*handlers).addGrant},
		{Endpoint{
			Name: "grants.revoke", About: "Revoke a grant. The reply is the grant before that.", Subject: "heldcall.v1.grants.{reviewer}.revoke",
			Role: reviewers.RoleAdmin, Micro: true, Takes: reflect.TypeFor[byID](), Gives: reflect.TypeFor[approvals.Grant](),
		}, byIDOf((*handlers).revokeGrant)},
	}...)
}

// questions are the endpoints that every client may ask.
func questions() []endpoint {
	question := func(name, about string, takes, gives reflect.Type, answer func(*handlers, context.Context, message) (any, error)) endpoint {
		return endpoint{Endpoint{Name: name, About: about, Subject: "heldcall.v1.svc." + name, Micro: true, Takes: takes, Gives: gives}, answer}
	}
	id := reflect.TypeFor[byID]()
	return []endpoint{
		question("requests.list", "Requests, newest first.", reflect.TypeFor[requestQuery](), reflect.TypeFor[approvals.Page](), (*handlers).listRequests),
		question("requests.get", "One request.", id, reflect.TypeFor[approvals.Request](), byIDOf(func(h *handlers, ctx context.Context, _ message, id string) (approvals.Request, error) {
			return h.gate.Request(ctx, id)
		})),
		question("runs.list", "The runs that had a call or a signal, the most recently active first, as many as fit into the reply.", nil, reflect.TypeFor[runList](), (*handlers).listRuns),
		question("runs.get", "One run.", id, reflect.TypeFor[approvals.Run](), byIDOf(func(h *handlers, ctx context.Context, _ message, id string) (approvals.Run, error) {
			return h.gate.RunByID(ctx, id)
		})),
		question("signals.list", "The signals by principal that are in force.", nil, reflect.TypeFor[signalList](), (*handlers).listSignals),
		question("grants.list", "Grants, newest first.", reflect.TypeFor[grantQuery](), reflect.TypeFor[approvals.GrantPage](), (*handlers).listGrants),
		question("grants.get", "One grant.", id, reflect.TypeFor[approvals.Grant](), byIDOf(func(h *handlers, _ context.Context, _ message, id string) (approvals.Grant, error) {
			return h.grants.Grant(id)
		})),
		question("grants.preview", "The recent calls that a grant would have decided.", reflect.TypeFor[approvals.GrantPayload](), reflect.TypeFor[approvals.GrantPreview](), (*handlers).previewGrant),
	}
}

// Endpoints are all subjects that heldcall answers.
func Endpoints() []Endpoint {
	var all []Endpoint
	for _, e := range endpoints() {
		all = append(all, e.Endpoint)
	}
	return all
}

var parameter = regexp.MustCompile(`\{\w+\}`)

// wildcard is the subject as a client of NATS subscribes to it.
func (e Endpoint) wildcard() string { return parameter.ReplaceAllString(e.Subject, "*") }

func (e Endpoint) microName() string { return strings.ReplaceAll(e.Name, ".", "-") }

// maxQueued is how many bytes of messages may wait: of decisions, which may have arguments, and of each other kind.
func (e endpoint) maxQueued() int {
	if e.Name == "decide" {
		return maxQueuedDecisions
	}
	return maxQueued
}

// maxQueuedCount is how many of its messages may wait. Lists take long.
func (e endpoint) maxQueuedCount() int {
	if strings.HasSuffix(e.Name, ".list") {
		return maxQueuedLists
	}
	return maxQueuedCount
}

func (h *handlers) handle(ctx context.Context, e endpoint, subject string, payload []byte) (any, error) {
	m := message{payload: payload}
	if e.Role != "" {
		var err error
		if m.reviewer, m.id, err = h.target(subject, e.Role); err != nil {
			return nil, err
		}
	}
	return e.answer(h, ctx, m)
}
