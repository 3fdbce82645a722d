// Package socket hides the messages of a WebSocket and knows no HTTP server: it takes the
// requests of the Responses API that an agent sends on one connection, and sends the events of their answers.
// A turn answers each request, as it does over HTTP.
//
// An agent names a lane with each request (stream_id, "" where it uses none). The requests of a lane are
// answered one after another, those of several lanes at the same time: a held call stops its lane and not
// the connection. Turns read and write server-sent events; [answer] and [upstream] turn those into text
// messages and back, so that a held turn can be continued over HTTP and the other way round.
//
// Read this file (the agent's connection and its lanes), answer.go (what the agent gets) and upstream.go (the
// connection to the model API). message.go has the fields of messages.
package socket

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

const (
	maxLanes   = 64 // that have requests at the same time
	maxWaiting = 32 // requests of one lane that wait for the one before

	lastWords = time.Second // how long answers have to end with an error when heldcall stops
)

// Request is one request for an answer.
type Request struct {
	// Body is what the agent would send over HTTP, with stream set.
	Body []byte
	Lane *Lane
}

// Session is an agent's connection.
type Session struct {
	// Agent is the connection.
	Agent *websocket.Conn
	// Dial opens a connection to the model API. The error is for the agent.
	Dial func(context.Context) (*websocket.Conn, *intercept.Error)
	// First is the connection that was opened before the agent's, nil for none.
	First *websocket.Conn
	// Answer answers a request: [Lane.Run] runs the turn. It is called from the goroutine of the lane.
	Answer func(context.Context, Request)
	// Reserve reserves bytes of memory for requests, and reports false if they are more than there are.
	// Return gives them back.
	Reserve func(n int) bool
	Return  func(n int)
	// Error renders an error as the body of an answer.
	Error func(*intercept.Error) []byte
	// Redact returns a message of the model API without the keys that the agent must not see.
	Redact func([]byte) []byte
	// Stopping is closed when no more requests are answered.
	Stopping <-chan struct{}

	left     error // see Serve
	mu       sync.Mutex
	lanes    map[string]*Lane // those that have requests
	running  sync.WaitGroup   // the goroutines of lanes
	stopped  bool             // no lane begins any more
	ending   sync.WaitGroup   // those that end the connection
	upstream *upstream        // the newest connection, nil for none

	dialing sync.Mutex // held while another connection is opened
}

// Serve answers requests until the connection ends, or until the last answer has ended after Stopping was
// closed. Left is the cause with which the contexts of answers end when the agent has closed the connection.
func (s *Session) Serve(ctx context.Context, left error) {
	ctx, cancel := context.WithCancelCause(ctx)
	reading, stop := context.WithCancel(context.WithoutCancel(ctx)) // so that answers can end with an error first
	s.lanes, s.left = map[string]*Lane{}, left
	if s.First != nil {
		s.upstream = newUpstream(s.First)
	}
	s.ending.Go(func() {
		select {
		case <-s.Stopping:
			s.end(ctx, reading.Done())
			stop()
		case <-reading.Done():
		}
	})
	for {
		kind, message, err := s.Agent.Read(reading)
		if err != nil {
			break
		}
		if kind != websocket.MessageText {
			_ = s.Agent.Close(websocket.StatusUnsupportedData, "heldcall reads text messages only")
			break
		}
		s.take(ctx, message)
	}
	cancel(left)
	stop()
	_ = s.Agent.CloseNow() // before the wait: an answer may be writing to it
	s.running.Wait()
	s.ending.Wait()
	if s.upstream != nil {
		s.upstream.close()
	}
}

// end closes the connection when the last answer has ended or, some time after the context has ended, before.
func (s *Session) end(ctx context.Context, closed <-chan struct{}) {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	answered := make(chan struct{})
	s.ending.Go(func() { s.running.Wait(); close(answered) })
	select {
	case <-answered:
	case <-closed:
		return
	case <-ctx.Done():
		select {
		case <-answered:
		case <-time.After(lastWords):
		}
	}
	_ = s.Agent.Close(websocket.StatusServiceRestart, "heldcall stops; connect again")
}

// take takes a message of the agent.
func (s *Session) take(ctx context.Context, message []byte) {
	m, err := readMessage(message)
	switch {
	case err != nil:
		s.refuse(ctx, "", badRequest("a message is not a strict JSON object: "+err.Error()))
	case m.kind == typeCreate:
		body, err := m.request()
		if err != nil {
			s.refuse(ctx, m.lane, badRequest(err.Error()))
			return
		}
		s.enqueue(ctx, m.lane, body)
	case m.kind == typeInterrupt && s.interrupt(ctx, &m):
	case m.failure() != nil:
		_ = s.send(ctx, m.lane, m.failure())
	default:
		s.refuse(ctx, m.lane, &intercept.Error{Code: intercept.CodeRouteNotGated, HTTP: http.StatusBadRequest, Reason: notPassed})
	}
}

// interrupt ends the answer that a message names, and reports whether there is one. While the model API answers, it
// ends the answer; when a call of it is held, the agent leaves it, as over HTTP by ending the connection.
func (s *Session) interrupt(ctx context.Context, m *clientMessage) bool {
	id := gjson.GetBytes(m.raw, "response_id").Str
	s.mu.Lock()
	lane, model := s.laneOf(id), s.upstream
	s.mu.Unlock()
	if lane == nil {
		return false
	}
	if model != nil && model.interrupt(ctx, lane.id, m) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if lane.response == id {
		lane.interrupted = true
		lane.cancel(s.left)
	}
	return true
}

// laneOf is the lane of the answer with an id, nil for none.
func (s *Session) laneOf(response string) *Lane {
	for _, lane := range s.lanes {
		if response != "" && lane.response == response {
			return lane
		}
	}
	return nil
}

// enqueue gives a request to its lane.
func (s *Session) enqueue(ctx context.Context, id string, body []byte) {
	if !s.Reserve(len(body)) {
		s.refuse(ctx, id, overloaded("heldcall has no memory for the request; send it again later"))
		return
	}
	s.mu.Lock()
	lane, found := s.lanes[id]
	full := (!found && (s.stopped || len(s.lanes) >= maxLanes)) || (found && len(lane.waiting) >= maxWaiting)
	if !found && !full {
		lane = &Lane{session: s, id: id}
		s.lanes[id] = lane
	}
	if !full {
		lane.waiting = append(lane.waiting, body)
	}
	s.mu.Unlock()
	switch {
	case full:
		s.Return(len(body))
		s.refuse(ctx, id, overloaded("too many requests wait on this connection; send it again later"))
	case !found:
		s.running.Go(func() { lane.serve(ctx) })
	}
}

// refuse sends an error in place of an answer. An agent that is away does not get it.
func (s *Session) refuse(ctx context.Context, lane string, e *intercept.Error) {
	_ = s.send(ctx, lane, errorMessage(e.Status(), s.Error(e)))
}

// send sends a message on a lane. Several goroutines may call it.
func (s *Session) send(ctx context.Context, lane string, message []byte) error {
	return s.Agent.Write(ctx, websocket.MessageText, onLane(message, lane))
}

// model is the connection to the model API: the newest if it is open, else another one.
func (s *Session) model(ctx context.Context) (*upstream, *intercept.Error) {
	s.dialing.Lock()
	defer s.dialing.Unlock()
	s.mu.Lock()
	before := s.upstream
	s.mu.Unlock()
	if before != nil && before.open() {
		return before, nil
	}
	conn, refusal := s.Dial(ctx)
	if refusal != nil {
		return nil, refusal
	}
	if before != nil {
		before.close()
	}
	next := newUpstream(conn)
	s.mu.Lock()
	s.upstream = next
	s.mu.Unlock()
	return next, nil
}

func badRequest(reason string) *intercept.Error {
	return &intercept.Error{Code: intercept.CodeBadRequest, Reason: reason}
}

func overloaded(reason string) *intercept.Error {
	return &intercept.Error{Code: intercept.CodeOverloaded, Reason: reason}
}

// Lane answers requests one after another.
type Lane struct {
	session *Session
	id      string

	// Guarded by the session's mutex.
	waiting     [][]byte                // requests
	response    string                  // the id of the answer, as the agent knows it; "" before it does
	cancel      context.CancelCauseFunc // ends the answer
	interrupted bool                    // by the agent
}

// serve answers the requests of the lane until none waits.
func (l *Lane) serve(ctx context.Context) {
	for {
		s := l.session
		s.mu.Lock()
		if len(l.waiting) == 0 {
			delete(s.lanes, l.id)
			s.mu.Unlock()
			return
		}
		body := l.waiting[0]
		l.waiting = l.waiting[1:]
		answering, cancel := context.WithCancelCause(ctx)
		l.response, l.cancel, l.interrupted = "", cancel, false
		s.mu.Unlock()
		s.Answer(answering, Request{Body: body, Lane: l})
		cancel(nil)
		s.Return(len(body))
	}
}

// begun notes the id of the answer that the agent gets.
func (l *Lane) begun(response string) {
	l.session.mu.Lock()
	defer l.session.mu.Unlock()
	l.response = response
}

// wasInterrupted returns the id of the answer, if the agent has interrupted it while nothing came from the model API.
func (l *Lane) wasInterrupted() (response string, interrupted bool) {
	l.session.mu.Lock()
	defer l.session.mu.Unlock()
	return l.response, l.interrupted
}

// Refuse sends an error in place of an answer, or of its end.
func (l *Lane) Refuse(ctx context.Context, e *intercept.Error) {
	l.session.refuse(context.WithoutCancel(ctx), l.id, e)
}
