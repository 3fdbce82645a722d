package sse

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// split splits a stream in blocks of n bytes and returns the parts and the rest.
func split(t testing.TB, stream []byte, n int) (parts []string, rest string) {
	t.Helper()
	var s Splitter
	for len(stream) > 0 {
		k := min(n, len(stream))
		block := bytes.Clone(stream[:k])
		s.Write(block)
		var got [][]byte // parts stay what they are until the next Write
		for {
			part, ok, err := s.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			got = append(got, part)
		}
		for _, part := range got {
			parts = append(parts, string(part))
		}
		clear(block) // the splitter must not look at it again
		stream = stream[k:]
	}
	return parts, string(s.Rest())
}

func TestSplitter(t *testing.T) {
	tests := []struct {
		name, in string
		parts    []string
		rest     string
	}{
		{"lf", "data: a\n\ndata: b\n\n", []string{"data: a\n\n", "data: b\n\n"}, ""},
		{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"data: a\r\n\r\n", "data: b\r\n\r\n"}, ""},
		{"cr", "data: a\r\rdata: b\r\rx", []string{"data: a\r\r", "data: b\r\r"}, "x"},
		{"mixed terminators", "data: a\n\r\ndata: b\r\n\n", []string{"data: a\n\r\n", "data: b\r\n\n"}, ""},
		{"event of several lines", "event: x\ndata: a\ndata: b\n\n", []string{"event: x\ndata: a\ndata: b\n\n"}, ""},
		{"comments go on at once", ": ping\n: pong\ndata: a\n\n", []string{": ping\n", ": pong\n", "data: a\n\n"}, ""},
		{"comment with blank line", ": ping\n\ndata: a\n\n", []string{": ping\n", "\n", "data: a\n\n"}, ""},
		{"comment inside an event", "event: x\n: c\ndata: a\n\n", []string{"event: x\n: c\ndata: a\n\n"}, ""},
		{"no last blank line", "data: a\n\ndata: b\n", []string{"data: a\n\n"}, "data: b\n"},
		{"no last newline", "data: a", nil, "data: a"},
		{"blank lines", "\n\n\n", []string{"\n", "\n", "\n"}, ""},
		{"empty", "", nil, ""},
	}
	for _, tt := range tests {
		for n := 1; n <= max(1, len(tt.in)); n++ {
			parts, rest := split(t, []byte(tt.in), n)
			if d := cmp.Diff(tt.parts, parts); d != "" || rest != tt.rest {
				t.Errorf("%s in blocks of %d: rest %q, parts (-want +got):\n%s", tt.name, n, rest, d)
			}
		}
	}
}

func TestSplitterLimit(t *testing.T) {
	for _, end := range []string{"", "\n", "\n\n", "\n\ndata: y\n\n"} {
		s := Splitter{Max: 16}
		s.Write([]byte("data: " + strings.Repeat("x", 64) + end))
		if _, _, err := s.Next(); !errors.Is(err, ErrPartTooLong) {
			t.Fatalf("end %q: got %v, want ErrPartTooLong", end, err)
		}
	}
}

// A line that comes in many blocks is not searched from its beginning each time.
func BenchmarkLongLine(b *testing.B) {
	block := bytes.Repeat([]byte("x"), 4<<10)
	b.SetBytes(16 << 20)
	for b.Loop() {
		var s Splitter
		for range 4 << 10 {
			s.Write(block)
			if _, ok, _ := s.Next(); ok {
				b.Fatal("a part without an end")
			}
		}
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, in    string
		event       string
		data, stray []string
	}{
		{"plain", "data: a\n\n", "", []string{"a"}, nil},
		{"no blank after the colon", "data:a\n\n", "", []string{"a"}, nil},
		{"two blanks", "data:  a\n\n", "", []string{" a"}, nil},
		{"named", "event: x\ndata: a\ndata: b\n\n", "x", []string{"a", "b"}, nil},
		{"bom", "\xef\xbb\xbfdata: a\n\n", "", []string{"a"}, nil},
		{"blank before the field", " data: a\n\n", "", []string{"a"}, nil},
		{"field without colon", "data\n\n", "", []string{""}, nil},
		{"comment, id and unknown", ": c\nid: 1\nfoo: bar\ndata: a\n\n", "", []string{"a"}, []string{": c", "id: 1", "foo: bar"}},
		{"crlf", "data: a\r\n\r\n", "", []string{"a"}, nil},
		{"two events", "event: x\nevent: y\ndata: a\n\n", "x", []string{"a"}, []string{"event: y"}},
		{"event with an object", "event: {}\n\n", "", nil, []string{"event: {}"}},
		{"unterminated", "data: a\r", "", []string{"a"}, nil},
	}
	for _, tt := range tests {
		e := Parse([]byte(tt.in))
		var data, stray []string
		for _, d := range e.Data {
			data = append(data, string(d))
		}
		for _, s := range e.Stray {
			stray = append(stray, string(s))
		}
		if string(e.Name) != tt.event || !cmp.Equal(data, tt.data) || !cmp.Equal(stray, tt.stray) {
			t.Errorf("%s: got name %q data %q stray %q", tt.name, e.Name, data, stray)
		}
	}
}

func TestAppendData(t *testing.T) {
	got := string(AppendData(nil, "x", []byte("a\nb")))
	if want := "event: x\ndata: a\ndata: b\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzSplitter: whatever the bytes and the blocks, no byte is lost and the
// parts do not depend on the blocks.
func FuzzSplitter(f *testing.F) {
	for _, s := range []string{"data: a\n\ndata: b\n\n", "data: a\r\n\r\n: c\r\n\r\n", "a\r\rb\n\r\n", "\xef\xbb\xbfdata: x"} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, stream []byte, n int) {
		if n < 1 || n > 1<<16 {
			n = 1
		}
		parts, rest := split(t, stream, n)
		if got := strings.Join(parts, "") + rest; got != string(stream) {
			t.Fatalf("bytes lost: got %q, want %q", got, stream)
		}
		whole, wholeRest := split(t, stream, len(stream)+1)
		if !cmp.Equal(parts, whole) || rest != wholeRest {
			t.Fatalf("blocks of %d cut %q and %q, one block %q and %q", n, parts, rest, whole, wholeRest)
		}
	})
}
