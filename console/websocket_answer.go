package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/problem"
)

// maxMessageID bounds a client's name for a message.
const maxMessageID = 128

// answer does what a message asks for and returns the message that answers it.
func (s *socket) answer(ctx context.Context, text []byte) any {
	var message live.Message[jsontext.Value]
	if err := json.Unmarshal(text, &message, json.RejectUnknownMembers(true)); err != nil {
		return problemMessage("", problem.New(http.StatusBadRequest, problem.CodeBadRequest, `the message is not strict JSON of {"type": "...", "id": "...", "data": {...}}`+because(err)))
	}
	if len(message.ID) > maxMessageID {
		return problemMessage("", problem.New(http.StatusBadRequest, problem.CodeBadRequest, fmt.Sprintf("id: is longer than %d bytes", maxMessageID)))
	}
	reply, err := s.do(ctx, message)
	if err != nil {
		p := problemOf(http.MethodPost, err)
		s.console.logProblem(p, err, "message", message.Type)
		return problemMessage(message.ID, abridged(p))
	}
	return reply
}

// because is what is wrong with a message, where there is more to say than that it is
// no such object.
func because(err error) string {
	var semantic *json.SemanticError
	switch {
	case !errors.As(err, &semantic):
		return ": " + err.Error()
	case errors.Is(err, json.ErrUnknownName):
		return fmt.Sprintf(": it takes no %q", semantic.JSONPointer.LastToken())
	}
	return ""
}

func (s *socket) do(ctx context.Context, message live.Message[jsontext.Value]) (any, error) {
	switch message.Type {
	case live.TypeResponse:
		if !s.who.Role.Includes(reviewers.RoleReviewer) {
			return nil, lacksRole(s.who, reviewers.RoleReviewer)
		}
		request, err := s.console.take(ctx, s.who, channelSocket, "", message.Data)
		return live.Message[live.ToldRequest]{Type: live.TypeUpdate, ID: message.ID, Data: live.Told(request)}, err
	case live.TypeQuery:
		var query live.StatusQuery
		if len(message.Data) > 0 {
			if err := json.Unmarshal(message.Data, &query, json.RejectUnknownMembers(true)); err != nil {
				return nil, &approvals.InvalidError{Field: "data", Reason: `is not {"session_id": "...", "run_id": "..."}, both of which may be left out`}
			}
		}
		if err := s.statuses.Wait(ctx); err != nil {
			return nil, fmt.Errorf("wait to look where agents stand: %w", err)
		}
		status, err := s.console.status(ctx, query)
		return live.Message[live.AgentStatus]{Type: live.TypeStatus, ID: message.ID, Data: status}, err
	}
	return nil, problem.New(http.StatusBadRequest, problem.CodeBadRequest,
		fmt.Sprintf("type: %q is not known; send %s or %s", message.Type, live.TypeResponse, live.TypeQuery))
}

func problemMessage(id string, p *problem.Problem) live.Message[*problem.Problem] {
	return live.Message[*problem.Problem]{Type: live.TypeError, ID: id, Data: p}
}

// status is where the agents stand that a query is about.
func (c *Console) status(ctx context.Context, query live.StatusQuery) (live.AgentStatus, error) {
	runs := map[[2]string]*live.RunStatus{} // by session and run
	at := func(session, run string, who approvals.Principal) *live.RunStatus {
		key := [2]string{session, run}
		if runs[key] == nil {
			runs[key] = &live.RunStatus{RunID: run, State: approvals.RunRunning, Principal: who, Waiting: []live.WaitingCall{}}
		}
		return runs[key]
	}
	filter := approvals.Filter{Status: approvals.StatusPending, SessionID: query.SessionID, RunID: query.RunID, Limit: maxLimit}
	for {
		page, err := c.gate.Requests(ctx, filter)
		if err == nil && len(page.Items) == 0 {
			err = c.storeAnswers(ctx)
		}
		if err != nil {
			return live.AgentStatus{}, fmt.Errorf("list requests: %w", err)
		}
		for _, r := range page.Items {
			run := at(r.SessionID, r.RunID, r.Principal)
			run.Waiting = append(run.Waiting, live.WaitingCall{
				RequestID: r.ID, ExecutionID: r.ID, Kind: r.Kind, ToolName: r.ToolName, RiskLevel: r.RiskLevel, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
			})
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			break
		}
	}
	c.addSteered(query, runs, at)
	return bySession(runs), nil
}

// addSteered notes what people have done to runs: a run is known to them by its id
// alone, so one whose session is not recorded is found by that.
func (c *Console) addSteered(query live.StatusQuery, runs map[[2]string]*live.RunStatus, at func(session, run string, who approvals.Principal) *live.RunStatus) {
	for _, steered := range c.gate.Runs() {
		if query.RunID != "" && query.RunID != steered.ID {
			continue
		}
		found := false
		for key, run := range runs {
			if key[1] == steered.ID {
				run.State, run.ReviewerID, found = steered.State, steered.ReviewerID, true
			}
		}
		if !found && (query.SessionID == "" || query.SessionID == steered.SessionID) {
			run := at(steered.SessionID, steered.ID, steered.Principal)
			run.State, run.ReviewerID = steered.State, steered.ReviewerID
		}
	}
}

// bySession puts runs in order: sessions by id, runs by id, what waits by age.
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
