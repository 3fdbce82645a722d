package journal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
)

// Crashes, and writes that fail or are torn, of which any sectors are on disk: nothing that was acknowledged is
// lost, and nothing is in the log twice.
func TestCrashWithinAWrite(t *testing.T) {
	for n := range 8 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(n, "-", seed), func(t *testing.T) {
			m := &crashModel{random: rand.New(rand.NewPCG(seed, 0)), path: filepath.Join(t.TempDir(), FileName)}
			for range 6 {
				m.process(t)
			}
			m.check(t)
		})
	}
}

// crashModel is a log and what its callers know.
type crashModel struct {
	random       *rand.Rand
	path         string
	stream       stream
	acknowledged []string
	events       int
	again        []approvals.Event // a group whose append has failed
}

// group returns some new events, or some of those whose append has failed.
func (m *crashModel) group() (g []approvals.Event) {
	if m.again != nil && m.random.IntN(2) == 0 {
		return m.again[:1+m.random.IntN(len(m.again))]
	}
	sizes := []int{10, 300, 5000, 60000}
	for range 1 + m.random.IntN(3) {
		g = append(g, events(fmt.Sprint(m.events), 1, sizes[m.random.IntN(len(sizes))])...)
		m.events++
	}
	return g
}

// process appends groups until it crashes.
func (m *crashModel) process(t *testing.T) {
	j := open(t, m.path, &m.stream)
	log := logOn(j)
	m.again = nil // callers end with their process; later ones look for the event
	for range m.random.IntN(12) {
		j.size = 150_000 // so that records are overwritten
		g := m.group()
		if m.random.IntN(3) == 0 {
			m.scatter(t, j, g)
			unwritable, err := os.Open(m.path)
			if err != nil {
				t.Fatal(err)
			}
			_ = j.file.Close()
			j.file = unwritable // until it is opened again, if that write is not the first that fails
		}
		if log.Append(t.Context(), g...) != nil {
			m.again = g
			continue
		}
		m.again = nil
		for _, e := range g {
			m.acknowledged = append(m.acknowledged, e.ID)
		}
	}
	if m.random.IntN(3) == 0 {
		m.scatter(t, j, m.group())
	}
	j.kill()
	_ = j.file.Close()
}

// scatter writes any sectors of the records of a group to where they belong.
func (m *crashModel) scatter(t *testing.T, j *Journal, g []approvals.Event) {
	next := &nextEntries{head: j.head}
	if err := logOn(next).Append(t.Context(), g...); err != nil {
		t.Fatal(err)
	}
	var records []byte
	for _, entry := range next.entries {
		records = appendRecord(records, entry)
	}
	at := j.end
	if j.failed || at+len(records) > j.size {
		if err := j.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		at = 0
	}
	file, err := os.OpenFile(m.path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	whole := m.random.IntN(3) == 0
	for from := 0; from < len(records); {
		n := min(512-(at+from)%512, len(records)-from)
		if whole || m.random.IntN(3) > 0 {
			if _, err := file.WriteAt(records[from:from+n], int64(at+from)); err != nil {
				t.Fatal(err)
			}
		}
		from += n
	}
}

// check verifies the log after a last start.
func (m *crashModel) check(t *testing.T) {
	if err := open(t, m.path, &m.stream).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	ids := m.stream.ids(t)
	at := map[string]int{}
	for i, id := range ids {
		if first, twice := at[id]; twice {
			t.Errorf("event %s is entry %d and %d", id, first, i)
		}
		at[id] = i
	}
	for _, id := range m.acknowledged {
		if _, there := at[id]; !there {
			t.Errorf("event %s is lost", id)
		}
	}
	if !slices.IsSortedFunc(m.acknowledged, func(a, b string) int { return at[a] - at[b] }) {
		t.Error("events are not in their order")
	}
}

// nextEntries is a log with an end that keeps the entries that are appended.
type nextEntries struct {
	stream
	head    audit.Head
	entries []audit.Entry
}

func (n *nextEntries) Head(context.Context) (audit.Head, error) { return n.head, nil }

func (n *nextEntries) AppendAfter(_ context.Context, _ uint64, entries []audit.Entry) (int, error) {
	n.entries = entries
	return len(entries), nil
}
