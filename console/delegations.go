package console

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/problem"
)

type delegationHandlers struct {
	gate      scopedGate
	reviewers *reviewers.Directory // nil without any
}

func (h delegationHandlers) list(w http.ResponseWriter, r *http.Request) error {
	return answerAll(w, r, h.gate.Delegations(r.Context()))
}

// delegationPayload is a delegation as reviewers write it.
type delegationPayload struct {
	From  string    `json:"from"` // the sender, if it is empty
	To    string    `json:"to"`
	Until time.Time `json:"until"`
	Note  string    `json:"note"`
}

// add lets another reviewer decide in the sender's place. An admin may do so
// for others.
func (h delegationHandlers) add(w http.ResponseWriter, r *http.Request) error {
	who := reviewerOf(r)
	if h.reviewers == nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, "there are no reviewers to delegate to; configure console.reviewers")
	}
	given, err := readJSON[delegationPayload](w, r, "delegation", "")
	if err != nil {
		return err
	}
	d := approvals.Delegation{From: cmp.Or(given.From, who.Name), To: given.To, Until: given.Until, Note: given.Note, CreatedBy: who.Name, CreatorUser: who.User}
	if err := mayChange(who, &d); err != nil {
		return err
	}
	if to, known := h.reviewers.ByName(d.To); known && !to.Role.Includes(reviewers.RoleReviewer) {
		return &approvals.InvalidError{Field: "to", Reason: fmt.Sprintf("%s has the role %s, which decides nothing", to.Name, to.Role)}
	}
	if d, err = h.gate.Delegate(r.Context(), d); err != nil {
		return fmt.Errorf("delegate: %w", err)
	}
	return answer(w, d)
}

func (h delegationHandlers) revoke(w http.ResponseWriter, r *http.Request) error {
	id, who := r.PathValue("id"), reviewerOf(r)
	if !plausibleID(id) {
		return approvals.ErrUnknownDelegation
	}
	d, err := h.gate.Delegation(r.Context(), id)
	if err != nil {
		return fmt.Errorf("read delegation %s: %w", id, err)
	}
	if err := mayChange(who, &d); err != nil {
		return err
	}
	if d, err = h.gate.RevokeDelegation(r.Context(), id, who.Name); err != nil {
		return fmt.Errorf("revoke delegation %s: %w", id, err)
	}
	return answer(w, d)
}

// mayChange refuses a change of the delegations of others, except by admins.
func mayChange(who identity, d *approvals.Delegation) error {
	if who.Name == d.From || who.Role.Includes(reviewers.RoleAdmin) {
		return nil
	}
	return &approvals.ForbiddenError{Reviewer: who.Name, Reason: d.From + " delegates for themselves, or an admin does"}
}
