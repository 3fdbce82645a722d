package main

import (
	"bytes"
	"slices"
	"testing"
)

func TestDiagnose(t *testing.T) {
	sc := newScript(chat, shapeTool, streamLen)
	stamp(sc.body, sc.bodySeeds, firstSeed+1)
	events := splitEvents(sc.body)
	f := func(name string, lost, torn, reordered int, change func([][]byte) [][]byte) {
		t.Helper()
		got := bytes.Join(change(slices.Clone(events)), nil)
		d := diagnose(got, sc.body)
		if d.Lost != lost || d.Torn != torn || d.Reordered != reordered {
			t.Errorf("%s: %d lost, %d torn, %d reordered (%s), want %d, %d, %d", name, d.Lost, d.Torn, d.Reordered, d.first, lost, torn, reordered)
		}
	}
	f("the same", 0, 0, 0, func(e [][]byte) [][]byte { return e })
	f("one lost", 1, 0, 0, func(e [][]byte) [][]byte { return slices.Delete(e, 7, 8) })
	f("the end cut", 3, 0, 0, func(e [][]byte) [][]byte { return e[:len(e)-3] })
	f("cut inside an event", 1, 1, 0, func(e [][]byte) [][]byte { e[len(e)-1] = e[len(e)-1][:5]; return e })
	f("one byte changed", 1, 1, 0, func(e [][]byte) [][]byte {
		e[9] = bytes.Replace(e[9], []byte("content"), []byte("cOntent"), 1)
		return e
	})
	f("one moved on", 0, 0, 1, func(e [][]byte) [][]byte { return slices.Insert(slices.Delete(e, 5, 6), 9, events[5]) })
	f("one twice", 0, 0, 1, func(e [][]byte) [][]byte { return slices.Insert(e, 5, events[5]) })
	f("another stream's", 1, 1, 0, func(e [][]byte) [][]byte {
		e[3] = bytes.Replace(e[3], []byte("1000000001"), []byte("1000000002"), 1)
		return e
	})
}
