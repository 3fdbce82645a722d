package nats

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/micro"

	"github.com/heldcall/heldcall/approvals"
)

// startMicro makes the service that $SRV.> discovers.
func (s *Service) startMicro(version string) error {
	service, err := micro.AddService(s.conn, micro.Config{
		Name:        ServiceName,
		Version:     version,
		Description: "Tool calls that wait for approval",
		QueueGroup:  QueueGroup,
	})
	if err != nil {
		return fmt.Errorf("start the micro service: %w", err)
	}
	s.micro = service
	for _, e := range endpoints() {
		if !e.Micro {
			continue
		}
		options := []micro.EndpointOpt{micro.WithEndpointSubject(e.wildcard()), micro.WithEndpointMetadata(map[string]string{"about": e.About})}
		if err := service.AddEndpoint(e.microName(), s.handler(e), options...); err != nil {
			return fmt.Errorf("start the endpoint %s: %w", e.Name, err)
		}
	}
	return nil
}

// handler answers requests of the micro service, one at a time.
func (s *Service) handler(e endpoint) micro.Handler {
	return micro.HandlerFunc(func(req micro.Request) {
		if !mayReply(req.Reply()) {
			s.log.Warn("a message names a reply subject that is not a client's; it is dropped", "subject", req.Subject(), "reply", req.Reply())
			return
		}
		ctx, cancel := context.WithTimeout(s.ctx, queryTimeout)
		defer cancel()
		reply, err := s.guarded(req.Subject(), func() (any, error) { return s.handle(ctx, e, req.Subject(), req.Data()) })
		var payload []byte
		if err == nil {
			payload, err = encode(reply)
		}
		if err == nil {
			err = req.Respond(payload)
		} else {
			s.log.Info("a question over NATS cannot be answered", "subject", req.Subject(), "error", err)
			err = refuse(req, failureOf(err))
		}
		if err != nil {
			s.log.Warn("cannot reply to a message from NATS", "subject", req.Subject(), "error", err)
		}
	})
}

// refuse replies with a failure, in the body and in the headers of micro.
func refuse(req micro.Request, failure Failure) error {
	payload, err := encode(failure)
	if err != nil {
		return err
	}
	oneLine := strings.Join(strings.Fields(failure.Message), " ")
	return req.Error(failure.Code, oneLine, payload)
}

// requestQuery is an [approvals.Filter] as clients write it; all of it is optional.
type requestQuery struct {
	Status    approvals.Status `json:"status"`
	Kind      approvals.Kind   `json:"kind"`
	SessionID string           `json:"session_id"`
	RunID     string           `json:"run_id"`
	Risk      approvals.Risk   `json:"risk"`
	Text      string           `json:"q"`
	Cursor    string           `json:"cursor"`
	Limit     int              `json:"limit"`
}

// listRequests answers with a page of requests, the large ones abridged.
func (s *Service) listRequests(ctx context.Context, m message) (any, error) {
	var query requestQuery
	if err := readQuery(m.payload, &query); err != nil {
		return nil, err
	}
	page, err := s.gate.Requests(ctx, approvals.Filter(query))
	if err != nil {
		return nil, err
	}
	page.Abridge()
	for { // a page that is too large for one reply becomes two
		text, err := encode(page)
		if err != nil || len(text) <= int(s.conn.MaxPayload()) || len(page.Items) < 2 {
			return page, err
		}
		page.Truncate(len(page.Items) / 2)
	}
}

// getRequest answers with a request.
func (s *Service) getRequest(ctx context.Context, m message) (any, error) {
	id, err := readID(m.payload)
	if err != nil {
		return nil, err
	}
	return s.gate.Request(ctx, id)
}

// runList is the runs that were steered, all on one page.
type runList struct {
	Items      []approvals.Run `json:"items"`
	NextCursor string          `json:"next_cursor"`
}

// listRuns answers with the runs that were steered.
func (s *Service) listRuns(context.Context, message) (any, error) {
	return runList{Items: s.gate.Runs()}, nil
}

// getRun answers with a run.
func (s *Service) getRun(_ context.Context, m message) (any, error) {
	id, err := readID(m.payload)
	if err != nil {
		return nil, err
	}
	return s.gate.RunByID(id)
}

// byID names what is asked for.
type byID struct {
	ID string `json:"id"`
}

func readID(payload []byte) (string, error) {
	var query byID
	if err := readQuery(payload, &query); err != nil {
		return "", err
	}
	if query.ID == "" {
		return "", &approvals.InvalidError{Field: "id", Reason: "it is missing"}
	}
	return query.ID, nil
}

// readQuery reads a query strictly: a misspelt filter must not list everything.
func readQuery(payload []byte, query any) error {
	if len(payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, query, json.RejectUnknownMembers(true)); err != nil {
		return &approvals.InvalidError{Field: "payload", Reason: err.Error()}
	}
	return nil
}
