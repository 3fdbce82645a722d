package console

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
)

// listRuns answers the runs that somebody steered, the latest first.
func (c *Console) listRuns(w http.ResponseWriter, r *http.Request) error {
	if r.URL.RawQuery != "" {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, "this list takes no filter; remove the query")
	}
	return answer(w, listOf[approvals.Run]{Items: c.gate.Runs()})
}

// showRun answers one run that somebody steered.
func (c *Console) showRun(w http.ResponseWriter, r *http.Request) error {
	run, err := c.gate.RunByID(r.PathValue("id"))
	if err != nil {
		return err
	}
	return answer(w, run)
}

// signal steers the run in the path and answers the run as it then stands.
func (c *Console) signal(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	var signal approvals.Signal
	if err := json.Unmarshal(body, &signal, json.RejectUnknownMembers(true)); err != nil {
		return &approvals.InvalidError{Field: "signal", Reason: err.Error()}
	}
	id := r.PathValue("id")
	if signal.RunID != "" && signal.RunID != id {
		return &approvals.InvalidError{Field: "run_id", Reason: "is not the run in the path; leave it out"}
	}
	signal.RunID = id
	signal.ReviewerID = reviewerOf(r).Name
	run, err := c.gate.Signal(r.Context(), signal)
	if err != nil {
		return fmt.Errorf("signal run %s: %w", id, err)
	}
	return answer(w, run)
}
