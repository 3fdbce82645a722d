package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/launch"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

// draft is the arguments of a request in a file that the reviewer edits.
type draft struct {
	editor []string // the program and its own arguments
	folder string   // which only the reviewer can read
	file   string
	before []byte
}

// errNoEditor is the error of `heldcall modify` without an editor.
var errNoEditor = usagef("give the arguments with --args JSON, or set VISUAL or EDITOR to edit them")

// newDraft writes arguments into the file. Text that does not show on a terminal
// is escaped in it.
func newDraft(arguments []byte) (*draft, error) {
	editor := strings.Fields(os.Getenv("VISUAL"))
	if len(editor) == 0 {
		editor = strings.Fields(os.Getenv("EDITOR"))
	}
	if len(editor) == 0 {
		return nil, errNoEditor
	}
	folder, err := os.MkdirTemp("", "heldcall-")
	if err != nil {
		return nil, fmt.Errorf("make a folder to edit in: %w", err)
	}
	d := &draft{editor, folder, filepath.Join(folder, "arguments.json"), []byte(sanitize.Indented(arguments) + "\n")}
	if err := os.WriteFile(d.file, d.before, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write the arguments to edit: %w", err), os.RemoveAll(folder))
	}
	return d, nil
}

// edit returns what the reviewer makes of the arguments. Signals while the editor
// is open are the editor's.
func (d *draft) edit(s *streams) ([]byte, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, launch.Signals()...)
	defer signal.Stop(signals)
	command := d.Command()
	command.Stdin, command.Stdout, command.Stderr = s.in, s.out, s.err
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("nothing was decided: the editor %s: %w", d.editor[0], err)
	}
	return d.Result()
}

// Command opens the file in the editor.
func (d *draft) Command() *exec.Cmd {
	return exec.Command(d.editor[0], append(slices.Clone(d.editor[1:]), d.file)...)
}

// Result returns the content of the file.
func (d *draft) Result() ([]byte, error) {
	edited, err := os.ReadFile(d.file)
	if err != nil {
		return nil, fmt.Errorf("read the edited arguments: %w", err)
	}
	if d.unchanged(edited) {
		return nil, errors.New("nothing was changed, so nothing was decided; approve the call to release it as it is")
	}
	if err := textview.CheckJSON(edited); err != nil {
		return edited, usagef("the arguments are not valid JSON, so nothing was decided: %w", err)
	}
	return edited, nil
}

// Discard removes the file.
func (d *draft) Discard() error { return os.RemoveAll(d.folder) }

func (d *draft) unchanged(edited []byte) bool {
	return bytes.Equal(textview.CompactJSON(edited), textview.CompactJSON(d.before))
}

// close removes the file, unless the decision failed and the file has changes: then the
// error names it.
func (d *draft) close(failed error) error {
	edited, err := os.ReadFile(d.file)
	if failed == nil || err != nil || d.unchanged(edited) || errors.As(failed, new(*approvals.DecidedError)) {
		return errors.Join(failed, d.Discard())
	}
	return fmt.Errorf("%w\nWhat you wrote is in %[2]s: correct it, and give it with --args \"$(cat %[2]s)\"", failed, d.file)
}
