package app_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/approvals/store/subjects"
	"github.com/heldcall/heldcall/proxy"
)

// recorded is a heldcall that has stopped, with a log of some entries.
type recorded struct {
	config app.Config
	first  int // entries that were there when the last checkpoint but one was signed
	count  int
}

// record lets a person approve two calls, with a stop between them, so that the log has two
// checkpoints.
func record(t *testing.T) recorded {
	t.Helper()
	var r recorded
	w := build(t, askAll, callThenText, restarting(&r.config))
	approveOne(w)
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	r.first = len(stored(t, r.config.NATS.Dir))
	w.start(r.config)
	approveOne(w)
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	r.count = len(stored(t, r.config.NATS.Dir))
	return r
}

func approveOne(w *world) {
	c := w.post("/v1/chat/completions", wholeRequest)
	request := w.pending(1)[0]
	w.decide(request.ID, approvals.Decision{Action: approvals.ActionApprove, Note: "a\u2028b\u2029c <\xff>"})
	c.rest()
}

// openStore opens the store of a heldcall that has stopped.
func openStore(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Dir: dir, Listen: "-"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stored returns the messages of the audit log.
func stored(t *testing.T, dir string) []*natsgo.Msg {
	t.Helper()
	s := openStore(t, dir)
	defer s.Close()
	var all []*natsgo.Msg
	for entry, err := range s.Events.Entries(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &natsgo.Msg{Subject: subjects.OfEvent(entry.Event), Data: entry.Data})
	}
	return all
}

// rewrite replaces the audit log of a store.
func rewrite(t *testing.T, dir string, first uint64, log []*natsgo.Msg) {
	t.Helper()
	s := openStore(t, dir)
	defer s.Close()
	js, err := jetstream.New(s.Conn())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), subjects.StreamEvents)
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.FirstSeq = first
	if err := js.DeleteStream(t.Context(), subjects.StreamEvents); err != nil {
		t.Fatal(err)
	}
	if log == nil {
		return
	}
	if _, err := js.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	for _, msg := range log {
		if _, err := js.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
}

var entryEnd = regexp.MustCompile(`,"seq":\d+,"prev_hash":"[0-9a-f]*","hash":"[0-9a-f]*"}$`)

// reseal makes a valid chain of entries, as everybody can who knows the format.
func reseal(log []*natsgo.Msg) []*natsgo.Msg {
	prev := ""
	for i, msg := range log {
		body := fmt.Appendf(nil, `%s,"seq":%d,"prev_hash":"%s"`, entryEnd.ReplaceAll(msg.Data, nil), i+1, prev)
		sum := sha256.Sum256(body)
		prev = hex.EncodeToString(sum[:])
		log[i] = &natsgo.Msg{Subject: msg.Subject, Data: fmt.Appendf(body, `,"hash":"%s"}`, prev)}
	}
	return log
}

func forged(msg *natsgo.Msg) *natsgo.Msg {
	return &natsgo.Msg{Subject: msg.Subject, Data: bytes.Replace(msg.Data, []byte(`"id":"0`), []byte(`"id":"1`), 1)}
}

// copyState copies the state and returns a configuration for it.
func (r recorded) copyState(t *testing.T) app.Config {
	t.Helper()
	c, dir := r.config, t.TempDir()
	c.NATS.Dir = filepath.Join(dir, "data")
	for from, to := range map[string]string{r.config.NATS.Dir: c.NATS.Dir, r.config.AuditDir(): c.AuditDir()} {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// startOnce starts a heldcall and stops it. It returns its log, and why it did not start.
func startOnce(t *testing.T, c app.Config, acceptLoss bool) (string, error) {
	t.Helper()
	var text logged
	a, err := app.New(app.Options{Config: c, Version: "test", Log: slog.New(slog.NewTextHandler(&text, nil)), AcceptLoss: acceptLoss}.
		WithCanary(func(context.Context, *proxy.Proxy) error { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		select {
		case <-a.Started():
			cancel()
		case <-ctx.Done():
		}
	}()
	err = a.Run(ctx)
	return text.String(), err
}

// tamperings change a log. Each returns the first bad entry; entries count from 1.
func tamperings(r recorded) map[string]func(log []*natsgo.Msg) (changed []*natsgo.Msg, first, bad int) {
	n := r.count
	return map[string]func([]*natsgo.Msg) ([]*natsgo.Msg, int, int){
		"changed": func(log []*natsgo.Msg) ([]*natsgo.Msg, int, int) { log[2] = forged(log[2]); return log, 1, 3 },
		"last changed": func(log []*natsgo.Msg) ([]*natsgo.Msg, int, int) {
			log[n-1] = forged(log[n-1])
			return log, 1, n
		},
		"not JSON": func(log []*natsgo.Msg) ([]*natsgo.Msg, int, int) {
			log[3].Data = []byte("x")
			return log, 1, 4
		},
		"changed and hashed": func(log []*natsgo.Msg) ([]*natsgo.Msg, int, int) {
			log[2] = forged(log[2])
			return reseal(log), 1, r.first - 1 // which the first checkpoint covers
		},
		"inserted and hashed": func(log []*natsgo.Msg) ([]*natsgo.Msg, int, int) {
			return reseal(slices.Insert(log, 2, forged(log[2]))), 1, r.first - 1
		},
		"inserted": func(log []*natsgo.Msg) ([]*natsgo.Msg, int, int) {
			return slices.Insert(log, 4, log[3]), 1, 5
		},
		"reordered": func(log []*natsgo.Msg) ([]*natsgo.Msg, int, int) {
			log[2], log[3] = log[3], log[2]
			return log, 1, 3
		},
		"removed":    func(log []*natsgo.Msg) ([]*natsgo.Msg, int, int) { return slices.Delete(log, 2, 3), 1, 3 },
		"end cut":    func(log []*natsgo.Msg) ([]*natsgo.Msg, int, int) { return log[:n-2], 1, n - 1 },
		"half cut":   func(log []*natsgo.Msg) ([]*natsgo.Msg, int, int) { return log[:r.first], 1, r.first + 1 },
		"start cut":  func(log []*natsgo.Msg) ([]*natsgo.Msg, int, int) { return log[2:], 3, 3 },
		"renumbered": func(log []*natsgo.Msg) ([]*natsgo.Msg, int, int) { return log[2:], 1, 1 },
		"emptied":    func(log []*natsgo.Msg) ([]*natsgo.Msg, int, int) { return log[:0], 1, 1 },
		"removed whole": func([]*natsgo.Msg) ([]*natsgo.Msg, int, int) {
			return nil, 0, 1
		},
	}
}

// TestTamperingIsFoundAtTheStart: heldcall does not start with a log that somebody has
// changed, and the error names the first bad entry. With AcceptLoss it starts, records that,
// and starts again without it.
func TestTamperingIsFoundAtTheStart(t *testing.T) {
	r := record(t)
	if log, err := startOnce(t, r.copyState(t), false); err != nil || !strings.Contains(log, fmt.Sprintf("msg=\"audit log verified\" component=audit entries=%d from=1 to=%d not_verified=0", r.count, r.count)) {
		t.Fatalf("%v, %s", err, log)
	}
	for name, tamper := range tamperings(r) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := r.copyState(t)
			log, first, bad := tamper(stored(t, c.NATS.Dir))
			rewrite(t, c.NATS.Dir, uint64(first), log)
			_, err := startOnce(t, c, false)
			var broken *audit.BrokenError
			missing := err != nil && strings.Contains(err.Error(), "stream HELDCALL_EVENTS") // found before the log is read
			if !missing && (!errors.As(err, &broken) || broken.Seq != uint64(bad)) {
				t.Fatalf("the start fails with %v, want entry %d", err, bad)
			}
			if _, err := startOnce(t, c, true); err != nil {
				t.Fatalf("with the loss accepted: %v", err)
			}
			log = stored(t, c.NATS.Dir)
			note := fmt.Sprintf(`"note":"audit chain broken at entry %d: `, bad)
			if missing {
				note = "HELDCALL_EVENTS"
			}
			if !slices.ContainsFunc(log, func(m *natsgo.Msg) bool {
				return bytes.Contains(m.Data, []byte(`"type":"loss_accepted"`)) && bytes.Contains(m.Data, []byte(note))
			}) {
				t.Errorf("the log of %d entries has no loss_accepted with %s", len(log), note)
			}
			if _, err := startOnce(t, c, false); err != nil {
				t.Errorf("after the loss was accepted: %v", err)
			}
		})
	}
}

// TestStateRemoved: the folder of the state is gone, and the checkpoint shows it.
func TestStateRemoved(t *testing.T) {
	r := record(t)
	c := r.copyState(t)
	if err := os.RemoveAll(c.NATS.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := startOnce(t, c, false); err == nil || !strings.Contains(err.Error(), "broken at entry 1: it is missing") || !strings.Contains(err.Error(), "--accept-loss") {
		t.Errorf("the start fails with %v", err)
	}
}
