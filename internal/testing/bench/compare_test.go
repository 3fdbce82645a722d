package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// loaded is a run with one workload.
func loaded(throughput, cpu float64) results {
	one := func(v float64) *spread { return spreadOf([]float64{v}) }
	h := hopLoad{Hop: hopHeldcall, VsFasthttp: one(throughput), CPUVs: one(cpu), P50: one(900), PerSecond: one(1), OthersCPU: one(1), P99: one(1)}
	disk := hopLoad{Hop: hopDisk, P50: one(300), P99: one(1), PerSecond: one(1)}
	return results{Started: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC), Load: []loadResult{{Workload: workload{Name: "w"}, Hops: []hopLoad{h, disk}}}}
}

func TestCompareWithSavedResult(t *testing.T) {
	file := savedIn(t.TempDir(), true)
	if r, err := readSaved(file); r != nil || err != nil {
		t.Fatalf("without a saved result: %v, %v", r, err)
	}
	if err := writeResults(file, loaded(0.8, 1)); err != nil {
		t.Fatal(err)
	}
	then, err := readSaved(file)
	if err != nil {
		t.Fatal(err)
	}
	then.Judging = []judgingResult{{Call: "x", judgedSize: typical, Took: spreadOf([]float64{1})}} // a figure that the run of now has not
	now := loaded(0.5, 0.7)
	got := compareTable(&now, then)
	if !strings.Contains(got.title, "2026-11-25: 1 of 3 figures are worse") {
		t.Error(got.title)
	}
	want := [][]string{
		{"w: of fasthttp's throughput", "0.80", "0.50", "0.62", "WORSE"},
		{"w: of fasthttp's CPU", "1.00", "0.70", "0.70", "better"},
		{"w: p50, of a synced write's", "3.00", "3.00", "1.00", ""},
	}
	for i, row := range got.rows {
		if strings.Join(row, "|") != strings.Join(want[i], "|") {
			t.Errorf("%q, want %q", row, want[i])
		}
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readSaved(file); err == nil || filepath.Base(file) != "short.json" {
		t.Errorf("a damaged %s: %v", file, err)
	}
}
