package audit

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// seal makes an entry by encoding the whole event with its place.
func seal(e approvals.Event, head Head) (Entry, error) {
	e.Seq, e.PrevHash, e.Hash = head.Seq+1, head.Hash, ""
	text, err := approvals.EncodeJSON(e)
	if err != nil {
		return Entry{}, err
	}
	body := text[:len(text)-len(hashMember+`""}`)]
	e.Hash = hashOf(body)
	return Entry{Seq: e.Seq, Event: e, Data: fmt.Appendf(body, `%s%q}`, hashMember, e.Hash)}, nil
}

// An event becomes the same entry whether it is encoded before or after its place in the chain is known.
func FuzzSeal(f *testing.F) {
	f.Add("01", "read_file", "", []byte(`{"a":1}`), uint64(0), "")
	f.Add("01", "\u2028<\xff", `"seq":0,"prev_hash":"","hash":""}`, []byte(nil), uint64(1<<63), "00ff")
	f.Add("", "", "", []byte(`"hash":""}`), ^uint64(0), "\"\x01\xff")
	f.Fuzz(func(t *testing.T, id, tool, note string, before []byte, seq uint64, hash string) {
		e := approvals.Event{ID: id, ToolName: tool, Note: note, Before: before, Seq: 7, PrevHash: "x", Hash: "y"}
		head := Head{seq, hash}
		want, failed := seal(e, head)
		u, err := encode(e)
		if (err != nil) != (failed != nil) {
			t.Fatalf("%v, want %v", err, failed)
		}
		if err != nil {
			return
		}
		got, err := u.seal(head)
		if err != nil || !bytes.Equal(got.Data, want.Data) || got.Event.Hash != want.Event.Hash || got.Seq != want.Seq {
			t.Fatalf("%s, %v\nwant %s", got.Data, err, want.Data)
		}
	})
}
