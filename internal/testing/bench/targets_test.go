package main

import (
	"strings"
	"testing"
)

// verdicts gives "reached" or not for each figure of the results.
func verdicts(r results) map[string]bool {
	out := map[string]bool{}
	for _, g := range judge(&r) {
		out[g.Figure] = g.Reached
	}
	return out
}

func TestTargetsAreJudgedOnTheRightSide(t *testing.T) {
	load := func(s shape, of, cpu, cpuVs float64) results {
		return results{Load: []loadResult{{
			Workload: workload{Name: "w", Shape: s, Prompt: shortPrompt},
			Hops:     []hopLoad{{Hop: hopHeldcall, VsFasthttp: constant(of), CPU: constant(cpu), CPUVs: constant(cpuVs)}},
		}}}
	}
	f := func(figure string, want bool, r results) {
		t.Helper()
		vs := verdicts(r)
		for name, reached := range vs {
			if strings.Contains(name, figure) {
				if reached != want {
					t.Errorf("%s: reached %v, want %v", name, reached, want)
				}
				return
			}
		}
		t.Errorf("no target about %q in %v", figure, vs)
	}
	f("throughput", true, load(shapeWhole, 0.90, 9, 9))
	f("throughput", false, load(shapeWhole, 0.89, 0, 0))
	f("throughput", true, load(shapeCoalesced, 2.5, 9, 9))
	f("throughput", false, load(shapeCoalesced, 2.4, 0, 0))
	f("CPU per event", true, load(shapeCoalesced, 0, 1.6, 9))
	f("CPU per event", false, load(shapeCoalesced, 9, 1.7, 0))
	f("fasthttp's CPU", true, load(shapePackets, 0, 9, 1))
	f("fasthttp's CPU", false, load(shapePackets, 9, 0, 1.01))
	f("lost", true, results{Integrity: &integrity{Hop: hopHeldcall, Events: eventsChecked}})
	f("lost", false, results{Integrity: &integrity{Hop: hopHeldcall, Events: eventsChecked - 1}})
	f("lost", false, results{Integrity: &integrity{Hop: hopHeldcall, Events: eventsChecked, Torn: 1}})
	f("closed", true, results{Leaving: []leaveResult{{Hop: hopHeldcall, Until: "closed", Took: latency{Samples: 9, Max: 49}}}})
	f("closed", false, results{Leaving: []leaveResult{{Hop: hopHeldcall, Until: "closed", Missed: 1, Took: latency{Samples: 9, Max: 1}}}})
	f("idle", true, results{Memory: []memoryResult{{hopHeldcall, chat.name, footprint{Idle: memory{Resident: 25e6}, PerStream: 40<<10 + 1, Streams: 9}}}})
	f("open stream", false, results{Memory: []memoryResult{{hopHeldcall, chat.name, footprint{Idle: memory{Resident: 25e6}, PerStream: 40<<10 + 1, Streams: 9}}}})
}

func TestTablesShowWhatWasNotReached(t *testing.T) {
	r := results{Integrity: &integrity{Hop: hopHeldcall, Events: 5}}
	r.Targets = judge(&r)
	var text strings.Builder
	if err := writeText(&text, tables(r)); err != nil {
		t.Fatal(err)
	}
	if out := text.String(); !strings.Contains(out, "NOT reached") || !strings.Contains(out, "0 in 5") {
		t.Errorf("the report hides a miss:\n%s", out)
	}
}
