package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"

	"github.com/heldcall/heldcall/internal/sanitize"
)

// secretInput reads values from the terminal, which does not show them, or else one line for each
// value. It asks for each on out.
type secretInput struct {
	out      io.Writer
	terminal *os.File // nil: there is none
	lines    *bufio.Reader
}

// newSecretInput returns the input from a file or a stream.
func newSecretInput(in io.Reader, out io.Writer) *secretInput {
	i := &secretInput{out: out, lines: bufio.NewReader(in)}
	if file, ok := in.(*os.File); ok && term.IsTerminal(file.Fd()) {
		i.terminal = file
	}
	return i
}

// onTerminal reports whether values are read from a terminal.
func (i *secretInput) onTerminal() bool { return i.terminal != nil }

// value reads the value of a name. At the end of the input it is "".
func (i *secretInput) value(ctx context.Context, name string) (string, error) {
	return i.ask(ctx, "Value of "+name)
}

// ask reads the value that a text asks for. At the end of the input it is "".
func (i *secretInput) ask(ctx context.Context, text string) (string, error) {
	if i.terminal != nil {
		return i.hidden(ctx, text)
	}
	line, err := until(ctx, func() (string, error) { return i.lines.ReadString('\n') })
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read a line of the input: %s: %w", text, err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// hidden reads a value from the terminal, which shows typed characters again when it returns.
func (i *secretInput) hidden(ctx context.Context, text string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	settings, err := term.GetState(i.terminal.Fd())
	if err != nil {
		return "", fmt.Errorf("read the settings of the terminal: %w", err)
	}
	fmt.Fprintf(i.out, "%s: ", sanitize.Line(text))
	value, err := until(ctx, func() (string, error) {
		value, err := term.ReadPassword(i.terminal.Fd())
		return string(value), err
	})
	fmt.Fprintln(i.out)
	if ctx.Err() != nil {
		err = errors.Join(err, term.Restore(i.terminal.Fd(), settings))
	}
	if err != nil {
		return "", fmt.Errorf("read from the terminal: %s: %w", text, err)
	}
	return value, nil
}

// until returns what a function reads, or the error of the context if that ends first. The
// function then reads on: the command is about to end.
func until(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// confirm returns what a person types on the terminal to confirm an approval, which is this text.
// Without a terminal it returns an error that names the flag --confirm.
func confirm(ctx context.Context, s *streams, text string) (string, error) {
	i := newSecretInput(s.in, s.err)
	if i.terminal == nil {
		return "", fmt.Errorf("the request asks for a text to be typed: add --confirm %s", quoted(text))
	}
	return text, i.typed(ctx, text, fmt.Sprintf("Type %s to approve it: ", sanitize.Line(text)))
}

// typed asks a person for a text, and returns an error if they type another.
func (i *secretInput) typed(ctx context.Context, text, prompt string) error {
	fmt.Fprint(i.out, prompt)
	line, err := until(ctx, func() (string, error) { return i.lines.ReadString('\n') })
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read what is typed: %w", err)
	}
	if strings.TrimSpace(line) != text {
		return errors.New("another text was typed")
	}
	return nil
}

// quoted returns a text as one word of a shell.
func quoted(text string) string {
	return "'" + strings.ReplaceAll(sanitize.Line(text), "'", `'\''`) + "'"
}
