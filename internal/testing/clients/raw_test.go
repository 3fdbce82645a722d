//go:build clients

package clients_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/conformance"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// wire is what a client without an SDK has to know of an API.
type wire struct {
	api     fakemodel.API
	dialect conformance.Dialect
	path    string
	body    string // with places for whether it is streamed, and the job
	event   string // a text that only heartbeats in the form of an event hold
	comment string // heartbeat settings under which it is a comment all the same
}

var wires = []wire{
	{
		fakemodel.Chat, conformance.Chat, "/chat/completions",
		`{"model":"gpt-test","stream":%t,"messages":[{"role":"user","content":%q}]}`, `"choices":[]`, "auto comment",
	},
	{
		fakemodel.Responses, conformance.Responses, "/responses",
		`{"model":"gpt-test","stream":%t,"input":%q}`, "event: keepalive\n", "comment",
	},
	{
		fakemodel.Messages, conformance.Messages, "/messages",
		`{"model":"claude-test","max_tokens":4096,"stream":%t,"messages":[{"role":"user","content":%q}]}`, "event: ping\n", "comment",
	},
}

// listener is a client without an SDK that sees the heartbeats which the SDKs
// are expected to ignore: the proof that there were any, and of their form.
type listener struct {
	wire
	job       string
	heartbeat string
	streamed  bool
	ended     chan struct{}
	body      []byte
	err       error
}

// listenAll starts jobs that are held, streamed and whole, in every API.
func listenAll(t *testing.T, baseURL, heartbeat string) []*listener {
	t.Helper()
	var all []*listener
	for _, w := range wires {
		for _, mode := range []string{"whole", "stream"} {
			l := &listener{wire: w, heartbeat: heartbeat, streamed: mode == "stream", ended: make(chan struct{})}
			l.job = strings.Join([]string{"raw " + string(w.api), string(hold), mode, heartbeat}, "/")
			ctx, cancel := context.WithTimeout(context.Background(), holdTime(t)+patience)
			t.Cleanup(func() { cancel(); <-l.ended })
			go func() {
				defer close(l.ended)
				l.body, l.err = l.post(ctx, baseURL)
			}()
			all = append(all, l)
		}
	}
	return all
}

func (l *listener) post(ctx context.Context, baseURL string) ([]byte, error) {
	body := strings.NewReader(fmt.Sprintf(l.wire.body, l.streamed, l.job))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, baseURL+l.path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Anthropic-Version", "2023-06-01")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

// judge counts the heartbeats: comments or events of a stream, newlines before a
// whole answer.
func (l *listener) judge(t *testing.T) {
	<-l.ended
	if l.err != nil {
		t.Fatal(l.err)
	}
	beats := len(l.body) - len(bytes.TrimLeft(l.body, "\n"))
	if l.streamed {
		beats = 0
		for line := range bytes.Lines(l.body) {
			if (strings.Contains(l.comment, l.heartbeat) && bytes.HasPrefix(line, []byte(":"))) ||
				(!strings.Contains(l.comment, l.heartbeat) && bytes.Contains(line, []byte(l.event))) {
				beats++
			}
		}
	}
	if least := int(holdTime(t)/keepalive) / 2; beats < least {
		t.Errorf("%d heartbeats in %v, want at least %d in %q", beats, holdTime(t), least, l.body)
	}
	if calls := l.dialect.Fold(l.body).Calls(); len(calls) != 2 {
		t.Errorf("the answer holds %d calls, want 2: %s", len(calls), l.body)
	}
}
