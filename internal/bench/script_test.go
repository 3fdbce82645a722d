package main

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestScriptsAreWhatProvidersSend(t *testing.T) {
	for _, s := range []shape{shapeCoalesced, shapePackets, shapeTool, shapeSplit, shapeSplitTool, shapePaced} {
		sc := newScript(s, streamLen)
		events := splitEvents(sc.body)
		if len(events) != streamLen+1 || len(sc.ends) != len(events) {
			t.Errorf("%s: %d events and %d ends, want %d chunks and [DONE]", s, len(events), len(sc.ends), streamLen)
		}
		for i, e := range events[:len(events)-1] {
			data, ok := bytes.CutPrefix(e, []byte("data: "))
			if !ok || !json.Valid(data) {
				t.Fatalf("%s: event %d is not data with JSON: %s", s, i, e)
			}
		}
		if mean := len(sc.body) / len(events); mean < 200 || mean > 300 {
			t.Errorf("%s: %d bytes an event, want 200 to 300", s, mean)
		}
		if calls := bytes.Contains(sc.body, []byte("tool_calls")); calls != (s == shapeTool || s == shapeSplitTool) {
			t.Errorf("%s: calls a tool: %v", s, calls)
		}
		if len(sc.bodySeeds) < streamLen || len(sc.wireSeeds) != len(sc.bodySeeds) {
			t.Errorf("%s: %d seeds in the body, %d on the wire, want one in each event", s, len(sc.bodySeeds), len(sc.wireSeeds))
		}
	}
}

func TestHeldScriptsSplitAtTheCall(t *testing.T) {
	sc := newScript(shapeHeld, heldEvents)
	text, call := sc.body[:sc.callAt], sc.body[sc.callAt:]
	if bytes.Contains(text, []byte("tool")) || !bytes.HasSuffix(text, []byte("\n\n")) {
		t.Errorf("the text before the call is not whole events of text: %q", text)
	}
	if !bytes.HasPrefix(call, []byte(`data: {`)) || !bytes.Contains(splitEvents(call)[0], []byte(`"name":"read_file"`)) {
		t.Errorf("the call does not begin with its head: %.300q", call)
	}
}

func TestToolArgumentsAreJSON(t *testing.T) {
	var args string
	for _, e := range splitEvents(newScript(shapeTool, streamLen).body) {
		var chunk struct {
			Choices []struct {
				Delta struct {
					ToolCalls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
				}
			}
		}
		if json.Unmarshal(bytes.TrimPrefix(e, []byte("data: ")), &chunk) == nil && len(chunk.Choices) == 1 {
			for _, c := range chunk.Choices[0].Delta.ToolCalls {
				args += c.Function.Arguments
			}
		}
	}
	if !json.Valid([]byte(args)) || len(args) < 100 {
		t.Errorf("arguments of the call: %q", args)
	}
}

func TestPromptsHaveTheirSize(t *testing.T) {
	for _, size := range []int{promptSize, longPrompt} {
		p := newPrompt(shapeWhole, 0, size, 3)
		body := p.render(firstSeed + 7)[p.body:]
		if len(body) < size || len(body) > size+size/10+500 {
			t.Errorf("a prompt of %d bytes has %d", size, len(body))
		}
		var got struct {
			Model    string
			Seed     int64
			Messages []json.RawMessage
			Tools    []json.RawMessage
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("the prompt of %d bytes: %v", size, err)
		}
		if got.Model != "bench-whole-0" || got.Seed != firstSeed+7 || len(got.Messages) < 2 || len(got.Tools) != 2 {
			t.Errorf("the prompt of %d bytes: %q, seed %d, %d messages, %d tools", size, got.Model, got.Seed, len(got.Messages), len(got.Tools))
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
