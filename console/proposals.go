package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
)

// proposalsSince is the age of the oldest decisions that proposals are made from.
const proposalsSince = 7 * 24 * time.Hour

// Propose returns the rules for the policies that decisions suggest.
type Propose func(context.Context, approvals.ProposalQuery) (approvals.Proposals, error)

type proposalHandlers struct{ propose Propose }

func (h proposalHandlers) list(w http.ResponseWriter, r *http.Request) error {
	q, err := parseProposalQuery(r.URL.RawQuery)
	if err != nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, err.Error())
	}
	found, err := h.propose(r.Context(), q)
	if err != nil {
		return fmt.Errorf("propose rules: %w", err)
	}
	return answer(w, found)
}

func parseProposalQuery(raw string) (approvals.ProposalQuery, error) {
	q := approvals.ProposalQuery{Since: time.Now().Add(-proposalsSince)}
	err := readQuery(raw, "filter", []parameter{
		queryValue("since", &q.Since, parseTime),
		queryValue("approved", &q.Approved, parseCount),
		queryValue("sessions", &q.Sessions, parseCount),
	})
	return q, err
}

func parseCount(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is not a number above 0", value)
	}
	return n, nil
}
