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
	"time"

	"github.com/heldcall/heldcall/internal/conformance"
)

// listener is a client without an SDK that sees the heartbeats which the SDKs
// are expected to ignore: the proof that there were any.
type listener struct {
	job   string
	ended chan struct{}
	body  []byte
	err   error
}

// listen starts a job that is held, streamed or whole.
func listen(t *testing.T, baseURL, mode, label string) *listener {
	t.Helper()
	l := &listener{job: strings.Join([]string{"raw", string(hold), mode, label}, "/"), ended: make(chan struct{})}
	ctx, cancel := context.WithTimeout(context.Background(), holdTime(t)+3*time.Minute)
	t.Cleanup(func() { cancel(); <-l.ended })
	go func() {
		defer close(l.ended)
		l.body, l.err = l.post(ctx, baseURL, mode == "stream")
	}()
	return l
}

func (l *listener) post(ctx context.Context, baseURL string, streamed bool) ([]byte, error) {
	body := fmt.Sprintf(`{"model":"gpt-test","stream":%t,"messages":[{"role":"user","content":%q}]}`, streamed, l.job)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, baseURL+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

// judge counts the heartbeats: comments or empty chunks of a stream, newlines
// before a whole answer.
func (l *listener) judge(t *testing.T) {
	<-l.ended
	if l.err != nil {
		t.Fatal(l.err)
	}
	beats := len(l.body) - len(bytes.TrimLeft(l.body, "\n"))
	for line := range bytes.Lines(l.body) {
		if bytes.HasPrefix(line, []byte(":")) || bytes.Contains(line, []byte(`"choices":[]`)) {
			beats++
		}
	}
	if least := int(holdTime(t)/keepalive) - 2; beats < least {
		t.Errorf("%d heartbeats in %v, want at least %d in %q", beats, holdTime(t), least, l.body)
	}
	if calls := conformance.Fold(l.body).Calls(); len(calls) != 2 {
		t.Errorf("the answer holds %d calls, want 2: %s", len(calls), l.body)
	}
}
