package console

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/runs"
	"github.com/heldcall/heldcall/approvals/secrets"
	"github.com/heldcall/heldcall/console/oidc"
	"github.com/heldcall/heldcall/console/passkeys"
)

// Gate is what the console needs of [gate.Gate]; tests of the console and its client script one.
type Gate interface {
	Request(ctx context.Context, id string) (approvals.Request, error)
	Requests(ctx context.Context, f approvals.Filter) (approvals.Page, error)
	Decide(ctx context.Context, d approvals.Decision) (approvals.Request, error)
	Signal(ctx context.Context, s approvals.Signal) (approvals.Steered, error)
	Runs() []approvals.Run
	RunByID(ctx context.Context, id string) (approvals.Run, error)
	Delegate(ctx context.Context, d approvals.Delegation) (approvals.Delegation, error)
	Delegation(ctx context.Context, id string) (approvals.Delegation, error)
	Delegations() []approvals.Delegation
	RevokeDelegation(ctx context.Context, id, by string) (approvals.Delegation, error)
	Subscribe(ctx context.Context, from uint64) iter.Seq2[approvals.Event, error]
	LastSeq(ctx context.Context) (uint64, error)
}

// Options is what a [Console] is made of.
type Options struct {
	Listen  string // host:port, loopback unless there are reviewers; port 0 picks a free one
	URL     string // how reviewers reach it, where that is not Listen: http or https
	Gate    Gate
	Signals *runs.Signals // by principal
	Grants  Grants
	Propose Propose // rules for the policies
	Audit   Audit
	// Differences compares the state with the audit log.
	Differences func(context.Context) ([]audit.Difference, error)
	Secrets     *secrets.Secrets
	Templates   []approvals.GrantTemplate // of grants, as the configuration has them
	Reviewers   *reviewers.Directory      // nil: every sender is the reviewer "local"
	OIDC        *oidc.Provider            // by which people sign in in a browser, besides tokens; with Reviewers and URL; nil: none
	// SelfApproval is console.self_approval: reviewers may approve requests of agents
	// that act for them. The gate decides; the console only reports it.
	SelfApproval bool
	Session      time.Duration         // how long a sign-in lasts; 0: 12 h
	Sessions     string                // file of sign-ins, which keeps them over starts; "": a restart ends them
	Push         Push                  // the channel to reviewers' browsers
	Passkeys     *passkeys.Passkeys    // with which reviewers confirm approvals
	Checks       []Check               // of readiness
	Port         *Port                 // that is open already, at Listen; nil: Start opens one
	Hooks        []Hook                // where services call
	Log          *slog.Logger          // nil: discards
	Registerer   prometheus.Registerer // nil: the console's own metrics are not exported
	Gatherer     prometheus.Gatherer   // nil: /metrics is empty
	Heartbeat    time.Duration         // between comments of an idle event stream; 0: 15 s
}

// Check is one named condition of readiness. It answers before the context
// ends.
type Check struct {
	Name  string
	Check func(context.Context) error
	// Advisory reports that calls are held and released while it fails: the answer names it and
	// is 200.
	Advisory bool
}

// Hook is the handler of calls from the service of a channel. It authenticates the
// caller, as by a signature: the console asks neither for a token nor for JSON.
type Hook struct {
	Path    string // below /hooks/, such as /hooks/slack
	Handler http.Handler
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = defaultHeartbeat
	}
	if o.Gatherer == nil {
		o.Gatherer = prometheus.NewRegistry()
	}
	return o
}
