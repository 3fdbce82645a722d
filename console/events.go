package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/intercept/sse"
)

// events streams the audit log as server-sent events, each with its sequence
// number as id, until the client leaves or the console stops. Without a
// Last-Event-ID, and with one that this log does not have yet, it begins with the next
// event; with 0 at the first. With requests=true each event about a request is followed
// by that request as it stands by then, unless it has been told how that ended.
func (c *Console) events(w http.ResponseWriter, r *http.Request) error {
	from, err := resumeFrom(r.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	if from, err = c.inThisLog(r.Context(), from); err != nil {
		return err
	}
	requests, err := parseEventsQuery(r.URL.RawQuery)
	if err != nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, err.Error())
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return nil
	}
	who := reviewerOf(r)
	if _, err := c.sockets.enter(who.Name); err != nil {
		return notEntered(err)
	}
	defer c.sockets.leave(who.Name)
	ctx, cancel := context.WithCancel(r.Context())
	defer context.AfterFunc(c.streams, cancel)()
	defer who.endWith(cancel)()
	feed := c.subscribe(ctx, from)
	defer func() {
		cancel()
		for range feed { // until the subscription has ended
		}
	}()

	c.metrics.streams.Inc()
	defer c.metrics.streams.Dec()
	w.WriteHeader(http.StatusOK)
	c.stream(ctx, newEventWriter(w), feed, &tidings{gate: c.gate, requests: requests, ended: map[string]bool{}})
	return nil
}

// resumeFrom is the sequence number to begin with; 0 is the next event.
func resumeFrom(lastEventID string) (uint64, error) {
	if lastEventID == "" {
		return 0, nil
	}
	last, err := strconv.ParseUint(lastEventID, 10, 63)
	if err != nil {
		return 0, problem.New(http.StatusBadRequest, problem.CodeBadRequest,
			fmt.Sprintf("Last-Event-ID: %q is not the id of an event; send the last id you got, or 0 for all", lastEventID))
	}
	return last + 1, nil
}

// inThisLog is the sequence number to begin with where one may be of another log, from
// before the state was restored or begun anew: then it is 0, since who waited for that
// event would hear of none until this log has as many.
func (c *Console) inThisLog(ctx context.Context, from uint64) (uint64, error) {
	if from == 0 {
		return 0, nil
	}
	head, err := c.gate.LastSeq(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the end of the log: %w", err)
	}
	if from > head+1 {
		return 0, nil
	}
	return from, nil
}

// parseEventsQuery reads whether requests are wanted beside the events.
func parseEventsQuery(query string) (requests bool, err error) {
	err = readQuery(query, "parameter", []parameter{{"requests", func(value string) error {
		if value != "true" && value != "false" {
			return errors.New("is neither true nor false, once; with true each request comes too, as it is after an event about it")
		}
		requests = value == "true"
		return nil
	}}})
	return requests, err
}

type feedItem struct {
	event approvals.Event
	err   error
}

// replay waits until a stream may read the events that it has missed: only
// mostReplays streams do so at the same time, so that readers do not slow down the
// log for everybody else. It calls caughtUp with the number of each event that it
// reads, and with 0 at its end.
func (c *Console) replay(ctx context.Context, from uint64) (caughtUp func(seq uint64), err error) {
	if from == 0 {
		return func(uint64) {}, nil
	}
	head, err := c.gate.LastSeq(ctx)
	if err != nil {
		return nil, err
	}
	if from > head {
		return func(uint64) {}, nil
	}
	select {
	case c.replays <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	leave := sync.OnceFunc(func() { <-c.replays })
	return func(seq uint64) {
		if seq == 0 || seq >= head {
			leave()
		}
	}, nil
}

// subscribe hands on events until the context ends or the subscription fails;
// then it closes the channel.
func (c *Console) subscribe(ctx context.Context, from uint64) <-chan feedItem {
	feed := make(chan feedItem)
	go func() {
		defer close(feed)
		caughtUp, err := c.replay(ctx, from)
		if err != nil {
			select {
			case feed <- feedItem{err: err}:
			case <-ctx.Done():
			}
			return
		}
		defer caughtUp(0)
		for event, err := range c.gate.Subscribe(ctx, from) {
			caughtUp(event.Seq)
			select {
			case feed <- feedItem{event, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return feed
}

// stream writes what the feed brings, and a comment whenever it brought nothing
// for one heartbeat.
func (c *Console) stream(ctx context.Context, out *eventWriter, feed <-chan feedItem, told *tidings) {
	if out.comment("heldcall events") != nil {
		return
	}
	heartbeat := time.NewTimer(c.heartbeat)
	defer heartbeat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-heartbeat.C:
			err = out.comment("heartbeat")
		case item, open := <-feed:
			if !open {
				return
			}
			text, failed := told.of(ctx, item)
			if failed != nil {
				if ctx.Err() == nil {
					c.log.Error("event stream failed", "error", failed)
					_ = out.event("problem", problemOf(http.MethodGet, failed)) // the stream ends either way
				}
				return
			}
			err = out.write(text)
		}
		if err != nil {
			return
		}
		heartbeat.Reset(c.heartbeat)
	}
}

// eventWriter writes server-sent events, each flushed, each within a deadline of
// its own so that a reader who stalls is dropped and one who is slow is not.
type eventWriter struct {
	w       io.Writer
	control *http.ResponseController
}

func newEventWriter(w http.ResponseWriter) *eventWriter {
	e := &eventWriter{w: w, control: http.NewResponseController(w)}
	_ = e.control.SetReadDeadline(time.Time{}) // cannot fail on a connection of this server
	return e
}

func (e *eventWriter) comment(text string) error { return e.write([]byte(": " + text + "\n\n")) }

// event writes one event without an id, which leaves the client's Last-Event-ID
// as it is.
func (e *eventWriter) event(name string, value any) error {
	text, err := appendEvent(nil, name, value)
	if err != nil {
		return err
	}
	return e.write(text)
}

func (e *eventWriter) write(text []byte) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := e.w.Write(text); err != nil {
		return err
	}
	return e.control.Flush()
}

// appendEvent appends an event with a value as its data.
func appendEvent(dst []byte, name string, value any) ([]byte, error) {
	data, err := encode(value)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", name, err)
	}
	return sse.AppendData(dst, name, data), nil
}
