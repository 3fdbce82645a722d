package conversation

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/cost"
)

// A large value is written part by part as a copy in order would be.
func TestLargeValuesAreWrittenInOrder(t *testing.T) {
	long := strings.Repeat("iVBORw0KGgo", orderedAtOnce/8)
	for name, value := range map[string]string{
		"a long text":                 long,
		"line ends and quotes":        strings.Repeat(`a line\n of \"text\" \/ and a tab\t, `, orderedAtOnce/20),
		"escapes only":                strings.Repeat(`\n`, orderedAtOnce),
		"surrogate pairs":             strings.Repeat(`x\ud83d\ude00y`, orderedAtOnce/8),
		"pairs at each cut":           strings.Repeat(strings.Repeat("x", orderedAtOnce-6)+`\ud83d\ude00`+strings.Repeat("y", 40), 3),
		"characters of four bytes":    strings.Repeat("\U0001F600", orderedAtOnce),
		"escapes that need none":      strings.Repeat(`\u0061\u00e9`, orderedAtOnce/4) + strings.Repeat("x", 40) + long,
		"characters of two spellings": strings.Repeat("\u00e9 \\u00e9 ", orderedAtOnce/4),
	} {
		for _, frame := range []string{
			`"%s"`, ` { "b" : "%[1]s" , "a":[ 1.0, 1e2,"%[1]s" ] } `, `[[[{"z":{"y":"%[1]s","x":null}, "\u0061":1,"\uffee":2,"\ud83d\ude00":3,"z\n":[]}]], {}, []]`,
			`{"messages":[{"cache_control":{"type":"ephemeral"},"content":[{"text":"%[1]s","cache_control":null},{"cache_control":"kept","text":"%[1]s"}]}],"cache_control":{"ttl":1}}`,
			strings.Repeat(`{"a":[`, 10) + `"%s"` + strings.Repeat(`]}`, 10),
		} {
			body := fmt.Sprintf(frame, value)
			want, err := inOrder([]byte(body))
			if err != nil {
				t.Fatalf("%s in %.60s: %v", name, frame, err)
			}
			for _, depth := range []int{0, 1, 3, orderedDepth} {
				var got bytes.Buffer
				if err := writeInOrder(&got, []byte(strings.TrimSpace(body)), depth); err != nil || !bytes.Equal(got.Bytes(), want) {
					t.Errorf("%s in %.60s, depth %d: %d bytes, want %d, %v", name, frame, depth, got.Len(), len(want), err)
				}
			}
		}
	}
}

// The digest of a large request is that of the same request written in another way, as for small ones.
func TestLikenessOfLargeRequests(t *testing.T) {
	digest := func(body string) Likeness {
		r := chatRequest()
		r.Envelope.Body = []byte(body)
		c := newBench().unread(r)
		if refusal := c.read(); refusal != nil {
			t.Fatal(refusal)
		}
		return c.Likeness("model:1")
	}
	for _, size := range []int{10, 3 * orderedAtOnce} {
		text := strings.Repeat("x", size)
		one := digest(`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"` + text + `"}]},{"role":"user","content":"go\n"}]}`)
		two := digest(`{ "messages":[{"content":[{"text":"` + text + `", "type":"text","cache_control":{"type":"ephemeral"}}],"role":"user"},{"content":"go\u000a","role":"user"}],"model" : "m"}`)
		if one.Content == "" || one != two {
			t.Errorf("%d bytes: %+v is not %+v", size, one, two)
		}
		if other := digest(`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"` + text + `y"}]},{"role":"user","content":"go\n"}]}`); other.Content == one.Content {
			t.Errorf("%d bytes: another request has the same digest", size)
		}
	}
}

// The digest of a large request takes a fraction of its size: twelve agents with images would need all the memory
// of a pod.
func TestLikenessCopiesNoLargeBody(t *testing.T) {
	item := `{"role":"user","content":[{"cache_control":{"type":"ephemeral"},"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("iVBORw0KGgoA", 20_000) + `"}}]}`
	body := `{"model":"m","messages":[` + strings.TrimSuffix(strings.Repeat(item+",", 40), ",") + `]}`
	r := chatRequest()
	r.Envelope.Body = []byte(body)
	c := newBench().unread(r)
	if refusal := c.read(); refusal != nil {
		t.Fatal(refusal)
	}
	if got := cost.Allocated(func() { c.Likeness("model:1") }); got > uint64(len(body))/4 {
		t.Errorf("the digest of %d bytes allocates %d", len(body), got)
	}
}
