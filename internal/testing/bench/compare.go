package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// worseBy is the ratio to the saved figure above which a figure is marked as worse.
const worseBy = 1.25

// figure is a figure that is compared between runs. Figures of hops are ratios to another hop of the same run where possible: these depend
// less on the machine.
type figure struct {
	name  string
	value float64
	more  bool // more is better
}

// figures returns the figures of a run, in the order of the report.
func figures(r *results) (all []figure) {
	add := func(name string, value float64, more bool) {
		if value > 0 {
			all = append(all, figure{name, value, more})
		}
	}
	for _, l := range r.Load {
		h := l.find(hopHeldcall)
		if h == nil {
			continue
		}
		addSpread := func(name string, s *spread, more bool) {
			if s != nil {
				add(l.Workload.Name+": "+name, s.Median, more)
			}
		}
		addSpread("of fasthttp's throughput", h.VsFasthttp, true)
		addSpread("of fasthttp's CPU", h.CPUVs, false)
		if disk := l.find(hopDisk); disk != nil {
			add(l.Workload.Name+": p50, of a synced write's", h.P50.Median/disk.P50.Median, false)
		}
	}
	for _, p := range r.Paced {
		if h := p.find(hopHeldcall); h != nil && h.CPU != nil {
			add(fmt.Sprintf("%d paced streams: CPU us per event", p.Streams), h.CPU.Median, false)
		}
	}
	for _, m := range r.Memory {
		if m.Hop == hopHeldcall {
			add(fmt.Sprintf("%s: KiB per open stream at %d", m.Dialect, m.Streams), m.PerStream/1024, false)
		}
	}
	for _, h := range r.Held {
		add(fmt.Sprintf("%s: KiB per held stream at %d, %s later", h.Dialect, h.Streams, restTime), h.AtRest/1024, false)
		add(fmt.Sprintf("%s: decision to bytes, 1 held, p50 ms", h.Dialect), h.One.P50, false)
		add(fmt.Sprintf("%s: decision to bytes, %d held, p50 ms", h.Dialect, h.Streams), h.Many.P50, false)
	}
	for _, m := range r.Many {
		name := fmt.Sprintf("%d held: ", m.Held)
		add(name+"peak MiB", float64(m.Peak>>20), false)
		add(name+"decision to bytes, p50 ms", m.Decision.P50, false)
		add(name+"ready again after kill -9, s", m.Ready.Seconds(), false)
	}
	addHistory(add, r.History)
	for _, j := range r.Judging {
		if j.judgedSize == typical {
			add("judging a "+j.Call+", us", j.Took.Median, false)
		}
	}
	return all
}

// addHistory adds the figures of many decided requests.
func addHistory(add func(name string, value float64, more bool), all []historyResult) {
	for _, h := range all {
		name := fmt.Sprintf("%d decided: ", h.Decided)
		add(name+"more MiB", float64(h.Full-h.Empty)/(1<<20), false)
		add(name+"ready after a restart, s", h.Ready.Seconds(), false)
		add(name+"held and approved calls a second", h.CallsNow, true)
		add(name+"the same, of those before", h.CallsNow/h.Calls, true)
		add(name+"KB on disk of each", float64(h.Disk)/1e3, false)
		add(name+"a page of the list, p50 ms", h.Page.P50, false)
		add(name+"a page of a search, p50 ms", h.Search.P50, false)
	}
}

// savedIn returns the file in a folder with the saved result of short or of full runs. Their figures differ.
func savedIn(folder string, short bool) string {
	name := "full.json"
	if short {
		name = "short.json"
	}
	return filepath.Join(folder, name)
}

// readSaved reads a saved result, nil if there is none.
func readSaved(file string) (*results, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	r := new(results)
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	if err != nil {
		return nil, fmt.Errorf("read the saved result %s: %w", file, err)
	}
	return r, nil
}

// compareTable compares the figures that both runs have.
func compareTable(now, then *results) table {
	before := map[string]figure{}
	for _, f := range figures(then) {
		before[f.name] = f
	}
	t := table{header: []string{"figure", "then", "now", "times", ""}}
	worse := 0
	for _, f := range figures(now) {
		old, found := before[f.name]
		if !found {
			continue
		}
		cost := f.value / old.value
		if f.more {
			cost = old.value / f.value
		}
		verdict := ""
		switch {
		case cost > worseBy:
			verdict = "WORSE"
			worse++
		case cost < 1/worseBy:
			verdict = "better"
		}
		t.rows = append(t.rows, []string{f.name, fmt.Sprintf("%.2f", old.value), fmt.Sprintf("%.2f", f.value), fmt.Sprintf("%.2f", f.value/old.value), verdict})
	}
	t.title = fmt.Sprintf("Compared with the saved result of %s: %d of %d figures are worse by more than %.0f%%", then.Started.Format(time.DateOnly), worse, len(t.rows), 100*(worseBy-1))
	t.note = fmt.Sprintf("then: %s, %d CPUs, %.0f%% of the CPU time used by other programs; now: %s, %d CPUs, %.0f%%", then.Go, then.CPUs, 100*then.Foreign, now.Go, now.CPUs, 100*now.Foreign)
	return t
}
