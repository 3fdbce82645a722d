package console

import (
	"context"
	"fmt"
	"net/http"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/access"
)

// Runs is what the console needs of a gate to show and signal runs. [approvals.Gate]
// implements it.
type Runs interface {
	Signal(ctx context.Context, s approvals.Signal) (approvals.Steered, error)
	Runs() []approvals.Run
	RunByID(id string) (approvals.Run, error)
}

type runHandlers struct{ gate Runs }

func (h runHandlers) list(w http.ResponseWriter, r *http.Request) error {
	return answerAll(w, r, h.gate.Runs())
}

func (h runHandlers) show(w http.ResponseWriter, r *http.Request) error {
	run, err := h.gate.RunByID(r.PathValue("id"))
	if err != nil {
		return err
	}
	return answer(w, run)
}

func (h runHandlers) signal(w http.ResponseWriter, r *http.Request) error {
	signal, err := readJSON[approvals.Signal](w, r, "signal", "")
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if signal.RunID != "" && signal.RunID != id {
		return &approvals.InvalidError{Field: "run_id", Reason: "is not the run in the path; leave it out"}
	}
	signal.RunID = id
	signal.ReviewerID = access.ReviewerOf(r).Name
	run, err := h.gate.Signal(r.Context(), signal)
	if err != nil {
		return fmt.Errorf("signal run %s: %w", id, err)
	}
	return answer(w, run)
}
