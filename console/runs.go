package console

import (
	"fmt"
	"net/http"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

type runHandlers struct {
	gate    scopedGate
	signals scopedSignals
	grants  scopedGrants
}

func (h runHandlers) list(w http.ResponseWriter, r *http.Request) error {
	return answerAll(w, r, h.gate.Runs(r.Context()))
}

func (h runHandlers) show(w http.ResponseWriter, r *http.Request) error {
	run, err := h.gate.RunByID(r.Context(), r.PathValue("id"))
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
	signal.ReviewerID = reviewerOf(r).Name
	run, err := h.gate.Signal(r.Context(), signal)
	if err != nil {
		return fmt.Errorf("signal run %s: %w", id, err)
	}
	return answer(w, run)
}

// addFolder makes a folder a part of the run's workspace.
func (h runHandlers) addFolder(w http.ResponseWriter, r *http.Request) error {
	body, err := readJSON[approvals.RunFolder](w, r, "folder", "")
	if err != nil {
		return err
	}
	if body.Folder == "" {
		return approvals.Invalid("folder", "it is missing: write the absolute path of a folder")
	}
	run, err := h.gate.RunByID(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	who := reviewerOf(r)
	g, err := h.grants.Add(r.Context(), run.GrantFolder(body.Folder, who.Name, who.User, channelREST, time.Now()))
	if err != nil {
		return fmt.Errorf("add a folder to the workspace of run %s: %w", run.ID, err)
	}
	return answer(w, g)
}

func (h runHandlers) listSignals(w http.ResponseWriter, r *http.Request) error {
	return answerAll(w, r, h.signals.InForce(r.Context()))
}

func (h runHandlers) sendSignal(w http.ResponseWriter, r *http.Request) error {
	payload, err := readJSON[approvals.PrincipalSignalPayload](w, r, "signal", "")
	if err != nil {
		return err
	}
	signal, err := h.signals.Send(r.Context(), payload.From(reviewerOf(r).Name))
	if err != nil {
		return fmt.Errorf("signal the runs of a principal: %w", err)
	}
	return answer(w, signal)
}
