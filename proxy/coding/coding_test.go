package coding

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	brotli "github.com/molecule-man/go-brrr"
)

// encoder is a writer that can bring what was written to the reader.
type encoder interface {
	io.WriteCloser
	Flush() error
}

// encoders are those of each coding by the name of the coding, and one for the raw form of deflate.
var encoders = map[string]func(io.Writer) encoder{
	"gzip":    func(w io.Writer) encoder { return gzip.NewWriter(w) },
	"deflate": func(w io.Writer) encoder { return zlib.NewWriter(w) },
	"raw":     func(w io.Writer) encoder { e, _ := flate.NewWriter(w, 6); return e },
	"zstd":    func(w io.Writer) encoder { e, _ := zstd.NewWriter(w, zstd.WithWindowSize(1<<20)); return e },
	"br":      func(w io.Writer) encoder { e, _ := brotli.NewWriter(w, 5); return e },
}

func encoded(t testing.TB, name string, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	e := encoders[name](&b)
	if _, err := e.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func parse(t testing.TB, names ...string) Codings {
	t.Helper()
	c, err := Parse([]byte(strings.ReplaceAll(strings.Join(names, ", "), "raw", "deflate")))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// account is one of limit bytes.
type account struct{ limit, used, most int }

func (a *account) Reserve(n int) bool {
	if a.used+n > a.limit {
		return false
	}
	a.used += n
	a.most = max(a.most, a.used)
	return true
}

func (a *account) Return(n int) { a.used -= n }

const mib = 1 << 20

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		values []string
		want   string // the names, ! before an error's text
	}{
		{nil, ""},
		{[]string{""}, ""},
		{[]string{"identity"}, ""},
		{[]string{"none"}, ""},
		{[]string{"Identity, GZIP"}, "gzip"},
		{[]string{"x-gzip"}, "gzip"},
		{[]string{"zstd,\tBR ,, deflate"}, "zstd br deflate"},
		{[]string{"gzip", "br"}, "gzip br"},
		{[]string{"gzip, gzip, gzip, gzip"}, "gzip gzip gzip gzip"},
		{[]string{"gzip, gzip, gzip, gzip", "gzip"}, "!more than 4"},
		{[]string{"compress"}, `!"compress"`},
		{[]string{"gzip;q=1"}, `!"gzip;q=1"`},
		{[]string{"gzip", "aws-chunked"}, `!"aws-chunked"`},
		{[]string{"dcb"}, `!"dcb"`},
		{[]string{strings.Repeat("x", 1000)}, "!" + strings.Repeat("x", maxQuoted) + `" is`},
	} {
		var values [][]byte
		for _, value := range tt.values {
			values = append(values, []byte(value))
		}
		codings, err := Parse(values...)
		if text, fails := strings.CutPrefix(tt.want, "!"); fails || err != nil {
			if !fails || err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%q: %v, want %q", tt.values, err, tt.want)
			}
			continue
		}
		var names []string
		for _, f := range codings {
			names = append(names, f.names[0])
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.values, got, tt.want)
		}
	}
}

// Bodies of each coding, of several, and of other programs are what was encoded.
func TestDecode(t *testing.T) {
	text, err := os.ReadFile("testdata/codex.json")
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 300<<10)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(noise)
	check := func(name string, c Codings, body, want []byte) {
		t.Helper()
		a := account{limit: 64 * mib}
		got, err := c.Decode(body, Limits{Bytes: len(want), Account: &a})
		if err != nil || !bytes.Equal(got, want) || a.used != len(want) {
			t.Errorf("%s: %d bytes, %v, %d are reserved; want %d", name, len(got), err, a.used, len(want))
		}
		if !bytes.Equal(want, noise) {
			checkStream(t, name, c, body, want)
		}
	}
	for name := range encoders {
		for _, want := range [][]byte{nil, []byte("x"), text, bytes.Repeat(text, 100), noise} {
			body := encoded(t, name, want)
			check(name, parse(t, name), body, want)
			for other := range encoders {
				if len(want) > len(text) {
					break // once is enough for large ones
				}
				check(name+", "+other, parse(t, name, other), encoded(t, other, body), want)
			}
		}
	}
	files, _ := filepath.Glob("testdata/*.*")
	for _, file := range files {
		coding := map[string]string{".zst": "zstd", ".gz": "gzip", ".deflate": "deflate", ".br": "br"}[filepath.Ext(file)]
		if coding == "" {
			continue
		}
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		check(file, parse(t, coding), body, text)
	}
	check("no coding", nil, text, text)
	check("a body without bytes", parse(t, "zstd"), nil, nil)
	skippable := binary.LittleEndian.AppendUint32([]byte{0x5a, 0x2a, 0x4d, 0x18}, 3)
	check("a skippable frame", parse(t, "zstd"), append(append(skippable, "abc"...), encoded(t, "zstd", text)...), text)
}

// A body that is cut off anywhere, that has other bytes after its end, or that is damaged is refused.
func TestMalformed(t *testing.T) {
	text := []byte(`{"messages":[{"role":"user","content":"` + strings.Repeat("clean up ", 20) + `"}]}`)
	refused := func(name, what string, body []byte) {
		t.Helper()
		a := account{limit: 64 * mib}
		got, err := parse(t, name).Decode(body, Limits{Bytes: mib, Account: &a})
		if !errors.Is(err, ErrMalformed) || got != nil || a.used != 0 {
			t.Errorf("%s, %s: %q, %v, %d bytes are reserved", name, what, got, err, a.used)
		}
		if _, err := readStream(t, parse(t, name), mib, body); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s, %s, as a stream: %v", name, what, err)
		}
	}
	for name := range encoders {
		body := encoded(t, name, text)
		for n := 1; n < len(body); n++ {
			refused(name, "cut off", body[:n:n])
		}
		for _, after := range []string{"\x00", "x", "\r\n", strings.Repeat("\x00", 100)} {
			refused(name, "trailing bytes", append(bytes.Clone(body), after...))
		}
		refused(name, "not encoded", text)
		if name != "gzip" && name != "zstd" {
			refused(name, "twice", append(bytes.Clone(body), body...))
		}
		for other := range encoders { // a raw body may begin as zlib's does
			if other != name && (name != "deflate" || other != "raw") && (name != "raw" || other != "deflate") {
				refused(name, other, encoded(t, other, text))
			}
		}
	}
	for _, name := range []string{"gzip", "deflate"} { // with checksums
		body := encoded(t, name, text)
		body[len(body)-5]++
		refused(name, "another checksum", body)
	}
	var dictionary bytes.Buffer
	e, _ := zlib.NewWriterLevelDict(&dictionary, 6, []byte("clean up"))
	_, _ = e.Write(text)
	_ = e.Close()
	refused("deflate", "a dictionary", dictionary.Bytes())
	refused("zstd", "a dictionary", []byte{0x28, 0xb5, 0x2f, 0xfd, 0x21, 7, 1, 9, 0, 0, 'x'})
	refused("br", "a large window", []byte{0x11, 0x1e, 0, 0})
}

// bomb is a body that becomes a gigabyte.
func bomb(t testing.TB, name string) []byte {
	t.Helper()
	const size, chunk = 1 << 30, 256 << 10
	if name == "zstd" {
		frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, (17 - 10) << 3} // with a window of 128 KiB
		for n := 0; n < size; n += 128 << 10 {
			frame = append(frame, byte(128<<10<<3&0xff|2), byte(128<<10<<3>>8&0xff), byte(128<<10<<3>>16), 'x') // a block of one byte again and again
		}
		return append(frame, 1, 0, 0)
	}
	var b bytes.Buffer
	e := encoders[name](&b)
	text := bytes.Repeat([]byte("x"), chunk)
	write := func() []byte {
		before := b.Len()
		_, _ = e.Write(text)
		_ = e.Flush()
		return bytes.Clone(b.Bytes()[before:])
	}
	write()
	again := write() // it refers to the window only, which is the same each time
	for n := 2 * chunk; n < size; n += chunk {
		b.Write(again)
	}
	return b.Bytes() // its end is not reached
}

// A small body that becomes a gigabyte is refused when the limit is reached, whichever coding is inside.
func TestBombs(t *testing.T) {
	const limit = 4 * mib
	for name := range encoders {
		body := bomb(t, name)
		if len(body) > 2*mib {
			t.Errorf("%s: the bomb has %d bytes", name, len(body))
		}
		bombs := map[string][]byte{name: body}
		if name == "zstd" || name == "br" {
			bombs[name+", gzip"], bombs[name+", br, zstd"] = encoded(t, "gzip", body), encoded(t, "zstd", encoded(t, "br", body))
		}
		for codings, body := range bombs {
			c := parse(t, strings.Split(codings, ", ")...)
			a := account{limit: 1 << 40}
			if got, err := c.Decode(body, Limits{Bytes: limit, Account: &a}); !errors.Is(err, ErrTooLarge) || got != nil || a.used != 0 || a.most > limit+32*mib {
				t.Errorf("%s: %d bytes, %v, at most %d bytes were reserved, %d are", codings, len(got), err, a.most, a.used)
			}
			s := c.NewStream(whole(body), Limits{Bytes: limit, Account: &a})
			read := 0
			p, err := s.Next()
			for ; err == nil; p, err = s.Next() {
				read += len(p)
			}
			if s.Close(); !errors.Is(err, ErrTooLarge) || read > limit+maxRatio*(len(body)+blockBuffer) || a.used != 0 {
				t.Errorf("%s, as a stream of %d bytes: %d bytes, %v", codings, len(body), read, err)
			}
		}
	}
	empty := bytes.Repeat(encoded(t, "gzip", nil), 10*mib/20) // it becomes nothing
	if _, err := parse(t, "gzip", "zstd").Decode(encoded(t, "zstd", empty), Limits{Bytes: limit}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a gzip bomb of empty members: %v", err)
	}
}

// The account has the decoded bytes, twice while it is joined, and the window.
func TestNoMemory(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), mib/8) // 2 MiB
	for name := range encoders {
		c, packed := parse(t, name), encoded(t, name, body)
		full := account{limit: 1 << 40}
		if _, err := c.Decode(packed, Limits{Bytes: 4 * mib, Account: &full}); err != nil || full.most < 4*mib {
			t.Fatalf("%s: %v, %d bytes were reserved", name, err, full.most)
		}
		for limit := 0; limit < full.most; limit += 300 << 10 {
			a := account{limit: limit}
			_, err := c.Decode(packed, Limits{Bytes: 4 * mib, Account: &a})
			var memory *MemoryError
			if !errors.As(err, &memory) || memory.Needed <= limit || a.used != 0 {
				t.Fatalf("%s with %d bytes: %v, %d are reserved", name, limit, err, a.used)
			}
		}
		s := c.NewStream(whole(packed), Limits{Bytes: 4 * mib, Account: &account{}})
		var memory *MemoryError
		if _, err := s.Next(); !errors.As(err, &memory) {
			t.Errorf("%s, as a stream: %v", name, err)
		}
		s.Close()
	}
}

// Windows beyond those of HTTP are refused before memory is allocated for them.
func TestWindows(t *testing.T) {
	frame := func(window byte) []byte { return []byte{0x28, 0xb5, 0x2f, 0xfd, 0, window, 9, 0, 0, 'x'} }
	single := func(size uint32) []byte {
		return append(binary.LittleEndian.AppendUint32([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0}, size), 9, 0, 0, 'x')
	}
	for name, tt := range map[string]struct {
		coding   string
		body     []byte
		reserved int // about
		refused  bool
	}{
		"1 KiB":                      {"zstd", frame(0), commonZstdWindow, false},
		"8 MiB":                      {"zstd", frame(13 << 3), maxZstdWindow, false},
		"9 MiB":                      {"zstd", frame(13<<3 | 1), 0, true},
		"2 TiB":                      {"zstd", frame(31 << 3), 0, true},
		"a frame of 4 GiB":           {"zstd", single(1<<32 - 1), 0, true},
		"8 MiB in the second frame":  {"zstd", append(frame(0), frame(13<<3)...), commonZstdWindow, true},
		"2 MiB in the second frame":  {"zstd", append(frame(0), frame(11<<3)...), commonZstdWindow, false},
		"brotli of 64 KiB":           {"br", []byte{0x06}, 128 << 10, false},
		"brotli of 16 MiB":           {"br", []byte{0x3f}, 32 * mib, false},
		"brotli of 4 MiB, the usual": {"br", []byte{0x3b}, 8 * mib, false},
		"brotli of 1 KiB":            {"br", []byte{0xa1, 0x01}, 2 << 10, false},
		"brotli of 128 KiB":          {"br", []byte{0x81, 0x01}, 256 << 10, false},
	} {
		a := account{limit: 1 << 40}
		_, err := parse(t, tt.coding).Decode(tt.body, Limits{Bytes: mib, Account: &a})
		if errors.Is(err, ErrMalformed) != tt.refused || a.most < tt.reserved || a.most > tt.reserved+mib {
			t.Errorf("%s: %v, %d bytes were reserved", name, err, a.most)
		}
	}
}
