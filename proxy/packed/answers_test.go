package packed

import "testing"

// Answers that are too long, or for which there is no memory, are not kept.
func TestAnswersAreBounded(t *testing.T) {
	piece := make([]byte, 1<<20)
	for name, reserve := range map[string]func(int) bool{
		"too long": func(int) bool { return true }, "no memory": func(int) bool { return false },
	} {
		a := NewAnswers(reserve)
		a.Begin()
		for range MaxAnswers/len(piece) + 1 {
			a.Add(piece)
		}
		if a.Complete() || a.Exchanges != nil {
			t.Errorf("%s: they are kept", name)
		}
		a.End(true)
		a.Rule(nil)
	}
}

func TestUnloadedAnswersAreLoaded(t *testing.T) {
	of := func(bodies ...string) *Answers {
		a := NewAnswers(func(int) bool { return true })
		a.Head.SetStatusCode(200)
		for _, body := range bodies {
			a.Begin()
			a.Add([]byte(body))
			a.End(true)
		}
		a.Pack()
		return a
	}
	stored, a := of("one", "two"), of("one", "two")
	n := a.Unload()
	if n != 2 || a.Head.Status != 0 || len(a.Exchanges[0].Body.Blocks) != 0 {
		t.Fatalf("%d answers are unloaded: %+v", n, a)
	}
	a.Begin()
	a.Add([]byte("three"))
	a.Pack()
	if err := a.Load(of("one"), n); err == nil {
		t.Error("an answer that is missing in the store is loaded")
	}
	if err := a.Load(stored, n); err != nil {
		t.Fatal(err)
	}
	var text string
	for i := range a.Exchanges {
		body, err := a.Exchanges[i].Body.Bytes(MaxAnswers)
		if err != nil {
			t.Fatal(err)
		}
		text += string(body)
	}
	if text != "onetwothree" || a.Head.Status != 200 {
		t.Errorf("loaded %q, status %d", text, a.Head.Status)
	}
}
