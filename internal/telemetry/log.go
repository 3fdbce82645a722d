// Package telemetry sets up heldcall's log, metrics registry and tracing. The program
// makes each once and passes it to the other packages.
package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
)

// The forms of the log.
const (
	FormatText = "text" // for people: coloured on a terminal
	FormatJSON = "json" // one JSON object a line
)

// ParseLevel reads a level by the names that the configuration knows: debug,
// info, warn and error.
func ParseLevel(name string) (slog.Level, error) {
	switch name {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("unknown log level %q: write debug, info, warn or error", name)
}

// NewLogger makes a logger that writes to w from the given level on. format is
// FormatText or FormatJSON; text is coloured if w is a terminal and the
// environment does not set NO_COLOR.
func NewLogger(w io.Writer, level slog.Level, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	switch {
	case format == FormatJSON:
		return slog.New(slog.NewJSONHandler(w, options))
	case isTerminal(w) && os.Getenv("NO_COLOR") == "":
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly}))
	default:
		return slog.New(slog.NewTextHandler(w, options))
	}
}

// isTerminal reports whether w is a character device other than the null
// device. That is a terminal wherever a log is sent.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || f.Name() == os.DevNull {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
