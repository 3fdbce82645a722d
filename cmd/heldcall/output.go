package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/heldcall/heldcall/internal/humanize"
)

// outputFlag is how a command shows what it found.
type outputFlag struct {
	Output string `short:"o" enum:"table,json" default:"table" placeholder:"table|json" help:"How to show it: table or json."`
}

func (o outputFlag) json() bool { return o.Output == "json" }

// printJSON writes a value as indented JSON that is safe on a elapsed.
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

// ago writes how long ago something was.
func ago(d time.Duration) string { return humanize.Ago(d) }

// left writes how much of a deadline is left.
func left(d time.Duration) string { return humanize.Left(d) }
