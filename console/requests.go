package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
)

const (
	channelREST   = "rest"      // of decisions
	channelSocket = "websocket" // the same
	maxBatch      = 100         // decisions in one body
	// noRequest is no request's id: those are ULIDs.
	noRequest = "none"
)

type requestHandlers struct{ gate scopedGate }

// list answers a page of requests, newest first, the large ones abridged. A page of
// a search may be short, or empty, and not be the last.
func (h requestHandlers) list(w http.ResponseWriter, r *http.Request) error {
	filter, err := parseFilter(r.URL.RawQuery)
	if err != nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, err.Error())
	}
	page, err := h.gate.Requests(r.Context(), filter)
	if invalid := (*approvals.InvalidError)(nil); errors.As(err, &invalid) {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, invalid.Error())
	}
	if err == nil && len(page.Items) == 0 {
		err = h.storeAnswers(r.Context())
	}
	if err != nil {
		return fmt.Errorf("list requests: %w", err)
	}
	page.Abridge()
	return answer(w, page)
}

// storeAnswers reads a record that cannot exist. Lists are searched in memory: while
// the store is out of reach, an empty list does not mean that there are no requests.
func (h requestHandlers) storeAnswers(ctx context.Context) error {
	_, err := h.gate.Request(ctx, noRequest)
	if errors.Is(err, approvals.ErrUnknownRequest) {
		return nil
	}
	return err
}

func parseFilter(raw string) (f approvals.Filter, err error) {
	err = readQuery(raw, "filter", []parameter{
		queryValue("status", &f.Status, oneOf(approvals.StatusPending, approvals.StatusApproved,
			approvals.StatusDenied, approvals.StatusAnswered, approvals.StatusExpired, approvals.StatusCancelled)),
		queryValue("kind", &f.Kind, oneOf(approvals.KindPermission, approvals.KindClarification,
			approvals.KindDecision, approvals.KindEnvVar, approvals.KindCombined, approvals.KindResult)),
		queryValue("session_id", &f.SessionID, anyText),
		queryValue("run_id", &f.RunID, anyText),
		queryValue("risk", &f.Risk, oneOf(approvals.RiskLow, approvals.RiskMedium, approvals.RiskHigh, approvals.RiskCritical)),
		queryValue("q", &f.Text, anyText),
		queryValue("cursor", &f.Cursor, recordID),
		queryValue("limit", &f.Limit, pageLimit),
	})
	return f, err
}

func (h requestHandlers) show(w http.ResponseWriter, r *http.Request) error {
	request, err := requestIn(h.gate, r)
	if err != nil {
		return err
	}
	return answer(w, request)
}

// requestIn reads the request whose id is in the path.
func requestIn(gate scopedGate, r *http.Request) (approvals.Request, error) {
	id, err := requestID(r)
	if err != nil {
		return approvals.Request{}, err
	}
	request, err := gate.Request(r.Context(), id)
	if err != nil {
		return approvals.Request{}, fmt.Errorf("read request %s: %w", id, err)
	}
	return request, nil
}

// requestID is the id in the path. One that cannot be an id is unknown.
func requestID(r *http.Request) (string, error) {
	id := r.PathValue("id")
	if !plausibleID(id) {
		return "", approvals.ErrUnknownRequest
	}
	return id, nil
}

// plausibleID reports whether the text may be looked up in a store: letters,
// digits and - only.
func plausibleID(id string) bool {
	return id != "" && len(id) <= 64 && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-'
	})
}

// decide takes a decision on the request in the path and answers the request after
// it.
func (h requestHandlers) decide(w http.ResponseWriter, r *http.Request) error {
	id, err := requestID(r)
	if err != nil {
		return err
	}
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	request, err := h.take(r.Context(), reviewerOf(r), channelREST, id, body)
	if err != nil {
		return err
	}
	return answer(w, request)
}

// take parses one decision and has the gate decide. An id in the payload must be
// that of the path, where there is one.
func (h requestHandlers) take(ctx context.Context, who identity, channel, id string, payload []byte) (approvals.Request, error) {
	decision, err := h.parse(who, channel, id, payload)
	if err != nil {
		return approvals.Request{}, err
	}
	request, err := h.gate.Decide(ctx, decision)
	if err != nil {
		return approvals.Request{}, fmt.Errorf("decide request %s: %w", decision.RequestID, err)
	}
	return request, nil
}

// parse returns a decision by its sender. See take.
func (h requestHandlers) parse(who identity, channel, id string, payload []byte) (approvals.Decision, error) {
	decision, err := approvals.ParseDecision(payload)
	if err != nil {
		return decision, err
	}
	switch {
	case id != "" && decision.RequestID != "" && decision.RequestID != id:
		return decision, &approvals.InvalidError{Field: "request_id", Reason: "is not the request in the path; leave it out"}
	case id == "" && decision.RequestID == "":
		return decision, &approvals.InvalidError{Field: "request_id", Reason: "is missing"}
	case id == "" && !plausibleID(decision.RequestID):
		return decision, approvals.ErrUnknownRequest
	}
	decision.RequestID = cmp.Or(id, decision.RequestID)
	who.Sign(&decision)
	decision.Channel = channel
	return decision, nil
}

// outcome is the answer to one decision of a batch: the request after it, or the
// problem.
type outcome struct {
	Status  int                `json:"status"`
	Request *approvals.Request `json:"request,omitempty"`
	Problem *problem.Problem   `json:"problem,omitempty"`
}

func abridged(p *problem.Problem) *problem.Problem {
	if p.Request == nil {
		return p
	}
	short, request := *p, p.Request.Abridged()
	short.Request = &request
	if d, ok := request.FinalDecision(); ok && p.Decision != nil {
		short.Decision = &d
	}
	return &short
}

// decideBatch takes each decision of a batch on its own and answers them in their
// order, with large requests abridged.
func (h requestHandlers) decideBatch(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	var batch struct {
		Decisions []jsontext.Value `json:"decisions"`
	}
	if err := json.Unmarshal(body, &batch, json.RejectUnknownMembers(true)); err != nil {
		return &approvals.InvalidError{Field: "decisions", Reason: `the body is not {"decisions": [...]}: ` + err.Error()}
	}
	if n := len(batch.Decisions); n == 0 || n > maxBatch {
		return &approvals.InvalidError{Field: "decisions", Reason: fmt.Sprintf("holds %d decisions; send 1 to %d", n, maxBatch)}
	}
	items := make([]outcome, len(batch.Decisions))
	for i, payload := range batch.Decisions {
		request, err := h.take(r.Context(), reviewerOf(r), channelREST, "", payload)
		if err != nil {
			p := abridged(problemOf(r.Method, err))
			items[i] = outcome{Status: p.Status, Problem: p}
			continue
		}
		request = request.Abridged()
		items[i] = outcome{Status: http.StatusOK, Request: &request}
	}
	return answer(w, batchReply{items})
}
