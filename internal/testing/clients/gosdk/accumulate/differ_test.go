package accumulate

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// api is one API: its dialect, and the SDK whose accumulator is compared.
type api struct {
	dialect intercept.Dialect
	path    string
	request string
	// generate throws dice for a streamed answer as the API has it, event by
	// event.
	generate func(*intercepttest.Dice) [][]byte
	// last is an answer without calls.
	last string
	// accumulate reads a stream as far as the SDK does.
	accumulate func(stream io.Reader) seen
	// empty is what accumulate shows of a call without arguments.
	empty string
	// blank names the tools of whose calls the SDK shows no more than the id.
	blank []string
}

// seen is what an SDK makes of a stream.
type seen struct {
	message string // all of it, as JSON
	calls   []call
	err     error
}

// call is a tool call as a program that uses the SDK sees it.
type call struct{ id, name, arguments string }

// fuzz compares generated answers. What the fuzzer changes are the throws of the
// dice, and the sizes of the blocks in which the answer arrives.
func (a api) fuzz(f *testing.F) {
	// An SDK readies its decoders when it first meets a type, which takes longer
	// than the ten seconds that the engine gives an input on a busy machine.
	for i := range 20 {
		a.read(framed(&intercepttest.Dice{}, a.generate(&intercepttest.Dice{Throws: intercepttest.Throws(i, 200)})))
	}
	for i := range 20 {
		f.Add(intercepttest.Throws(i, 200), []byte{6, 200})
		f.Add(intercepttest.Throws(i+20, 200), []byte{})
	}
	f.Fuzz(func(t *testing.T, throws, sizes []byte) {
		d := &intercepttest.Dice{Throws: throws}
		stream := framed(d, a.generate(d))
		a.compareReleased(t, stream, sizes)
		a.compareRuled(t, stream, sizes, d.N(3))
	})
}

// compareReleased: when every call is released the SDK sees what it would have
// seen of the upstream, and before that it sees no call.
func (a api) compareReleased(t *testing.T, stream, sizes []byte) {
	t.Helper()
	want := a.read(stream)
	if want.err != nil {
		t.Fatalf("the generator's own stream: %v in %s", want.err, stream)
	}
	p := a.play(t, stream, sizes, intercepttest.ReleaseAll)
	if calls := a.read(p.Before).calls; len(calls) > 0 {
		t.Fatalf("the SDK sees %q before the ruling in %s", calls, p.Before)
	}
	got := a.read(p.Out())
	if got.err != nil {
		t.Fatalf("%v\nagent: %s\nupstream: %s", got.err, p.Out(), stream)
	}
	if d := cmp.Diff(want.message, got.message); d != "" {
		t.Fatalf("the SDK does not see the same (-upstream +agent):\n%s\nagent: %s\nupstream: %s", d, p.Out(), stream)
	}
	if len(want.calls) < len(slices.Concat(p.Calls...)) {
		t.Fatalf("heldcall held %+v, the SDK sees %q in %s", p.Calls, want.calls, stream)
	}
}

// compareRuled: when calls are released, denied and edited in turn the SDK sees
// those of them that were not denied, with the arguments that they were given.
func (a api) compareRuled(t *testing.T, stream, sizes []byte, turn int) {
	t.Helper()
	var want []call
	expect := func(c intercept.Call, arguments string) {
		if slices.Contains(a.blank, c.Name) {
			c.Name, arguments = "", ""
		} else if arguments == "" {
			arguments = a.empty
		}
		want = append(want, call{c.ID, c.Name, arguments})
	}
	p := a.play(t, stream, sizes, func(n int, c intercept.Call) intercept.Ruling {
		ruling := intercepttest.Mixed(n+turn, c)
		if ruling.Action == intercept.Edit && (c.ReadOnly || c.FreeText) {
			ruling = intercept.Ruling{Action: intercept.Release}
		}
		switch ruling.Action {
		case intercept.Release:
			expect(c, c.Arguments)
		case intercept.Edit:
			expect(c, ruling.Arguments)
		}
		return ruling
	})
	got := a.read(p.Out())
	if got.err != nil {
		t.Fatalf("%v\nagent: %s\nupstream: %s", got.err, p.Out(), stream)
	}
	sort(want)
	sort(got.calls)
	if !slices.Equal(want, got.calls) {
		t.Fatalf("the SDK sees %q, want %q\nagent: %s\nupstream: %s", got.calls, want, p.Out(), stream)
	}
}

// sort puts calls into the order of their ids: those of two choices arrive in any.
func sort(calls []call) {
	slices.SortStableFunc(calls, func(a, b call) int { return bytes.Compare([]byte(a.id), []byte(b.id)) })
}

func (a api) play(t *testing.T, stream, sizes []byte, rule intercepttest.Ruler) *intercepttest.Played {
	t.Helper()
	r, err := a.dialect.Request(intercept.Envelope{Method: http.MethodPost, Path: a.path, Body: []byte(a.request)})
	if err != nil {
		t.Fatal(err)
	}
	p := intercepttest.Play(t, r, [][]byte{stream, []byte(a.last)}, sizes, intercept.Limits{}, rule)
	if p.Err != nil {
		t.Fatalf("%v\nagent: %s\nupstream: %s", p.Err, p.Out(), stream)
	}
	return p
}

func (a api) read(stream []byte) seen { return a.accumulate(bytes.NewReader(stream)) }

// response is a stream as an SDK gets it.
func response(stream io.Reader) *http.Response {
	return &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(stream)}
}

// framed are events as servers frame them, with comments between them.
func framed(d *intercepttest.Dice, events [][]byte) []byte {
	var stream []byte
	crlf := d.N(6) == 5
	for _, event := range events {
		if crlf {
			event = bytes.ReplaceAll(event, []byte("\n"), []byte("\r\n"))
		}
		stream = append(stream, event...)
		stream = append(stream, d.Pick("", "", "", "", "", ": x\n", ": x\n\n", "\n")...)
	}
	return stream
}

// arguments are those of a call, mostly an object.
func arguments(d *intercepttest.Dice) string {
	return d.Pick("{}", `{"m":%q}`, `{"m":%q}`, `{"m":%q,"é":"\u00e9 \"<&>","n":[1.0,{}]}`, "")
}

// marked puts a new mark into a text.
func marked(d *intercepttest.Dice, text string) string {
	if !bytes.Contains([]byte(text), []byte("%q")) {
		return text
	}
	return fmt.Sprintf(text, d.Mark("A"))
}
