package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/live"
)

func (h *liveHandlers) status(ctx context.Context, asked live.StatusQuery) (live.AgentStatus, error) {
	runs := map[[2]string]*live.RunStatus{} // by session and run
	runOf := func(session, run string, who approvals.Principal) *live.RunStatus {
		key := [2]string{session, run}
		if runs[key] == nil {
			runs[key] = &live.RunStatus{RunID: run, State: approvals.RunRunning, Principal: who, Waiting: []live.WaitingCall{}}
		}
		return runs[key]
	}
	filter := approvals.Filter{Status: approvals.StatusPending, SessionID: asked.SessionID, RunID: asked.RunID, Limit: maxPage}
	for {
		page, err := h.requests.gate.Requests(ctx, filter)
		if err == nil && len(page.Items) == 0 {
			err = h.requests.storeAnswers(ctx)
		}
		if err != nil {
			return live.AgentStatus{}, fmt.Errorf("list requests: %w", err)
		}
		for _, r := range page.Items {
			run := runOf(r.SessionID, r.RunID, r.Principal)
			run.Waiting = append(run.Waiting, live.WaitingCall{
				RequestID: r.ID, ExecutionID: r.ID, Kind: r.Kind, ToolName: r.ToolName, RiskLevel: r.RiskLevel, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
			})
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			break
		}
	}
	h.addSteered(ctx, asked, runs, runOf)
	return bySession(runs), nil
}

// addSteered adds the signals of runs that have not ended. A signal may name a run by its id alone, so a
// run whose session is not recorded is found by that.
func (h *liveHandlers) addSteered(ctx context.Context, asked live.StatusQuery, runs map[[2]string]*live.RunStatus, runOf func(session, run string, who approvals.Principal) *live.RunStatus) {
	for _, steered := range h.gate.Runs(ctx) {
		if (asked.RunID != "" && asked.RunID != steered.ID) || (steered.ReviewerID == "" && !steered.State.Stopped()) || steered.State == approvals.RunEnded {
			continue
		}
		waiting := false
		for key, run := range runs {
			if key[1] == steered.ID {
				run.State, run.ReviewerID, waiting = steered.State, steered.ReviewerID, true
			}
		}
		if !waiting && (asked.SessionID == "" || asked.SessionID == steered.SessionID) {
			run := runOf(steered.SessionID, steered.ID, steered.Principal)
			run.State, run.ReviewerID = steered.State, steered.ReviewerID
		}
	}
}

// bySession sorts sessions and runs by id, and calls by age.
func bySession(runs map[[2]string]*live.RunStatus) live.AgentStatus {
	sessions := map[string][]live.RunStatus{}
	for key, run := range runs {
		slices.Reverse(run.Waiting) // lists are newest first
		sessions[key[0]] = append(sessions[key[0]], *run)
	}
	status := live.AgentStatus{Sessions: []live.SessionStatus{}}
	for id, all := range sessions {
		slices.SortFunc(all, func(a, b live.RunStatus) int { return cmp.Compare(a.RunID, b.RunID) })
		status.Sessions = append(status.Sessions, live.SessionStatus{SessionID: id, Runs: all})
	}
	slices.SortFunc(status.Sessions, func(a, b live.SessionStatus) int { return cmp.Compare(a.SessionID, b.SessionID) })
	return status
}
