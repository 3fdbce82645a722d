package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// outputFlag is how a command shows what it found.
type outputFlag struct {
	Output string `short:"o" enum:"table,json" default:"table" placeholder:"table|json" help:"How to show it: table or json."`
}

func (o outputFlag) json() bool { return o.Output == "json" }

// printJSON writes a value as indented JSON that is safe on a terminal.
func printJSON(w io.Writer, value any) error {
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	_, err := io.WriteString(w, escapeJSON(content.Bytes()))
	return err
}

// ago writes a duration with its largest unit only, and "0s" for what lies in
// the future of this machine's clock.
func ago(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// left writes how much of a deadline is left, to the second while it presses.
func left(d time.Duration) string {
	if d >= 10*time.Minute || d < time.Minute {
		return ago(d)
	}
	return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
}
