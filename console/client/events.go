package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/intercept/sse"
)

const maxEvent = 256 << 20

// FromNow begins an event stream with the next event.
const FromNow = -1

// Events yields the audit log after a sequence number (0: all of it, [FromNow]:
// what happens next) until the context ends or the console goes away; then the
// error reports why. To continue, call it again with the last Seq.
func (c *Client) Events(ctx context.Context, after int64) iter.Seq2[approvals.Event, error] {
	return func(yield func(approvals.Event, error) bool) {
		header := http.Header{"Accept": {"text/event-stream"}}
		if after >= 0 {
			header.Set("Last-Event-ID", strconv.FormatInt(after, 10))
		}
		response, err := c.send(ctx, http.MethodGet, "/api/v1/events", header, nil)
		if err != nil {
			yield(approvals.Event{}, err)
			return
		}
		defer response.Body.Close()
		if err := readEvents(response.Body, yield); err != nil {
			yield(approvals.Event{}, fmt.Errorf("read events of %s: %w", c.base, err))
		}
	}
}

// readEvents yields what the stream brings. It returns nil if the consumer has
// had enough.
func readEvents(body io.Reader, yield func(approvals.Event, error) bool) error {
	splitter := sse.Splitter{Max: maxEvent}
	block := make([]byte, 16<<10)
	for {
		n, readErr := body.Read(block)
		splitter.Write(block[:n])
		for {
			part, ok, err := splitter.Next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			event, ok, err := decodeEvent(part)
			if err != nil {
				return err
			}
			if ok && !yield(event, nil) {
				return nil
			}
		}
		if errors.Is(readErr, io.EOF) {
			return io.ErrUnexpectedEOF // a stream of events has no end of its own
		}
		if readErr != nil {
			return readErr
		}
	}
}

// decodeEvent reads one part of the stream; comments are no event.
func decodeEvent(part []byte) (event approvals.Event, ok bool, err error) {
	parsed := sse.Parse(part)
	if len(parsed.Data) == 0 {
		return event, false, nil
	}
	if string(parsed.Name) == "problem" {
		var p problem.Problem
		if err := json.Unmarshal(parsed.Joined(), &p); err != nil {
			return event, false, fmt.Errorf("the console reports a problem that cannot be read: %w", err)
		}
		return event, false, &p
	}
	if err := json.Unmarshal(parsed.Joined(), &event); err != nil {
		return event, false, fmt.Errorf("not an event: %w", err)
	}
	return event, true, nil
}
