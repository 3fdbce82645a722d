package console

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/heldcall/heldcall/intercept/sse"
)

// eventWriter writes server-sent events, each flushed, each within a deadline of
// its own so that a reader who stalls is dropped and a slow one is not.
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

func appendEvent(dst []byte, name string, value any) ([]byte, error) {
	data, err := encode(value)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", name, err)
	}
	return sse.AppendData(dst, name, data), nil
}
