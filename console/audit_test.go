package console_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/console"
	"github.com/heldcall/heldcall/console/client"
)

// auditLog is an audit log of so many events, a second apart, each as large as
// data.
type auditLog struct {
	events int
	data   string
}

// entryOf is an event as the log has it.
func entryOf(e approvals.Event) audit.Entry {
	data, err := approvals.EncodeJSON(e)
	if err != nil {
		panic(err)
	}
	return audit.Entry{Seq: e.Seq, Event: e, Data: data}
}

var firstEvent = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func (l auditLog) EntriesFrom(_ context.Context, after uint64, since time.Time) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		for seq := after + 1; seq <= uint64(l.events); seq++ {
			at := firstEvent.Add(time.Duration(seq) * time.Second)
			if !at.Before(since) && !yield(entryOf(approvals.Event{Seq: seq, Time: at, Before: []byte(l.data)}), nil) {
				return
			}
		}
	}
}

// TestAudit reads the whole log page by page, and from a time on.
func TestAudit(t *testing.T) {
	large := make([]byte, 5<<20)
	for i := range large {
		large[i] = '1'
	}
	for _, tt := range []struct {
		log   auditLog
		since time.Duration
		want  uint64 // the first
	}{
		{auditLog{1203, "1"}, 0, 1},
		{auditLog{1203, "1"}, 1000 * time.Second, 1000},
		{auditLog{3, string(large)}, 0, 1}, // a page ends early
		{auditLog{0, "1"}, 0, 1},
	} {
		c := connectTo(t, console.Options{Listen: "127.0.0.1:0", Audit: tt.log})
		next := tt.want
		for e, err := range c.Audit(t.Context(), firstEvent.Add(tt.since)) {
			if err != nil || e.Seq != next {
				t.Fatalf("event %d, want %d (%v)", e.Seq, next, err)
			}
			next++
		}
		if next != uint64(tt.log.events)+1 {
			t.Errorf("the log ends before event %d of %d", next, tt.log.events)
		}
	}
}

// TestAuditEntriesAreAsHashed: the route answers with the bytes of an entry, whatever text is
// in it.
func TestAuditEntriesAreAsHashed(t *testing.T) {
	for _, data := range []string{
		`{"id":"1","note":"a\u2028b\u2029c","seq":1}`,
		"{\"id\":\"1\",\"note\":\"a\u2028b\",\"seq\":1}",
		`{"id":"1","note":"\u003c\ufffd\ud800","before":{"a":1.0,"a":1e400},"seq":1}`,
		"{\"id\":\"1\",\"before\":\"\xff\",\"seq\":1}",
	} {
		c := connectTo(t, console.Options{Listen: "127.0.0.1:0", Audit: storedEntry(data)})
		n := 0
		for entry, err := range c.AuditEntries(t.Context(), 0, time.Time{}) {
			if n++; err != nil || entry.Seq != 1 || string(entry.Data) != data {
				t.Errorf("%q is answered as %q (%v)", data, entry.Data, err)
			}
		}
		if n != 1 {
			t.Errorf("%q: %d entries", data, n)
		}
	}
}

// storedEntry is an audit log of one entry.
type storedEntry string

func (l storedEntry) EntriesFrom(context.Context, uint64, time.Time) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) { yield(audit.Entry{Seq: 1, Data: []byte(l)}, nil) }
}

type brokenLog struct{}

func (brokenLog) EntriesFrom(context.Context, uint64, time.Time) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		yield(audit.Entry{}, approvals.ErrStoreUnavailable)
	}
}

func TestAuditThatCannotBeRead(t *testing.T) {
	c := connectTo(t, console.Options{Listen: "127.0.0.1:0", Audit: brokenLog{}})
	for _, err := range c.Audit(t.Context(), firstEvent) {
		if !errors.Is(err, approvals.ErrStoreUnavailable) {
			t.Errorf("it fails with %v", err)
		}
		return
	}
	t.Error("it does not fail")
}

// TestAuditPageCountsEverything: whatever makes an event large, a page ends early.
func TestAuditPageCountsEverything(t *testing.T) {
	large := strings.Repeat("1", 4<<20+1) // two are more than a page has
	for what, e := range map[string]approvals.Event{
		"arguments": {Before: []byte(large)},
		"an edit":   {After: []byte(large)},
		"a note":    {Note: large},
		"a grant":   {Grant: &approvals.Grant{Patterns: []string{large}}},
		"its note":  {Grant: &approvals.Grant{Note: large}},
	} {
		answer, err := http.Get("http://" + serve(t, console.Options{Listen: "127.0.0.1:0", Audit: eventAgain{e}}) + "/api/v1/audit?limit=10")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		page := gjson.GetManyBytes(body, "items.#", "next_cursor")
		if err != nil || page[0].Raw != "2" || page[1].Str != "2" {
			t.Errorf("%s: a page has %s events, the next begins after %s (%v)", what, page[0].Raw, page[1].Raw, err)
		}
	}
}

// eventAgain is an audit log that is one event again and again.
type eventAgain struct{ event approvals.Event }

func (l eventAgain) EntriesFrom(context.Context, uint64, time.Time) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		for e := l.event; ; {
			if e.Seq++; !yield(entryOf(e), nil) {
				return
			}
		}
	}
}

// connectTo starts a console and returns a client of it.
func connectTo(t *testing.T, o console.Options) *client.Client {
	t.Helper()
	c, err := client.New("http://" + serve(t, o))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serve starts a console and returns its address.
func serve(t *testing.T, o console.Options) string {
	t.Helper()
	server, err := console.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return server.Addr()
}
