package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/embedded"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

const (
	storedRequests = 4
	streamsFolder  = "jetstream/$G/streams"
	requestsBlocks = streamsFolder + "/KV_" + BucketRequests + "/msgs"
	eventsFolder   = streamsFolder + "/" + subjects.StreamEvents
)

func requestID(i int) string { return fmt.Sprintf("01M828KGBK7FPM9QX4Q0E7N6%02d", i) }

// makeState writes requests of a size, events and a grant. It returns a folder with the state
// after an orderly stop, and one as kill -9 leaves it.
func makeState(t *testing.T, size int) (stopped, killed string) {
	t.Helper()
	stopped, killed = t.TempDir(), t.TempDir()
	s, err := Open(t.Context(), Options{Dir: stopped, Listen: "-"})
	if err != nil {
		t.Fatal(err)
	}
	arguments := []byte(`{"text":"` + strings.Repeat("x", size) + `"}`)
	for i := range storedRequests {
		r := approvals.Request{ID: requestID(i), Status: approvals.StatusPending, ToolName: "bash", Arguments: arguments}
		revision, err := s.Requests.CreateRequest(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if i == storedRequests-1 { // its first record is in the block too
			r.Status = approvals.StatusApproved
			if _, err := s.Requests.UpdateRequest(t.Context(), r, revision); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Events.AppendEvents(t.Context(), approvals.Event{ID: requestID(i), Type: approvals.EventApprovalRequired, Time: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Grants.PutGrant(t.Context(), approvals.Grant{ID: "g"}, 0); err != nil {
		t.Fatal(err)
	}
	s.server.local.record()
	awaitCompression(t, filepath.Join(stopped, requestsBlocks))
	if err := os.CopyFS(killed, os.DirFS(stopped)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return stopped, killed
}

// awaitCompression waits until the server has compressed the blocks in a folder, but for the last one.
func awaitCompression(t *testing.T, dir string) {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(dir, "*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(blocks)
	for _, block := range blocks[:len(blocks)-1] {
		for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			content, err := os.ReadFile(block)
			if err == nil && strings.HasPrefix(string(content), "cmp") {
				break
			}
			if time.Since(start) > 20*time.Second {
				t.Fatalf("%s has %d bytes and is not compressed (%v)", block, len(content), err)
			}
		}
	}
}

// lastBlock is in the name of a file for the last block of a stream.
const lastBlock = "LAST"

// find returns the path of a file in a data folder.
func find(dir, file string) (string, error) {
	path := filepath.Join(dir, file)
	if strings.Contains(file, lastBlock) {
		blocks, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.blk"))
		if err != nil {
			return "", err
		}
		path = slices.Max(blocks) // there are less than ten
	}
	_, err := os.Stat(path)
	return path, err
}

// change changes the content of a file.
func change(file string, edit func([]byte) []byte) func(dir string) error {
	return func(dir string) error {
		path, err := find(dir, file)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, edit(content), 0o600)
	}
}

func remove(file string) func(dir string) error {
	return func(dir string) error {
		path, err := find(dir, file)
		if err != nil {
			return err
		}
		return os.RemoveAll(path)
	}
}

func cut(length func([]byte) int) func([]byte) []byte {
	return func(content []byte) []byte { return content[:length(content)] }
}

func add(tail []byte) func([]byte) []byte {
	return func(content []byte) []byte { return append(content, tail...) }
}

// secondRecord returns the offset of the second record of a block.
func secondRecord(block []byte) int { return int(binary.LittleEndian.Uint32(block) &^ (1 << 31)) }

func invert(at func([]byte) int) func([]byte) []byte {
	return func(content []byte) []byte {
		content[at(content)] ^= 0xff
		return content
	}
}

// Missing and damaged files of the data folder are reported at the start, and no file is
// changed. The rest of the state can be used after --accept-loss. The remains of an
// interrupted write are no loss.
func TestDamagedState(t *testing.T) {
	const all = storedRequests
	middle := func(content []byte) int { return len(content) / 2 }
	beforeEnd := func(content []byte) int { return len(content) - 10 }
	nothing := func([]byte) int { return 0 }
	type damages map[string]struct {
		damage func(dir string) error
		want   []string // in the error; nil: no error
		left   int      // requests that can be read after --accept-loss
		both   bool     // the state after an orderly stop too: it has indexes
	}
	run := func(size int, tests damages) {
		stopped, killed := makeState(t, size)
		for name, test := range tests {
			for state, from := range map[string]string{"stopped": stopped, "killed": killed} {
				if state == "stopped" && !test.both {
					continue
				}
				t.Run(name+", "+state, func(t *testing.T) {
					dir := t.TempDir()
					if err := errors.Join(os.CopyFS(dir, os.DirFS(from)), test.damage(dir)); err != nil {
						t.Fatal(err)
					}
					checkDamaged(t, dir, test.want, test.left)
				})
			}
		}
	}
	run(10, damages{
		"nothing":                            {damage: func(string) error { return nil }, both: true},
		"the server's index":                 {damage: func(dir string) error { return os.RemoveAll(filepath.Join(dir, requestsBlocks, "index.db")) }},
		"an unfinished record":               {damage: change(requestsBlocks+"/1.blk", add([]byte("\x40\x00\x00\x00\x55")))},
		"unwritten bytes at the end":         {damage: change(requestsBlocks+"/1.blk", add(make([]byte, 5000)))},
		"an empty block":                     {damage: func(dir string) error { return os.WriteFile(filepath.Join(dir, requestsBlocks, "2.blk"), nil, 0o600) }},
		"a byte of a record":                 {change(requestsBlocks+"/1.blk", invert(middle)), []string{"KV_heldcall_requests", "1.blk", "damaged records", "the first missing sequence is "}, all - 1, true},
		"a byte of a length":                 {change(requestsBlocks+"/1.blk", invert(secondRecord)), []string{"KV_heldcall_requests", "1.blk", "damaged records", "the first missing sequence is 2"}, all - 1, false},
		"the end of a record":                {change(requestsBlocks+"/1.blk", cut(beforeEnd)), []string{"KV_heldcall_requests", "damaged records", "the first missing sequence is 5"}, all, false},
		"a byte of an event":                 {change(eventsFolder+"/msgs/1.blk", invert(middle)), []string{subjects.StreamEvents, "1.blk", "damaged records"}, all, false},
		"the events at the end":              {change(eventsFolder+"/msgs/1.blk", cut(secondRecord)), []string{subjects.StreamEvents, "up to sequence 4 are missing at the end", "sequence is 2"}, all, true},
		"a configuration":                    {remove(eventsFolder + "/meta.inf"), []string{subjects.StreamEvents, "meta.inf", "no such file"}, all, false},
		"a checksum of one":                  {remove(eventsFolder + "/meta.sum"), []string{subjects.StreamEvents, "meta.sum", "no such file"}, all, false},
		"a byte of a configuration":          {change(eventsFolder+"/meta.inf", invert(middle)), []string{subjects.StreamEvents, "meta.inf", "the checksum is wrong"}, all, false},
		"a stream":                           {remove(eventsFolder), []string{subjects.StreamEvents, "the stream is missing", "sequence is 1"}, all, false},
		"a bucket":                           {remove(streamsFolder + "/KV_" + BucketGrants), []string{"KV_heldcall_grants", "the stream is missing"}, all, false},
		"all streams":                        {remove("jetstream"), []string{"KV_heldcall_grants", "KV_heldcall_requests", subjects.StreamEvents}, 0, false},
		"the recorded states":                {remove("heldcall.streams"), []string{"heldcall.streams", "the file is missing"}, all, false},
		"the content of the recorded states": {change("heldcall.streams", cut(nothing)), []string{"heldcall.streams", "JSON"}, all, false},
	})
	run(5<<19, damages{ // a block for each
		"a byte of a compressed block": {change(requestsBlocks+"/1.blk", invert(middle)), []string{"KV_heldcall_requests", "1.blk", "damaged records", "sequence is 1"}, all - 1, true},
		"the checksum of one":          {change(requestsBlocks+"/1.blk", invert(func([]byte) int { return 24 })), []string{"KV_heldcall_requests", "1.blk", "damaged records"}, all, true},
		"the end of one":               {change(requestsBlocks+"/1.blk", cut(middle)), []string{"KV_heldcall_requests", "1.blk", "damaged records", "sequence is 1"}, all - 1, true},
		"the end of the last block, compressed": {func(dir string) error {
			return change(requestsBlocks+"/"+lastBlock, func(content []byte) []byte { return cut(middle)(compressed(t, content)) })(dir)
		}, []string{"KV_heldcall_requests", "damaged records"}, -1, false},
		"the first block": {remove(requestsBlocks + "/1.blk"), []string{"KV_heldcall_requests", "records are missing", "sequence is 1"}, all - 1, false},
		"a middle block":  {remove(requestsBlocks + "/2.blk"), []string{"KV_heldcall_requests", "records are missing"}, all - 1, false},
		"the last block":  {remove(requestsBlocks + "/" + lastBlock), []string{"KV_heldcall_requests", "missing at the end"}, all - 1, false},
	})
}

// A crash may leave a compressed block as the last one with records, and unfinished files of others.
// Later records can be read.
func TestCompressedLastBlock(t *testing.T) {
	_, killed := makeState(t, 5<<19)
	for name, after := range map[string][]byte{"alone": nil, "before an empty one": {}, "before an unfinished record": []byte("\x40\x00\x00\x00\x55")} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(killed)); err != nil {
				t.Fatal(err)
			}
			compress := change(requestsBlocks+"/"+lastBlock, func(content []byte) []byte { return compressed(t, content) })
			unfinished := filepath.Join(dir, requestsBlocks, "1.blk.tmp")
			if err := errors.Join(compress(dir), os.WriteFile(unfinished, []byte("cmp"), 0o600)); err != nil {
				t.Fatal(err)
			}
			if after != nil {
				if err := os.WriteFile(filepath.Join(dir, requestsBlocks, "9.blk"), after, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			checkDamaged(t, dir, nil, storedRequests)
			s, err := Open(t.Context(), Options{Dir: dir, Listen: "-"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Requests.CreateRequest(t.Context(), approvals.Request{ID: requestID(50), Arguments: []byte(`{}`)}); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if s, err = Open(t.Context(), Options{Dir: dir, Listen: "-"}); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Requests.GetRequest(t.Context(), requestID(50)); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(unfinished); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the file of an unfinished compression: %v", err)
			}
		})
	}
}

// compressed returns the content of a block as nats-server compresses it.
func compressed(t *testing.T, content []byte) []byte {
	t.Helper()
	info := server.CompressionInfo{Algorithm: server.S2Compression, OriginalSize: uint64(len(content))}
	compressed, err := info.Algorithm.Compress(content)
	if err != nil {
		t.Fatal(err)
	}
	return append(info.MarshalMetadata(), compressed...)
}

func checkDamaged(t *testing.T, dir string, want []string, left int) {
	s, err := Open(t.Context(), Options{Dir: dir, Listen: "-"})
	if len(want) == 0 {
		if err != nil {
			t.Fatal("no loss: ", err)
		}
		defer s.Close()
		if n := countRequests(t, s); n != storedRequests {
			t.Errorf("%d of %d requests can be read", n, storedRequests)
		}
		return
	}
	var lost *embedded.LossError
	if err == nil {
		defer s.Close()
	}
	if !errors.As(err, &lost) {
		t.Fatalf("the start reports %v", err)
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
	s, err = Open(t.Context(), Options{Dir: dir, Listen: "-", AcceptLoss: true})
	if err != nil {
		t.Fatalf("with --accept-loss: %v", err)
	}
	if s.Loss() != lost.Details() {
		t.Errorf("the accepted loss is %q, the reported %q", s.Loss(), lost.Details())
	}
	if n := countRequests(t, s); left >= 0 && n != left {
		t.Errorf("%d requests can be read, want %d", n, left)
	}
	if _, err := s.Requests.CreateRequest(t.Context(), approvals.Request{ID: requestID(50), Arguments: []byte(`{}`)}); err != nil {
		t.Error(err)
	}
	if err := s.Events.AppendEvents(t.Context(), approvals.Event{ID: requestID(50), Type: approvals.EventApprovalRequired, Time: time.Now()}); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	again, err := embedded.Start(embedded.Options{Dir: dir, Listen: "-", Kept: kept(0), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("an accepted loss is reported again: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func countRequests(t *testing.T, s *Store) (n int) {
	t.Helper()
	for i := range storedRequests {
		_, err := s.Requests.GetRequest(context.WithoutCancel(t.Context()), requestID(i))
		switch {
		case err == nil:
			n++
		case !errors.Is(err, approvals.ErrUnknownRequest):
			t.Error(err)
		}
	}
	return n
}
