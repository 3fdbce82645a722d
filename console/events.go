package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/heldcall/heldcall/console/problem"
)

// events streams the audit log as server-sent events, each with its sequence
// number as id, until the client leaves, its rights change or the console stops. Without a
// Last-Event-ID, and with one that this log does not have yet, it begins with the next
// event; with 0 at the first. With requests=true each event about a request is followed
// by the request as it is by then, unless its end was sent before.
func (h *liveHandlers) events(w http.ResponseWriter, r *http.Request) error {
	from, err := resumeFrom(r.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	if from, err = h.inThisLog(r.Context(), from); err != nil {
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
	if _, err := h.open.enter(who.Name); err != nil {
		return notEntered(err)
	}
	defer h.open.leave(who.Name)
	ctx, cancel := context.WithCancel(r.Context())
	defer context.AfterFunc(h.running, cancel)()
	defer who.EndWith(func(error) { cancel() })()
	feed := h.subscribe(ctx, from)
	defer func() {
		cancel()
		for range feed { // until the subscription has ended
		}
	}()

	h.metrics.streams.Inc()
	defer h.metrics.streams.Dec()
	w.WriteHeader(http.StatusOK)
	h.stream(ctx, newEventWriter(w), feed, &eventFilter{gate: h.requests.gate, requests: requests, ended: map[string]bool{}})
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

// inThisLog is the sequence number to begin with if one may be of another log, from
// before the state was restored or deleted: then it is 0, since a client that waited
// for that event would get none until this log has as many.
func (h *liveHandlers) inThisLog(ctx context.Context, from uint64) (uint64, error) {
	if from == 0 {
		return 0, nil
	}
	head, err := h.gate.LastSeq(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the end of the log: %w", err)
	}
	if from > head+1 {
		return 0, nil
	}
	return from, nil
}

func parseEventsQuery(raw string) (requests bool, err error) {
	err = readQuery(raw, "parameter", []parameter{queryValue("requests", &requests, func(value string) (bool, error) {
		if value != "true" && value != "false" {
			return false, errors.New("is not true or false; true also sends the request after each event about it")
		}
		return value == "true", nil
	})})
	return requests, err
}

// stream writes the items of a feed, and a comment after each heartbeat without one.
func (h *liveHandlers) stream(ctx context.Context, out *eventWriter, feed <-chan feedItem, filter *eventFilter) {
	if out.comment("heldcall events") != nil {
		return
	}
	heartbeat := time.NewTimer(h.heartbeat)
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
			text, failed := filter.encode(ctx, item)
			if failed != nil {
				if ctx.Err() == nil {
					h.log.Error("event stream failed", "error", failed)
					_ = out.event("problem", problemOf(http.MethodGet, failed)) // the stream ends either way
				}
				return
			}
			err = out.write(text)
		}
		if err != nil {
			return
		}
		heartbeat.Reset(h.heartbeat)
	}
}
