package console

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/passkeys"
	"github.com/heldcall/heldcall/console/problem"
)

// encode writes JSON that shows records unchanged: lists are never
// null, nothing is escaped for HTML, and the arguments keep their spelling.
func encode(value any) ([]byte, error) {
	return json.Marshal(value,
		json.Deterministic(true),
		jsonv1.OmitEmptyWithLegacySemantics(true),
		jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true),
		jsontext.PreserveRawStrings(true),
	)
}

func writeJSON(w http.ResponseWriter, status int, contentType string, value any) error {
	body, err := encode(value)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // fails only if the client is gone
	return nil
}

func answer(w http.ResponseWriter, value any) error {
	return writeJSON(w, http.StatusOK, "application/json", value)
}

// logProblem logs an error whose cause is not shown to the client.
func logProblem(log *slog.Logger, p *problem.Problem, err error, args ...any) {
	if p.Status >= http.StatusInternalServerError && !errors.Is(err, context.Canceled) && p.Code != problem.CodeNotReady {
		log.Error("console request failed", append(args, "error", err)...)
	}
}

var unknownRecords = map[error]string{
	approvals.ErrUnknownRequest:    "there is no request with this id; GET /api/v1/requests lists them",
	approvals.ErrUnknownDelegation: "there is no delegation with this id; GET /api/v1/delegations lists those in force",
	approvals.ErrUnknownRun:        "no run with this id had a call or a signal; GET /api/v1/runs lists runs",
	approvals.ErrUnknownSecret:     "there is no such secret of this principal and session; GET /api/v1/secrets lists them",
	passkeys.ErrUnknown:            "you have no passkey with this id; GET /api/v1/passkeys lists yours",
	approvals.ErrUnknownGrant:      "there is no grant with this id, or it was revoked; GET /api/v1/grants lists them",
}

func problemOf(method string, err error) *problem.Problem {
	var (
		known   *problem.Problem
		decided *approvals.DecidedError
		invalid *approvals.InvalidError
		refused *approvals.ForbiddenError
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &decided):
		p := problem.New(http.StatusConflict, problem.CodeAlreadyDecided, decided.Error())
		p.Request = &decided.Request
		if d, ok := decided.Request.FinalDecision(); ok {
			p.Decision = &d
		}
		return p
	case errors.As(err, &invalid):
		p := problem.New(http.StatusUnprocessableEntity, problem.CodeInvalid, invalid.Error())
		p.Field, p.Reason = invalid.Field, invalid.Reason
		return p
	case errors.As(err, &refused):
		return problem.New(http.StatusForbidden, problem.CodeForbidden, refused.Error())
	case errors.Is(err, approvals.ErrTooLarge):
		return problem.New(http.StatusRequestEntityTooLarge, problem.CodeTooLarge, "the request with this decision is too large for the store; send less")
	case errors.Is(err, approvals.ErrStoreUnavailable):
		detail, certain := approvals.NotRecorded(err)
		switch {
		case certain:
		case method == http.MethodPost:
			detail = approvals.Because("heldcall's store (NATS) does not answer (see heldcall's log)", err) + ". This may or may not be recorded: read the request, and retry if it is still pending"
		default:
			detail = approvals.Because("heldcall's store (NATS) is not available", err) + "; see heldcall's log"
		}
		return problem.New(http.StatusServiceUnavailable, problem.CodeStoreUnavailable, detail)
	}
	for unknown, detail := range unknownRecords {
		if errors.Is(err, unknown) {
			return problem.New(http.StatusNotFound, problem.CodeNotFound, detail)
		}
	}
	return problem.New(http.StatusInternalServerError, problem.CodeInternal, "internal error (see heldcall's log)")
}
