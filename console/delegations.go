package console

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/problem"
)

// listDelegations answers the delegations in force, the latest first.
func (c *Console) listDelegations(w http.ResponseWriter, r *http.Request) error {
	if r.URL.RawQuery != "" {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, "this list takes no filter; remove the query")
	}
	return answer(w, listOf[approvals.Delegation]{Items: c.gate.Delegations()})
}

// delegationPayload is a delegation as reviewers write it.
type delegationPayload struct {
	From  string    `json:"from"` // the sender, if it is empty
	To    string    `json:"to"`
	Until time.Time `json:"until"`
	Note  string    `json:"note"`
}

// delegate lets another reviewer decide in the sender's place. An admin may do so
// for others.
func (c *Console) delegate(w http.ResponseWriter, r *http.Request) error {
	who := reviewerOf(r)
	if c.reviewers == nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, "there are no reviewers to delegate to; configure console.reviewers")
	}
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	var given delegationPayload
	if err := json.Unmarshal(body, &given, json.RejectUnknownMembers(true)); err != nil {
		return &approvals.InvalidError{Field: "delegation", Reason: err.Error()}
	}
	d := approvals.Delegation{From: cmp.Or(given.From, who.Name), To: given.To, Until: given.Until, Note: given.Note, CreatedBy: who.Name, CreatorUser: who.User}
	if err := mayChange(who, &d); err != nil {
		return err
	}
	if to, known := c.reviewers.ByName(d.To); known && !to.Role.Includes(reviewers.RoleReviewer) {
		return &approvals.InvalidError{Field: "to", Reason: fmt.Sprintf("%s has the role %s, which decides nothing", to.Name, to.Role)}
	}
	if d, err = c.gate.Delegate(r.Context(), d); err != nil {
		return fmt.Errorf("delegate: %w", err)
	}
	return answer(w, d)
}

// revokeDelegation ends the delegation in the path.
func (c *Console) revokeDelegation(w http.ResponseWriter, r *http.Request) error {
	id, who := r.PathValue("id"), reviewerOf(r)
	if !plausibleID(id) {
		return approvals.ErrUnknownDelegation
	}
	d, err := c.gate.Delegation(r.Context(), id)
	if err != nil {
		return fmt.Errorf("read delegation %s: %w", id, err)
	}
	if err := mayChange(who, &d); err != nil {
		return err
	}
	if d, err = c.gate.RevokeDelegation(r.Context(), id, who.Name); err != nil {
		return fmt.Errorf("revoke delegation %s: %w", id, err)
	}
	return answer(w, d)
}

// mayChange keeps what a reviewer hands on to that reviewer and to admins.
func mayChange(who identity, d *approvals.Delegation) error {
	if who.Name == d.From || who.Role.Includes(reviewers.RoleAdmin) {
		return nil
	}
	return &approvals.ForbiddenError{Reviewer: who.Name, Reason: d.From + " delegates for themselves, or an admin does"}
}
