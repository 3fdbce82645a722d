package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/problem"
)

const (
	// mostUnread is how many updates a [Live] keeps for a caller that does not read
	// them.
	mostUnread = 10_000
	// silence is how long a console may send nothing: it asks after its clients
	// several times as often.
	silence = time.Minute
	// parting bounds how long [Live.Close] waits for the console's word.
	parting = 2 * time.Second
)

// Live is a WebSocket to the console that receives requests and sends decisions. It
// is safe for concurrent use. [Live.Close] releases its resources.
type Live struct {
	client *Client
	conn   *websocket.Conn
	quiet  *time.Timer // gives up a console that is silent
	cancel context.CancelFunc
	ended  chan struct{} // closed when nothing more is read; why is the reason
	why    error
	unread chan *Update // closed likewise

	mu       sync.Mutex
	sent     uint64 // messages that wanted an answer
	awaiting map[string]chan<- answered
}

// Update is one message of a [Live].
type Update struct {
	// Type is live.TypeRequest for a pending request, live.TypeUpdate for one that has
	// changed, and live.TypeReady once all pending requests have been received.
	Type    live.Type
	Request approvals.Request // as it is now, under its own names, abridged where it is large; not with live.TypeReady
	Ready   live.Ready        // with live.TypeReady
	EventID string            // where to resume after this, "" where that has not changed
}

type answered struct {
	text []byte
	err  error
}

// Live opens a WebSocket. With the last EventID of an earlier one it also receives the
// requests that have ended since; with "" only the pending ones. The context bounds
// the opening only.
func (c *Client) Live(ctx context.Context, lastEventID string) (*Live, error) {
	address := c.base + live.Path
	if lastEventID != "" {
		address += "?last_event_id=" + url.QueryEscape(lastEventID)
	}
	header := http.Header{}
	if c.token != "" {
		header.Set("Authorization", "Bearer "+c.token)
	}
	opening, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	reading, cancelReading := context.WithCancel(context.Background())
	quiet := time.AfterFunc(silence, cancelReading)
	conn, response, err := websocket.Dial(opening, address, &websocket.DialOptions{ //nolint:bodyclose // Dial closes it
		HTTPClient: c.http, HTTPHeader: header, Subprotocols: []string{live.Subprotocol},
		OnPingReceived: func(context.Context, []byte) bool { quiet.Reset(silence); return true },
	})
	if err != nil {
		quiet.Stop()
		cancelReading()
		if response != nil {
			return nil, c.failure(response)
		}
		return nil, &UnreachableError{URL: c.base, Err: err}
	}
	conn.SetReadLimit(maxEvent)
	l := &Live{
		client: c, conn: conn, quiet: quiet, cancel: cancelReading, ended: make(chan struct{}),
		unread: make(chan *Update, mostUnread), awaiting: map[string]chan<- answered{},
	}
	go l.read(reading)
	return l, nil
}

// Next is the next update. It fails when the context ends, and with what ended the
// WebSocket: [*UnreachableError], a [*problem.Problem] or an error of the domain.
func (l *Live) Next(ctx context.Context) (Update, error) {
	select {
	case <-ctx.Done():
		return Update{}, ctx.Err()
	case next, open := <-l.unread:
		if !open {
			return Update{}, l.why
		}
		return *next, nil
	}
}

// Decide is [Client.Decide] over the WebSocket; a large request is abridged.
func (l *Live) Decide(ctx context.Context, d approvals.Decision) (approvals.Request, error) {
	payload := decisionBody(d)
	payload["request_id"] = d.RequestID
	var decided live.Message[approvals.Request]
	err := l.exchange(ctx, live.TypeResponse, payload, &decided)
	return decided.Data, notFound(err, approvals.ErrUnknownRequest)
}

// Status is the state of agents: all, or those of a session or a run.
func (l *Live) Status(ctx context.Context, query live.StatusQuery) (live.AgentStatus, error) {
	var status live.Message[live.AgentStatus]
	err := l.exchange(ctx, live.TypeQuery, query, &status)
	return status.Data, err
}

// Close ends the WebSocket. It may be called more than once.
func (l *Live) Close() {
	defer time.AfterFunc(parting, l.cancel).Stop()
	_ = l.conn.Close(websocket.StatusNormalClosure, "") // it ends either way
	l.cancel()
	<-l.ended
}

func (l *Live) exchange(ctx context.Context, typ live.Type, data, result any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	reply := make(chan answered, 1)
	l.mu.Lock()
	l.sent++
	id := strconv.FormatUint(l.sent, 10)
	l.awaiting[id] = reply
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.awaiting, id)
		l.mu.Unlock()
	}()
	text, err := encode(live.Message[any]{Type: typ, ID: id, Data: data})
	if err != nil {
		return err
	}
	if err := l.conn.Write(ctx, websocket.MessageText, text.Bytes()); err != nil {
		return &UnreachableError{URL: l.client.base, Err: err}
	}
	select {
	case <-ctx.Done():
		return &UnreachableError{URL: l.client.base, Err: ctx.Err()}
	case <-l.ended:
		return l.why
	case got := <-reply:
		if got.err != nil {
			return got.err
		}
		return json.Unmarshal(got.text, result)
	}
}

func (l *Live) read(ctx context.Context) {
	defer close(l.ended)
	defer close(l.unread)
	defer l.cancel()
	defer l.quiet.Stop()
	for {
		_, text, err := l.conn.Read(ctx)
		if err == nil {
			l.quiet.Reset(silence)
			err = l.take(text)
		} else {
			err = &UnreachableError{URL: l.client.base, Err: err}
		}
		if err != nil {
			l.why = err
			_ = l.conn.CloseNow() // it ends either way
			return
		}
	}
}

func (l *Live) take(text []byte) error {
	var message live.Message[json.RawMessage]
	if err := json.Unmarshal(text, &message); err != nil {
		return fmt.Errorf("%s is not heldcall's console; is another program there? (%w)", l.client.base, err)
	}
	var failed error
	if message.Type == live.TypeError {
		var p problem.Problem
		if err := json.Unmarshal(message.Data, &p); err != nil {
			return fmt.Errorf("the console reports a problem that cannot be read: %w", err)
		}
		failed = reported(&p)
	}
	if message.ID != "" {
		l.mu.Lock()
		defer l.mu.Unlock()
		if waiting := l.awaiting[message.ID]; waiting != nil {
			waiting <- answered{text, failed}
		}
		return nil
	}
	if failed != nil {
		return failed
	}
	update := Update{Type: message.Type, EventID: message.EventID}
	var err error
	switch message.Type {
	case live.TypeRequest, live.TypeUpdate:
		err = json.Unmarshal(message.Data, &update.Request)
	case live.TypeReady:
		err = json.Unmarshal(message.Data, &update.Ready)
	default:
		return nil // of a newer console
	}
	if err != nil {
		return fmt.Errorf("read a message of type %s: %w", message.Type, err)
	}
	select {
	case l.unread <- &update:
		return nil
	default:
		return errUnread
	}
}

// errUnread ends a WebSocket whose updates are not read.
var errUnread = errors.New("too many updates were not read")
