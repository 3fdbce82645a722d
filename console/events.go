package console

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/intercept/sse"
)

// events streams the audit log as server-sent events, each with its sequence
// number as id, until the client leaves or the console stops. Without a
// Last-Event-ID it begins with the next event; with 0 at the first.
func (c *Console) events(w http.ResponseWriter, r *http.Request) error {
	from, err := resumeFrom(r.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer context.AfterFunc(c.streams, cancel)()
	defer reviewerOf(r).endWith(cancel)()
	feed := c.subscribe(ctx, from)
	defer func() {
		cancel()
		for range feed { // until the subscription has ended
		}
	}()

	c.metrics.streams.Inc()
	defer c.metrics.streams.Dec()
	w.WriteHeader(http.StatusOK)
	c.stream(ctx, newEventWriter(w), feed)
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

type feedItem struct {
	event approvals.Event
	err   error
}

// subscribe hands on events until the context ends or the subscription fails;
// then it closes the channel.
func (c *Console) subscribe(ctx context.Context, from uint64) <-chan feedItem {
	feed := make(chan feedItem)
	go func() {
		defer close(feed)
		for event, err := range c.gate.Subscribe(ctx, from) {
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
func (c *Console) stream(ctx context.Context, out *eventWriter, feed <-chan feedItem) {
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
			if item.err != nil {
				c.log.Error("event stream failed", "error", item.err)
				_ = out.event("", "problem", problemOf(http.MethodGet, item.err)) // the stream ends either way
				return
			}
			err = out.event(strconv.FormatUint(item.event.Seq, 10), string(item.event.Type), item.event)
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

func (e *eventWriter) comment(text string) error { return e.write(": " + text + "\n\n") }

// event writes one event. An empty id leaves the client's Last-Event-ID as it
// is.
func (e *eventWriter) event(id, name string, value any) error {
	data, err := encode(value)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", id, err)
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return e.write(string(sse.AppendData([]byte(id), name, data)))
}

func (e *eventWriter) write(text string) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(e.w, text); err != nil {
		return err
	}
	return e.control.Flush()
}
