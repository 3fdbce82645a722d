package judge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/heldcall/heldcall/intercept/wrapped"
	"github.com/heldcall/heldcall/internal/toolname"
)

// Origin has the properties of a call that policy reads beside the call itself.
type Origin struct {
	Principal approvals.Principal
	Session   string
	Run       string
	Tainted   bool // see [policy.Call]
	Turn      string
	Model     string
	Dialect   string
	At        time.Time // when the call is judged; zero: unknown, so that conditions on it fail
	// Offer is that of the request in whose answer the call is. Nil: the call is judged without one, so that it is
	// not known which tools are offered.
	Offer *intercept.Offer

	secrets []string // whose handles the call has
	offered bool     // without an Offer: the record of the call has the definition of its tool
}

// call returns a call as policy reads it.
func (o *Origin) call(c intercept.Call) policy.Call {
	call := policy.Call{
		Tool: c.Name, Arguments: c.Arguments, FreeText: c.FreeText, Fixed: c.ReadOnly, Ambiguous: c.Ambiguous, Secrets: o.secrets,
		Principal: o.Principal, Session: o.Session, Run: o.Run, Tainted: o.Tainted, Turn: o.Turn, Model: o.Model, Dialect: o.Dialect, Now: o.At,
		Subagent: c.Subagent,
	}
	call.Offered = o.offered
	if o.Offer != nil && c.Hosted == "" {
		switch call.Offered = slices.Contains(o.Offer.All, c.Name); {
		case call.Offered:
		case o.Offer.InToolset(c.Name):
			call.InToolset = true
		default:
			call.Unoffered, call.Near = o.Offer.Unoffered(c.Name), toolname.Near(c.Name, o.Offer.All)
		}
	}
	return call
}

// inside returns the origin of a call that was found in a wrapper. It is of a tool of the request in the parallel one;
// which tools others know is not known.
func (o *Origin) inside(kind wrapped.Kind) *Origin {
	inner := *o
	inner.offered = false
	if kind != wrapped.Parallel {
		inner.Offer = nil
	}
	return &inner
}

// unlisted is the flag of a call if only the provider knows whether its tool is offered, else "".
func (o *Origin) unlisted(c intercept.Call) string {
	if o.Offer == nil || !o.Offer.More || c.Hosted != "" || o.Offer.Has(c.Name) {
		return ""
	}
	return "The provider keeps tools of this conversation, so it is not known whether this one is offered: its name is judged as it is written."
}

// Key returns an identifier of a call. Calls of one tool with equal arguments have the same
// key, even if the texts of the arguments differ.
func Key(c intercept.Call) string {
	var nowhere Origin
	call := nowhere.call(c)
	sum := sha256.Sum256([]byte(call.Key()))
	return hex.EncodeToString(sum[:])
}

// ArgumentsValue returns the arguments of a call as a JSON value: the object where they are one
// in strict JSON that browsers and bots can read, else the text as a string.
func ArgumentsValue(c intercept.Call) json.RawMessage {
	if text := []byte(c.Arguments); !c.FreeText && strictjson.Strict(text) == nil && isObject(text) && !strictjson.Deep(text) {
		return text
	}
	return json.RawMessage(strictjson.Quote(c.Arguments))
}

// SameArguments reports whether a value is the [ArgumentsValue] of a call. It may have been
// encoded again.
func SameArguments(value json.RawMessage, c intercept.Call) bool {
	x, y := jsontext.Value(bytes.Clone(value)), jsontext.Value(bytes.Clone(ArgumentsValue(c)))
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
}

func isObject(text []byte) bool {
	for _, b := range text {
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return b == '{'
	}
	return false
}

// ArgumentsText returns the text of recorded arguments, a JSON value. A string contains
// free text, or text that is not a strict JSON object.
func ArgumentsText(value json.RawMessage) string {
	if jsontext.Value(value).Kind() != '"' {
		return string(value)
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return string(value)
	}
	return string(text)
}

// requested returns the call of a request with the arguments of the model.
func requested(r *approvals.Request) (from Origin, c intercept.Call) {
	from = Origin{
		Principal: r.Principal, Session: r.SessionID, Run: r.RunID, Tainted: r.Details.Tainted != "", Turn: r.TurnID, Model: r.Model, Dialect: r.Dialect,
	}
	from.offered = r.Tool.Description != "" || len(r.Tool.Parameters) > 0
	c = intercept.Call{
		Name: r.ToolName, Arguments: r.Details.RawArguments, FreeText: r.Details.FreeText, ReadOnly: r.Details.Fixed, Ambiguous: r.Details.Doubts,
		Subagent: r.Details.Subagent,
	}
	if c.Arguments == "" {
		c.Arguments = ArgumentsText(r.Arguments)
	}
	return from, c
}

// Approved returns the call that the approval of a request allows: that of the model, or
// with the arguments that a reviewer has set.
func Approved(r *approvals.Request) intercept.Call {
	_, c := requested(r)
	if d, ok := r.FinalDecision(); ok && d.Action == approvals.ActionModifyArgs {
		c.Arguments = ArgumentsText(d.ModifiedArgs)
	}
	return c
}

// Recorded returns the judged call of an event of the audit log and the action of its
// verdict. ok is false for an event without a verdict: one after the verdict, or one of a
// call that was denied because a person had denied it before. Handles in the call are taken
// for those of stored secrets.
func Recorded(e *approvals.Event) (from Origin, c intercept.Call, then policy.Action, ok bool) {
	switch {
	case e.Before == nil, e.Kind == approvals.KindResult, e.Rule == approvals.RuleQuestions:
		return from, c, "", false
	case e.Type == approvals.EventApprovalRequired:
		then = policy.Ask
	case e.Type == approvals.EventCallAllowed, e.Type == approvals.EventCallReleased: // released as it streamed
		then = policy.Allow
	case e.Type == approvals.EventCallDenied && e.RequestID == "" && e.Outcome == string(approvals.OutcomeDeniedByRule):
		then = policy.Deny
	default:
		return from, c, "", false
	}
	from = Origin{
		Principal: e.Principal, Session: e.SessionID, Run: e.RunID, Tainted: e.Tainted, Turn: e.TurnID, Model: e.Model, Dialect: e.Dialect, At: e.Time,
	}
	c = intercept.Call{Name: e.ToolName, Arguments: ArgumentsText(e.Before), FreeText: e.FreeText, Ambiguous: e.Doubts, Subagent: e.Subagent}
	from.secrets = policy.SecretNames(c.Arguments, c.FreeText)
	return from, c, then, true
}
