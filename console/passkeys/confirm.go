package passkeys

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// approval is the subject of an approval: all that it lets happen. The request does not change
// while it is pending, except for who may decide it.
type approval struct {
	Request      string
	Arguments    [sha256.Size]byte // as reviewers see them
	Action       approvals.Action
	ModifiedArgs json.RawMessage
	Note         string // the model reads it with modified arguments
	Window       string
	Patterns     []string
	Scope        approvals.GrantScope
	GrantEnd     *time.Time
	Template     string
}

func approvalOf(r *approvals.Request, d *approvals.Decision) (subject, error) {
	return newSubject(d.ReviewerID, "decide", approval{
		Request: r.ID, Arguments: sha256.Sum256(r.Arguments), Action: d.Action, ModifiedArgs: d.ModifiedArgs, Note: d.Note,
		Window: d.Window, Patterns: d.Patterns, Scope: d.Scope, GrantEnd: d.GrantExpiresAt, Template: d.Template,
	})
}

// ChallengeToApprove returns what a browser needs to have a passkey of the reviewer confirm an
// approval.
func (p *Passkeys) ChallengeToApprove(ctx context.Context, r *approvals.Request, d *approvals.Decision) (BrowserOptions, error) {
	if !d.Action.Approves() {
		return BrowserOptions{}, approvals.Invalid("action", "%s needs no passkey", d.Action)
	}
	s, err := approvalOf(r, d)
	if err != nil {
		return BrowserOptions{}, err
	}
	return p.request(ctx, s)
}

// Prove returns the id of the passkey that has confirmed a decision, "" if the request asks for
// none or the decision does not approve it. An approval without a valid assertion is refused
// with an [*approvals.InvalidError].
func (p *Passkeys) Prove(ctx context.Context, r *approvals.Request, d *approvals.Decision) (string, error) {
	if !r.Details.Passkey || !d.Action.Approves() {
		return "", nil
	}
	if len(d.Assertion) == 0 {
		origin, refusal := p.Origin()
		if refusal != nil {
			return "", approvals.Invalid(field, "an approval of this request needs a passkey, which cannot be used here: %s; it can be denied", refusal)
		}
		return "", approvals.Invalid(field, "an approval of this request needs your passkey: approve it in the inbox, %s/#/requests/%s", origin, r.ID)
	}
	s, err := approvalOf(r, d)
	if err != nil {
		return "", err
	}
	return p.verify(ctx, d.Assertion, s, nil)
}
