package telemetry

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestLoggerWritesTheFormAskedFor(t *testing.T) {
	var text, object bytes.Buffer
	NewLogger(&text, slog.LevelInfo, FormatText).Info("held", "tool", "x\x1b[31m\u202ey")
	NewLogger(&object, slog.LevelInfo, FormatJSON).Info("held", "tool", "x")
	if got := text.String(); !strings.Contains(got, `msg=held tool="x\x1b[31m\u202ey"`) {
		t.Errorf("text log does not escape what the model wrote: %q", got)
	}
	var entry map[string]any
	if err := json.Unmarshal(object.Bytes(), &entry); err != nil || entry["tool"] != "x" {
		t.Errorf("JSON log is %q (%v)", object.String(), err)
	}
}

func TestLoggerKeepsToItsLevel(t *testing.T) {
	for name, want := range map[string]int{"debug": 4, "info": 3, "warn": 2, "error": 1} {
		level, err := ParseLevel(name)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		log := NewLogger(&out, level, FormatText)
		log.Debug("d")
		log.Info("i")
		log.Warn("w")
		log.Error("e")
		if got := strings.Count(out.String(), "\n"); got != want {
			t.Errorf("at level %s %d entries were written, want %d", name, got, want)
		}
	}
	if _, err := ParseLevel("loud"); err == nil || !strings.Contains(err.Error(), `"loud"`) {
		t.Errorf("ParseLevel(loud) = %v", err)
	}
}

func TestRegistryHoldsBuildInfo(t *testing.T) {
	registry := NewRegistry("1.2.3")
	want := `
# HELP heldcall_build_info Always 1. The labels are the versions of heldcall and of Go.
# TYPE heldcall_build_info gauge
heldcall_build_info{goversion="` + runtime.Version() + `",version="1.2.3"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "heldcall_build_info"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"go_goroutines", "process_start_time_seconds"} {
		if n, err := testutil.GatherAndCount(registry, name); err != nil || n != 1 {
			t.Errorf("%s: %d series, %v", name, n, err)
		}
	}
}
