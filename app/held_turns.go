package app

import (
	"context"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/proxy"
)

// heldTurns is the keeper of held turns for the proxy.
type heldTurns struct{ *heldturns.Keeper }

func (h heldTurns) Keep(ctx context.Context, t approvals.HeldTurn, snapshot []byte) (proxy.Attachment, error) {
	a, err := h.Keeper.Keep(ctx, t, snapshot)
	if err != nil {
		return nil, err
	}
	return a, nil
}

func (h heldTurns) Claim(ctx context.Context, c heldturns.Candidate) (proxy.Attachment, []byte, error) {
	a, snapshot, err := h.Keeper.Claim(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	return a, snapshot, nil
}
