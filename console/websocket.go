package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"

	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/problem"
)

const (
	messagesAtOnce = 40                    // of one client; more are read
	messageEvery   = 50 * time.Millisecond // only so often
	queuedReplies  = 16                    // to a client that asks faster than it reads
	closeTimeout   = time.Second           // that a client has to answer the end of its socket

	mostSockets    = 1000        // WebSockets and event streams of all clients
	socketsOfOne   = 50          // of a reviewer
	mostReplays    = 8           // event streams that read what they have missed, at the same time
	statusesAtOnce = 5           // that a reviewer asks for, over all their sockets; more are
	statusEvery    = time.Second // read only so often, since each reads all that waits
)

// Why the console ends a socket.
var (
	errStopping    = errors.New("heldcall is stopping")
	errSessionOver = errors.New("the session has ended")
	errRightsOver  = errors.New("the configuration has changed your rights; connect again")
	errNotText     = errors.New("messages are JSON in text frames")
	errFailed      = errors.New("internal error (see heldcall's log)")
)

// errTooMany is why the console opens no other WebSocket or event stream.
var errTooMany = fmt.Errorf("%d WebSockets and event streams of one reviewer may be open, and %d in all; close those that are not needed", socketsOfOne, mostSockets)

var closeCodes = map[error]websocket.StatusCode{
	errStopping:    websocket.StatusGoingAway,
	errSessionOver: websocket.StatusPolicyViolation,
	errRightsOver:  websocket.StatusPolicyViolation,
	errNotText:     websocket.StatusUnsupportedData,
	errFailed:      websocket.StatusInternalError,
}

// websocket sends a client the requests that wait and takes its decisions until it
// leaves, its session ends, its rights change or the console stops.
func (h *liveHandlers) websocket(w http.ResponseWriter, r *http.Request) error {
	last, err := parseSocketQuery(r.URL.RawQuery)
	if err != nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, err.Error())
	}
	if r.Method != http.MethodGet || !isHandshake(r) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		return problem.New(http.StatusUpgradeRequired, problem.CodeUpgradeRequired, "this is a WebSocket: open it with a WebSocket client, or follow GET /api/v1/events")
	}
	who := reviewerOf(r)
	statuses, err := h.open.enter(who.Name)
	if err != nil {
		return notEntered(err)
	}
	defer h.open.leave(who.Name)
	// The guard has looked at the origin, with the console's own URL in mind.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, Subprotocols: []string{live.Subprotocol}})
	if err != nil {
		h.log.Debug("a WebSocket handshake was refused", "error", err)
		return nil // Accept has answered the client
	}
	conn.SetReadLimit(maxBody)
	h.metrics.sockets.Inc()
	defer h.metrics.sockets.Dec()
	s := &socket{live: h, conn: conn, who: who, statuses: statuses, replies: make(chan []byte, queuedReplies)}
	s.run(r.Context(), last)
	return nil
}

func parseSocketQuery(raw string) (last *uint64, err error) {
	err = readQuery(raw, "parameter", []parameter{queryValue("last_event_id", &last, func(value string) (*uint64, error) {
		from, err := resumeFrom(value)
		if err != nil || value == "" {
			return nil, errors.New("is not the id of an event; send the last event_id that you received, or leave it out")
		}
		from--
		return &from, nil
	})})
	return last, err
}

type socket struct {
	live     *liveHandlers
	conn     *websocket.Conn
	who      identity
	statuses *rate.Limiter
	replies  chan []byte // to what the client sent
}

// run serves the socket and returns when it has ended, with all that it started.
func (s *socket) run(parent context.Context, last *uint64) {
	ctx, end := context.WithCancelCause(parent)
	defer context.AfterFunc(s.live.running, func() { end(errStopping) })()
	defer s.who.EndWith(end)()
	// A read that is cancelled cuts the connection, so this one continues until
	// the closing message has been sent.
	reading, stopReading := context.WithCancel(context.WithoutCancel(parent))
	var helpers sync.WaitGroup
	helpers.Go(func() { end(s.read(ctx, reading)) })
	helpers.Go(func() { end(s.keepAlive(ctx)) })
	end(s.write(ctx, last))
	s.close(context.Cause(ctx), stopReading)
	stopReading()
	helpers.Wait()
}

// close sends the client the reason, if the console ends the socket.
func (s *socket) close(reason error, stopReading context.CancelFunc) {
	code, ours := closeCodes[reason]
	if !ours {
		_ = s.conn.CloseNow() // it is gone, or will not listen
		return
	}
	defer time.AfterFunc(closeTimeout, stopReading).Stop()
	_ = s.conn.Close(code, reason.Error()) // the same
}

// keepAlive pings the client once a heartbeat. One that does not answer has gone.
func (s *socket) keepAlive(ctx context.Context) error {
	heartbeat := time.NewTicker(s.live.heartbeat)
	defer heartbeat.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-heartbeat.C:
		}
		// It returns at the end of the socket too; to cancel it would cut that short.
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.live.stall)
		err := s.conn.Ping(patience)
		cancel()
		if err != nil {
			return fmt.Errorf("ask after the client: %w", err)
		}
	}
}

func (s *socket) read(ctx, reading context.Context) error {
	allowance := rate.NewLimiter(rate.Every(messageEvery), messagesAtOnce)
	for {
		kind, text, err := s.conn.Read(reading)
		switch {
		case err != nil:
			return fmt.Errorf("read a message: %w", err)
		case kind != websocket.MessageText:
			return errNotText
		}
		if err := allowance.Wait(ctx); err != nil {
			return err
		}
		reply, err := encode(s.answer(ctx, text))
		if err != nil {
			return fmt.Errorf("encode an answer: %w", err)
		}
		select {
		case s.replies <- reply:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// send writes one message within its own deadline, so that a client who stalls is
// cut off; at the end of the socket it has little time left.
func (s *socket) send(ctx context.Context, text []byte) error {
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.live.stall)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(closeTimeout, cancel) })()
	if err := s.conn.Write(patience, websocket.MessageText, text); err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	return nil
}
