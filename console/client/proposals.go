package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Proposals returns the rules that decisions suggest for the policies of the heldcall of a console. A
// zero q.Since is 7 days ago.
func (c *Client) Proposals(ctx context.Context, q approvals.ProposalQuery) (approvals.Proposals, error) {
	fields := map[string]string{}
	if !q.Since.IsZero() {
		fields["since"] = q.Since.UTC().Format(time.RFC3339Nano)
	}
	for name, n := range map[string]int{"approved": q.Approved, "sessions": q.Sessions} {
		if n != 0 {
			fields[name] = strconv.Itoa(n)
		}
	}
	return call[approvals.Proposals](ctx, c, http.MethodGet, "/api/v1/policy/proposals?"+queryOf(0, fields), nil)
}
