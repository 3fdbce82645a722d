// Package secretinput reads secrets that people enter on the command line.
package secretinput

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"

	"github.com/heldcall/heldcall/internal/sanitize"
)

// Input reads values from the terminal, which does not show them, or else one line for each
// value. It asks for each on Out.
type Input struct {
	out      io.Writer
	terminal *os.File // nil: there is none
	lines    *bufio.Reader
}

// New returns the input from a file or a stream.
func New(in io.Reader, out io.Writer) *Input {
	i := &Input{out: out, lines: bufio.NewReader(in)}
	if file, ok := in.(*os.File); ok && term.IsTerminal(file.Fd()) {
		i.terminal = file
	}
	return i
}

// OnTerminal reports whether values are read from a terminal.
func (i *Input) OnTerminal() bool { return i.terminal != nil }

// Read reads the value of a name. At the end of the input it is "".
func (i *Input) Read(name string) (string, error) { return i.Ask("Value of " + name) }

// Ask reads the value that a text asks for. At the end of the input it is "".
func (i *Input) Ask(text string) (string, error) {
	if i.terminal != nil {
		fmt.Fprintf(i.out, "%s: ", sanitize.Line(text))
		value, err := term.ReadPassword(i.terminal.Fd())
		fmt.Fprintln(i.out)
		if err != nil {
			return "", fmt.Errorf("read from the terminal: %s: %w", text, err)
		}
		return string(value), nil
	}
	line, err := i.lines.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read a line of the input: %s: %w", text, err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// Typed returns what a person types on the terminal to confirm an approval, which is this text.
// Without a terminal it returns an error that names the flag --confirm.
func Typed(in io.Reader, out io.Writer, text string) (string, error) {
	i := New(in, out)
	if i.terminal == nil {
		return "", fmt.Errorf("the request asks for a text to be typed: add --confirm %s", quoted(text))
	}
	fmt.Fprintf(out, "Type %s to approve it: ", sanitize.Line(text))
	line, err := i.lines.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read what is typed: %w", err)
	}
	if line = strings.TrimSpace(line); line != text {
		return "", errors.New("another text was typed")
	}
	return line, nil
}

// quoted returns a text as one word of a shell.
func quoted(text string) string {
	return "'" + strings.ReplaceAll(sanitize.Line(text), "'", `'\''`) + "'"
}
