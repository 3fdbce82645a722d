package intercept

import (
	"slices"
	"testing"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// namedCodec knows the names of calls, in their units.
type namedCodec struct{ Codec }

func (namedCodec) Call(u *Unit) Call { return Call{Name: u.Of.(string)} }
func (namedCodec) Judge(*Unit)       {}

func call(name string) *Unit { return &Unit{Call: true, Of: name} }

func checked(name string) *Unit {
	u := call(name)
	u.check = strictjson.NewArgumentsCheck()
	return u
}

func newFilter(calls ...*Unit) *filter {
	return &filter{codec: namedCodec{}, allowed: func(c Call) bool { return c.Name == "free" }, calls: calls}
}

func TestFilterMayLeave(t *testing.T) {
	free, other, denied, passed := checked("free"), checked("free"), checked("held"), call("free")
	passed.passed = true
	void := call("held")
	void.Void = true
	for _, tt := range []struct {
		name  string
		calls []*Unit
		part  Part
		held  bool
		set   func(*filter)
		want  bool
	}{
		{"no call", nil, Part{}, false, nil, true},
		{"the end", nil, Part{Ends: true}, false, nil, true},
		{"the end of a continuation", nil, Part{Ends: true}, false, func(f *filter) { f.continued = true }, false},
		{"withheld", nil, Part{Withheld: true}, false, nil, false},
		{"after a held part", nil, Part{}, true, nil, false},
		{"overtakes a held part", nil, Part{Overtakes: true}, true, nil, true},
		{"a call that would overtake", []*Unit{free}, Part{Overtakes: true, units: []*Unit{free}}, true, nil, false},
		{"text beside an undecided call", []*Unit{denied}, Part{}, false, nil, false},
		{"text beside a call that has passed", []*Unit{passed}, Part{}, false, nil, true},
		{"text beside a void call", []*Unit{void}, Part{}, false, nil, true},
		{"a call that is allowed by name", []*Unit{free}, Part{units: []*Unit{free}}, false, nil, true},
		{"a call that is not", []*Unit{denied}, Part{units: []*Unit{denied}}, false, nil, false},
		{"both in one part", []*Unit{other, denied}, Part{units: []*Unit{other, denied}}, false, nil, false},
		{"an unchecked call", []*Unit{call("free")}, Part{}, false, nil, false},
		{"a call that the filter does not know", nil, Part{units: []*Unit{denied}}, false, nil, false},
		{"a beginning that waits", []*Unit{other}, Part{units: []*Unit{other}}, false, func(f *filter) { f.delays = true }, false},
	} {
		f := newFilter(tt.calls...)
		if tt.set != nil {
			tt.set(f)
		}
		if got := f.mayLeave(&tt.part, tt.held); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
		for _, u := range tt.part.units {
			if u.Passed() != tt.want {
				t.Errorf("%s: the call has passed: %t", tt.name, u.Passed())
			}
		}
	}
}

func TestFilterMayFollow(t *testing.T) {
	for _, tt := range []struct {
		name            string
		part            func(waiting, other *Unit) Part
		want, stillOpen bool
	}{
		{"its next event", func(u, _ *Unit) Part { return Part{units: []*Unit{u}} }, true, false},
		{"text waits too", func(_, _ *Unit) Part { return Part{units: []*Unit{nil}} }, false, true},
		{"the end", func(_, _ *Unit) Part { return Part{Ends: true} }, false, false},
		{"a withheld part", func(_, _ *Unit) Part { return Part{Withheld: true} }, false, false},
		{"another call", func(_, o *Unit) Part { return Part{units: []*Unit{o}} }, false, false},
		{"both calls", func(u, o *Unit) Part { return Part{units: []*Unit{u, o}} }, false, false},
	} {
		waiting, other := checked("free"), checked("free")
		f := newFilter(waiting)
		f.waiting = waiting
		part := tt.part(waiting, other)
		if slices.Contains(part.units, other) {
			f.calls = append(f.calls, other)
		}
		if got := f.mayLeave(&part, true); got != tt.want || (f.waiting != nil) != tt.stillOpen || waiting.Passed() != tt.want {
			t.Errorf("%s: %t, waits %t, passed %t", tt.name, got, f.waiting != nil, waiting.Passed())
		}
		if may := waiting.Passing(); may != (tt.want || tt.stillOpen) {
			t.Errorf("%s: may pass %t", tt.name, may)
		}
	}
}

func TestFilterEvents(t *testing.T) {
	open := Event{Kind: EventOpen, Uniform: true, Plain: true}
	piece := func(text string) Event { return Event{Kind: EventInput, Text: text, Uniform: true, Plain: true} }
	for _, tt := range []struct {
		name    string
		set     func(*filter)
		events  []Event
		checked bool
		odd     bool
	}{
		{"plain", nil, []Event{open, piece("{"), piece("}")}, true, false},
		{"not plain at its beginning", nil, []Event{{Kind: EventOpen, Uniform: true}}, false, false},
		{"not plain later", nil, []Event{open, {Kind: EventInput, Text: "{", Uniform: true}}, false, false},
		{"not uniform", nil, []Event{open, {Kind: EventInput, Text: "{", Plain: true}}, false, true},
		{"not uniform, but it resumes", func(f *filter) { f.resumes = true }, []Event{open, {Kind: EventInput, Text: "{", Plain: true}}, true, true},
		{"not an object", nil, []Event{open, piece("[")}, false, false},
		{"after a denial", func(f *filter) { f.continued = true }, []Event{open}, false, false},
		{"no tool is allowed by name", func(f *filter) { f.allowed = nil }, []Event{open}, false, false},
	} {
		u := call("free")
		f := newFilter(u)
		if tt.set != nil {
			tt.set(f)
		}
		for _, e := range tt.events {
			e.Unit = u
			if err := f.event(e); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		if u.Passing() != tt.checked || u.Odd != tt.odd {
			t.Errorf("%s: may pass %t, odd %t", tt.name, u.Passing(), u.Odd)
		}
	}
	begun := call("free")
	begun.begun, begun.passed = true, true
	if err := newFilter(begun).event(Event{Unit: begun, Kind: EventInput}); err == nil {
		t.Error("a call whose beginning has passed may differ")
	}
}

func TestFilterRepeats(t *testing.T) {
	free, held := checked("free"), call("held")
	free.passed, free.begun = true, true
	for _, tt := range []struct {
		name         string
		template     Template
		added        string
		held, waits  bool
		may, repeats bool
	}{
		{"text", Template{}, "", false, false, true, true},
		{"text after a held part", Template{}, "", true, false, true, false},
		{"text that overtakes", Template{Overtakes: true}, "", true, false, true, true},
		{"text while a call waits", Template{Overtakes: true}, "", true, true, false, true},
		{"input of a held call", Template{Call: held}, "x", true, false, true, false},
		{"input of a held call while nothing is held", Template{Call: held}, "x", false, false, false, false},
		{"input of a call that passes", Template{Call: free}, `{"a":1`, false, false, true, true},
		{"input of a call that passes after a held part", Template{Call: free}, "", true, false, false, true},
		{"input that is no JSON", Template{Call: free}, "]", false, false, true, false},
	} {
		f := newFilter()
		if tt.waits {
			f.waiting = call("free")
		}
		if may := f.mayRepeat(&tt.template, tt.held); may != tt.may {
			t.Errorf("%s: may repeat %t", tt.name, may)
		}
		if repeats := f.repeats(&tt.template, tt.added, tt.held); repeats != tt.repeats {
			t.Errorf("%s: passes %t", tt.name, repeats)
		}
	}
	if free.Passed() || !free.Broken() {
		t.Error("a call with input that is no JSON still passes")
	}
}
