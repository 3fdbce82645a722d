package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestScriptsAreWhatProvidersSend(t *testing.T) {
	for _, d := range allDialects {
		for _, s := range []shape{shapeCoalesced, shapePackets, shapeTool, shapeSplit, shapeSplitTool, shapePaced, shapeOpen} {
			testScript(t, d, s)
		}
	}
}

func testScript(t *testing.T, d *dialect, s shape) {
	name := d.name + " " + string(s)
	sc := newScript(d, s, streamLen)
	events, want := splitEvents(sc.body), streamLen
	if d == chat && s != shapeOpen {
		want++ // [DONE]
	}
	if len(events) != want || len(sc.ends) != want {
		t.Errorf("%s: %d events and %d ends, want %d", name, len(events), len(sc.ends), want)
	}
	for i, e := range events {
		_, data, ok := bytes.Cut(e, []byte("data: "))
		if !ok || (!json.Valid(data) && string(data) != "[DONE]\n\n") {
			t.Fatalf("%s: event %d is not data with JSON: %s", name, i, e)
		}
	}
	if mean := len(sc.body) / len(events); mean < 120 || mean > 500 {
		t.Errorf("%s: %d bytes an event, want 120 to 500", name, mean)
	}
	if calls := bytes.Contains(sc.body, []byte(d.callMark)); calls != s.calls() {
		t.Errorf("%s: calls a tool: %v", name, calls)
	}
	if len(sc.bodySeeds) == 0 || len(sc.wireSeeds) != len(sc.bodySeeds) {
		t.Errorf("%s: %d seeds in the body, %d on the wire", name, len(sc.bodySeeds), len(sc.wireSeeds))
	}
}

func TestHeldScriptsSplitAtTheCall(t *testing.T) {
	for _, d := range allDialects {
		sc := newScript(d, shapeHeld, d.held)
		text, call := sc.body[:sc.callAt], sc.body[sc.callAt:]
		if bytes.Contains(text, []byte("read_file")) || !bytes.HasSuffix(text, []byte("\n\n")) {
			t.Errorf("%s: the text before the call is not whole events of text: %q", d.name, text)
		}
		if first := splitEvents(call)[0]; !bytes.Contains(first, []byte(`"name":"read_file"`)) || !bytes.Contains(first, []byte(d.callMark)) {
			t.Errorf("%s: the call does not begin with its head: %.300q", d.name, call)
		}
		whole := newScript(d, shapeHeldWhole, 0)
		if !json.Valid(whole.body) || !bytes.Contains(whole.body, []byte(d.callMark)) {
			t.Errorf("%s: the whole answer has no call: %s", d.name, whole.body)
		}
	}
}

func TestToolArgumentsAreJSON(t *testing.T) {
	var args string
	if err := json.Unmarshal([]byte(`"`+strings.Join(argumentPieces(), "")+`"`), &args); err != nil || !json.Valid([]byte(args)) || len(args) < 100 {
		t.Errorf("arguments of the call: %q (%v)", args, err)
	}
}

func TestPromptsHaveTheirSize(t *testing.T) {
	for _, d := range allDialects {
		forms := []promptForm{shortPrompt, agentPrompt}
		for _, w := range promptWorkloads(d) {
			forms = append(forms, w.Prompt)
		}
		for _, form := range forms {
			size := form.size
			p := newPrompt(d, shapeWhole, 0, form, 3)
			body := p.render(firstSeed + 7)[p.body:]
			if len(body) < size-size/10 || len(body) > size+size/10+500 {
				t.Errorf("%s: a prompt of %d bytes has %d", d.name, size, len(body))
			}
			var got struct {
				Model    string
				Seed     int64
				Messages []json.RawMessage
				Input    []json.RawMessage
				Tools    []json.RawMessage
			}
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatalf("%s: the prompt of %d bytes: %v", d.name, size, err)
			}
			if got.Model != "bench-"+d.name+":whole-0" || got.Seed != firstSeed+7 || len(got.Messages)+len(got.Input) < 1+form.messages || len(got.Tools) != 2 {
				t.Errorf("%s: the prompt of %d bytes: %q, seed %d, %d messages, %d tools", d.name, size, got.Model, got.Seed, len(got.Messages)+len(got.Input), len(got.Tools))
			}
		}
	}
}

func TestRandomCutsCoverEveryByteTheSameWay(t *testing.T) {
	cuts := randomCuts(firstSeed, 50_000)
	last := 0
	for _, c := range cuts {
		if c <= last {
			t.Fatalf("cut %d after %d", c, last)
		}
		last = c
	}
	if last != 50_000 {
		t.Errorf("the cuts end at %d of 50000", last)
	}
	again := randomCuts(firstSeed, 50_000)
	for i := range cuts {
		if cuts[i] != again[i] {
			t.Fatalf("the same seed cut at %d, then at %d", cuts[i], again[i])
		}
	}
}
