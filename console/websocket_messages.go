package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/problem"
)

// maxMessageID bounds a client's name for a message.
const maxMessageID = 128

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
		logProblem(s.live.log, p, err, "message", message.Type)
		return problemMessage(message.ID, abridged(p))
	}
	return reply
}

// because is the reason why a message cannot be read, "" if it is only not such an
// object.
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
	if err := s.who.Over(); err != nil {
		return nil, problem.New(http.StatusUnauthorized, problem.CodeUnauthenticated, err.Error())
	}
	switch message.Type {
	case live.TypeResponse:
		if !s.who.Role.Includes(reviewers.RoleReviewer) {
			return nil, lacksRole(s.who, reviewers.RoleReviewer)
		}
		request, err := s.live.requests.take(ctx, s.who, channelSocket, "", message.Data)
		return live.Message[live.RequestData]{Type: live.TypeUpdate, ID: message.ID, Data: live.NewRequestData(request)}, err
	case live.TypeQuery:
		var query live.StatusQuery
		if len(message.Data) > 0 {
			if err := json.Unmarshal(message.Data, &query, json.RejectUnknownMembers(true)); err != nil {
				return nil, &approvals.InvalidError{Field: "data", Reason: `is not {"session_id": "...", "run_id": "..."}; both may be left out`}
			}
		}
		if err := s.statuses.Wait(ctx); err != nil {
			return nil, fmt.Errorf("wait for the limit of status queries: %w", err)
		}
		status, err := s.live.status(ctx, query)
		return live.Message[live.AgentStatus]{Type: live.TypeStatus, ID: message.ID, Data: status}, err
	}
	return nil, problem.New(http.StatusBadRequest, problem.CodeBadRequest,
		fmt.Sprintf("type: %q is not known; send %s or %s", message.Type, live.TypeResponse, live.TypeQuery))
}

func problemMessage(id string, p *problem.Problem) live.Message[*problem.Problem] {
	return live.Message[*problem.Problem]{Type: live.TypeError, ID: id, Data: p}
}
