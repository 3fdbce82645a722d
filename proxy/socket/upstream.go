package socket

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/proxy/packed"
	"github.com/tidwall/gjson"
)

// maxAhead is how many messages of one answer are read before the turn takes them.
const maxAhead = 16

// upstream is a connection to the model API. One goroutine reads it until it ends.
type upstream struct {
	conn   *websocket.Conn
	cancel context.CancelFunc
	ended  chan struct{} // closed when nothing more is read

	mu      sync.Mutex
	answers map[string]*answering // by lane
}

// answering is an answer of the model API that is under way.
type answering struct {
	messages chan []byte
	left     chan struct{} // closed when it is not read any more
	leave    sync.Once
	over     chan struct{} // closed when its last message was read
	response string        // its id, "" before it is known; guarded by the mutex of the connection
}

func newUpstream(conn *websocket.Conn) *upstream {
	ctx, cancel := context.WithCancel(context.Background())
	u := &upstream{conn: conn, cancel: cancel, ended: make(chan struct{}), answers: map[string]*answering{}}
	go u.read(ctx)
	return u
}

// open reports whether the connection has not ended.
func (u *upstream) open() bool {
	select {
	case <-u.ended:
		return false
	default:
		return true
	}
}

// close ends the connection, and waits until it is not read any more.
func (u *upstream) close() {
	u.cancel()
	_ = u.conn.CloseNow()
	<-u.ended
}

// read gives each message to the answer of its lane.
func (u *upstream) read(ctx context.Context) {
	defer close(u.ended)
	for {
		kind, message, err := u.conn.Read(ctx)
		if err != nil || kind != websocket.MessageText {
			_ = u.conn.CloseNow()
			return
		}
		lane, message := offLane(message)
		for _, a := range u.receivers(lane, message) {
			select {
			case a.messages <- message:
			case <-a.left:
			case <-ctx.Done():
				return
			}
		}
	}
}

// receivers are the answers that get a message: that of its lane, and for an error of the connection all. The
// last message of an answer ends it. A message that no answer waits for has no receiver: it never reaches the agent.
func (u *upstream) receivers(lane string, message []byte) (list []*answering) {
	kind := gjson.GetBytes(message, "type").Str
	u.mu.Lock()
	defer u.mu.Unlock()
	of := map[string]*answering{lane: u.answers[lane]}
	if of[lane] == nil && lane == "" && kind == typeError {
		of = u.answers
	}
	for lane, a := range of {
		if a == nil {
			continue
		}
		list = append(list, a)
		if a.response == "" {
			a.response = gjson.GetBytes(message, "response.id").Str
		}
		if ends(kind) {
			defer close(a.over)
			delete(u.answers, lane)
		}
	}
	return list
}

// begin sends a request on a lane. An answer before it that is not read any more must end first: its events could not
// be told from those of the new one.
func (u *upstream) begin(ctx context.Context, lane string, body []byte) (*answering, error) {
	for {
		u.mu.Lock()
		before := u.answers[lane]
		if before == nil {
			break
		}
		u.mu.Unlock()
		select {
		case <-before.over:
		case <-u.ended:
			return nil, errEnded
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	a := &answering{messages: make(chan []byte, maxAhead), left: make(chan struct{}), over: make(chan struct{})}
	u.answers[lane] = a
	u.mu.Unlock()
	if err := u.conn.Write(ctx, websocket.MessageText, createMessage(body, lane)); err != nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.answers[lane] == a { // else the lane would wait for an answer to what was not sent
			close(a.over)
			delete(u.answers, lane)
		}
		return nil, err
	}
	return a, nil
}

// interrupt interrupts an answer, if the model API answers on the lane.
func (u *upstream) interrupt(ctx context.Context, lane string, m *clientMessage) bool {
	u.mu.Lock()
	a, response := u.answers[lane], ""
	if a != nil {
		response = a.response
	}
	u.mu.Unlock()
	return response != "" && u.conn.Write(ctx, websocket.MessageText, m.interrupt(lane, response)) == nil
}

var errEnded = errors.New("the upstream has closed the connection")

// Send sends a request to the model API on the lane, and waits for the first event of its answer. It is
// [turn.Upstream.Send] for a request that makes an answer.
func (l *Lane) Send(ctx context.Context, e intercept.Envelope) (*Response, bool, *intercept.Error) {
	u, refusal := l.session.model(ctx)
	if refusal != nil {
		return nil, false, refusal
	}
	a, err := u.begin(ctx, l.id, e.Body)
	if err != nil {
		return nil, true, unreachable(err)
	}
	r := &Response{upstream: u, answering: a, redact: l.session.Redact, status: http.StatusOK}
	message, err := r.next(ctx.Done())
	if err != nil {
		r.Close()
		return nil, true, unreachable(err)
	}
	r.begin(message)
	return r, true, nil
}

func unreachable(err error) *intercept.Error {
	return &intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: "the upstream ended the WebSocket without an answer; check the network", Err: err}
}

// Response is an answer of the model API as server-sent events. It implements [turn.Response].
type Response struct {
	upstream  *upstream
	answering *answering
	redact    func([]byte) []byte
	status    int
	first     []byte // read before the turn asked for it
	over      bool   // the last message was read
	deadline  time.Time
}

// begin takes the first message: an error is the answer's status and body.
func (r *Response) begin(message []byte) {
	if gjson.GetBytes(message, "type").Str == typeError {
		r.status, r.first = statusOf(message), message
		return
	}
	r.first = r.render(message)
}

// statusOf is the status of an error: the one in it, else that of its code.
func statusOf(message []byte) int {
	if status := int(gjson.GetBytes(message, "status").Int()); status >= 400 && status <= 599 {
		return status
	}
	e := intercept.Error{Code: intercept.Code(gjson.GetBytes(message, "error.code").Str)}
	return e.Status()
}

// next waits for the next message. The error is io.EOF after the last.
func (r *Response) next(done <-chan struct{}) ([]byte, error) {
	if r.over {
		return nil, io.EOF
	}
	var expired <-chan time.Time
	if !r.deadline.IsZero() {
		timer := time.NewTimer(time.Until(r.deadline))
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case message := <-r.answering.messages:
		return r.take(message), nil
	default:
	}
	select {
	case message := <-r.answering.messages:
		return r.take(message), nil
	case <-expired:
		return nil, os.ErrDeadlineExceeded
	case <-done:
		return nil, context.Canceled
	case <-r.upstream.ended:
		select {
		case message := <-r.answering.messages:
			return r.take(message), nil
		default:
			return nil, errEnded
		}
	}
}

func (r *Response) take(message []byte) []byte {
	r.over = ends(gjson.GetBytes(message, "type").Str)
	return message
}

func (r *Response) render(message []byte) []byte {
	return sse.AppendData(nil, "", r.redact(message))
}

// Status implements [turn.Response].
func (r *Response) Status() int { return r.status }

// ContentType implements [turn.Response].
func (r *Response) ContentType() []byte {
	if r.status != http.StatusOK {
		return []byte("application/json")
	}
	return []byte("text/event-stream")
}

// ContentEncoding implements [turn.Response].
func (r *Response) ContentEncoding() []byte { return nil }

// CopyHead implements [turn.Response].
func (r *Response) CopyHead(to packed.HeadWriter) { to.SetStatusCode(r.status) }

// Buffered implements [turn.Response].
func (r *Response) Buffered() bool { return len(r.first) > 0 }

// Framed implements [turn.Response].
func (r *Response) Framed() bool { return r.over }

// Next implements [turn.Response].
func (r *Response) Next() ([]byte, error) {
	if first := r.first; first != nil {
		r.first = nil
		return first, nil
	}
	message, err := r.next(nil)
	if err != nil {
		return nil, err
	}
	return r.render(message), nil
}

// ReadAll implements [turn.Response]. Only an error is read so.
func (r *Response) ReadAll(limit int) ([]byte, error) {
	body := r.first
	r.first = nil
	if len(body) > limit {
		return nil, errors.New("the error is larger than the limit")
	}
	return r.redact(body), nil
}

// SetReadDeadline implements [turn.Response].
func (r *Response) SetReadDeadline(deadline time.Time) { r.deadline = deadline }

// Close implements [turn.Response]. The rest of the answer is read and dropped.
func (r *Response) Close() { r.answering.leave.Do(func() { close(r.answering.left) }) }
