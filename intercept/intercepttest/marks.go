package intercepttest

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

// Frame writes an event as servers do, with any of their deviations. Its name is the
// type with which the payload begins.
func (d *Dice) Frame(out []byte, payload string) []byte {
	name := ""
	if rest, ok := strings.CutPrefix(payload, `{"type":"`); ok {
		kind, _, _ := strings.Cut(rest, `"`)
		name = "event: " + kind + "\n"
	}
	switch d.N(20) {
	case 0:
		return append(out, name+"data:"+payload+"\n\n"...)
	case 1:
		return append(out, strings.ReplaceAll(name, "\n", "\r\n")+"data: "+payload+"\r\n\r\n"...)
	case 2:
		return append(out, name+"data: "+payload+"\n"...)
	case 3:
		return append(out, name+" data: "+payload+"\n\n"...)
	case 4:
		return append(out, ": x\n\n"+name+"data: "+payload+"\n\n"...)
	case 5:
		return append(out, "id: 7\n"+name+"data: "+payload+"  \n\n"...)
	case 6:
		return append(out, name+"data: "+strings.ReplaceAll(payload, `,"`, ",\ndata: \"")+"\n\n"...)
	case 7:
		return append(out, "data: "+payload+"\n\n"...)
	case 8:
		return append(out, "event: message\ndata: "+payload+"\n\n"...)
	case 9:
		bare := strings.TrimSuffix(payload, "}")
		return append(out, name+"data: "+bare+strings.Repeat(" ", d.N(5))+payload[len(bare):]+"\n\n"...)
	}
	return append(out, name+"data: "+payload+"\n\n"...)
}

// CheckMarks lets an answer be played with a ruler that rules differently on each
// call, and looks at the marks: those of a denied call that are of one of the kinds,
// and the arguments of an edited one, reach the agent only if a released call has
// them too; those of a released call all do. Where the name or the id of a call
// changes on its way, or calls share one, a released call may show those of another.
func CheckMarks(t testing.TB, kinds string, upstream []byte, play func(Ruler) *Played) {
	t.Helper()
	released, gone, called := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	note := func(in map[string]bool, texts ...string) {
		for _, m := range Marked.FindAllString(strings.Join(texts, " "), -1) {
			in[m] = true
		}
	}
	p := play(func(n int, c intercept.Call) intercept.Ruling {
		r := Mixed(n, c)
		if r.Action == intercept.Edit && c.ReadOnly {
			r = ReleaseAll(n, c)
		}
		switch r.Action {
		case intercept.Release:
			note(released, c.Name, c.ID, c.Arguments)
		case intercept.Edit:
			note(released, c.Name, c.ID)
			note(gone, c.Arguments)
		default:
			note(gone, c.Arguments)
			note(called, c.Name, c.ID)
		}
		return r
	})
	// The arguments of a call of an unknown type are all of it, with ids that others may have too.
	maps.DeleteFunc(gone, func(mark string, _ bool) bool { return mark[0] != 'A' })
	maps.Copy(gone, called)
	if doubts := fmt.Sprint(p.Calls); strings.Contains(doubts, " changes from ") || strings.Contains(doubts, intercept.AmbiguousID) {
		kinds = "A"
	}
	maps.DeleteFunc(gone, func(mark string, _ bool) bool { return !strings.Contains(kinds, mark[:1]) })
	out := p.Out()
	for m := range gone {
		if bytes.Contains(out, []byte(m)) && !released[m] {
			t.Fatalf("%s was not released and reached the agent: %s\nupstream: %s", m, out, upstream)
		}
	}
	if p.Err != nil || len(p.Nexts) > 0 {
		return
	}
	for m := range released {
		if !bytes.Contains(out, []byte(m)) {
			t.Fatalf("%s was released and did not reach the agent: %s\nupstream: %s", m, out, upstream)
		}
	}
}
