package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// draft is the arguments of a request in a file that the reviewer edits.
type draft struct {
	editor []string // the program and its own arguments
	folder string   // which only the reviewer can read
	file   string
	before []byte
}

// newDraft writes the file. Text that does not show on a terminal is escaped in
// it.
func newDraft(request *approvals.Request) (*draft, error) {
	editor := strings.Fields(os.Getenv("VISUAL"))
	if len(editor) == 0 {
		editor = strings.Fields(os.Getenv("EDITOR"))
	}
	if len(editor) == 0 {
		return nil, usagef("give the arguments with --args JSON, or set VISUAL or EDITOR to edit them")
	}
	folder, err := os.MkdirTemp("", "heldcall-")
	if err != nil {
		return nil, fmt.Errorf("make a folder to edit in: %w", err)
	}
	d := &draft{editor, folder, filepath.Join(folder, "arguments.json"), []byte(indentJSON(request.Arguments) + "\n")}
	if err := os.WriteFile(d.file, d.before, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write the arguments to edit: %w", err), os.RemoveAll(folder))
	}
	return d, nil
}

// edit returns what the reviewer makes of the arguments. Signals while the editor
// is open are the editor's.
func (d *draft) edit(s *streams) ([]byte, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, heeded(passedOn()...)...)
	defer signal.Stop(signals)
	command := exec.Command(d.editor[0], append(d.editor[1:], d.file)...)
	command.Stdin, command.Stdout, command.Stderr = s.in, s.out, s.err
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("nothing was decided: the editor %s: %w", d.editor[0], err)
	}
	edited, err := os.ReadFile(d.file)
	if err != nil {
		return nil, fmt.Errorf("read the edited arguments: %w", err)
	}
	if d.unchanged(edited) {
		return nil, errors.New("nothing was changed, so nothing was decided; `heldcall approve` releases the call as it is")
	}
	return edited, nil
}

func (d *draft) unchanged(edited []byte) bool {
	return bytes.Equal(compactJSON(edited), compactJSON(d.before))
}

// close removes the file, unless something went wrong and it holds what the
// reviewer may want to use again: then the error says where.
func (d *draft) close(failed error) error {
	edited, err := os.ReadFile(d.file)
	if failed == nil || err != nil || d.unchanged(edited) || errors.As(failed, new(*approvals.DecidedError)) {
		return errors.Join(failed, os.RemoveAll(d.folder))
	}
	return fmt.Errorf("%w\nWhat you wrote is in %[2]s: correct it, and give it with --args \"$(cat %[2]s)\"", failed, d.file)
}
