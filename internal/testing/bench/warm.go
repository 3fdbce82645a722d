package main

import (
	"context"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// deniedSessions are the first conversation of those whose calls the warm-up denies. Those whose calls it approves are the first ones of
// each workload: some of the measured requests belong to conversations that had calls.
const deniedSessions = 900_000

// warmUp lets calls be held, approved and denied in several conversations of each dialect: what a process does for all requests once it
// has had a call belongs to each figure.
func (h *hop) warmUp() error {
	for _, d := range gated {
		for session := range int64(2) {
			if err := h.decided(d, session, approvals.ActionApprove); err != nil {
				return fmt.Errorf("warm-up of %s, %s: %w", h.name, d.name, err)
			}
			if err := h.decided(d, deniedSessions+session, approvals.ActionDeny); err != nil {
				return fmt.Errorf("warm-up of %s, %s: %w", h.name, d.name, err)
			}
		}
	}
	return nil
}

// decided holds a call of a conversation, decides it, and reads the answer to its end. The prompt has no calls before it, so that no
// other conversation is taken for a continuation of a denied one.
func (h *hop) decided(d *dialect, session int64, action approvals.Action) error {
	a, err := dial(h.addr, 4096)
	if err != nil {
		return err
	}
	defer a.close()
	a.seed = seeds.Add(1)
	if err := a.begin(newPrompt(d, shapeAsked, d.held, promptForm{}, session).render(a.seed)); err != nil {
		return err
	}
	if err := a.await(textEnded(d)); err != nil {
		return err
	}
	ids, err := h.requestIDs([]*agent{a}, 30*time.Second)
	if err != nil {
		return err
	}
	_, err = h.console.Decide(context.Background(), approvals.Decision{RequestID: ids[a.seed], Action: action})
	if err != nil {
		return fmt.Errorf("%s request %s: %w", action, ids[a.seed], err)
	}
	return a.finish()
}
