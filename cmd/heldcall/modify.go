package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
)

type modifyCommand struct {
	oneRequest
	Args string `help:"The arguments to release in place of the model's. Without it, $VISUAL or $EDITOR opens." placeholder:"JSON"`
	Note string `help:"Why; the model is told." placeholder:"WHY"`
}

// Run releases a call with other arguments.
func (c *modifyCommand) Run(ctx context.Context, s *streams) error {
	console, request, err := c.find(ctx)
	if err != nil {
		return err
	}
	if request.Status.Final() {
		return &tooLate{&approvals.DecidedError{Request: request}}
	}
	edited := []byte(c.Args)
	if c.Args == "" {
		if edited, err = editArguments(ctx, s, &request); err != nil {
			return err
		}
	}
	if err := checkJSON(edited); err != nil {
		return usagef("the arguments are not valid JSON, so nothing was decided: %w", err)
	}
	return decideOne(ctx, s, console, c.outputFlag, approvals.Decision{
		RequestID: request.ID, Action: approvals.ActionModifyArgs, ModifiedArgs: edited, Note: c.Note,
	})
}

// checkJSON refuses what two parsers could read differently.
func checkJSON(text []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	if _, err := decoder.ReadValue(); err != nil {
		return err
	}
	if rest := bytes.TrimSpace(text[decoder.InputOffset():]); len(rest) > 0 {
		return fmt.Errorf("%q stands behind the value", shorten(string(rest), previewWidth))
	}
	return nil
}

// editArguments lets the reviewer edit the arguments in a file that only they
// can read. Text that does not show on a terminal is escaped in it.
func editArguments(ctx context.Context, s *streams, request *approvals.Request) ([]byte, error) {
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
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "arguments.json")
	if err := os.WriteFile(file, []byte(indentJSON(request.Arguments)+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write the arguments to edit: %w", err)
	}
	command := exec.CommandContext(ctx, editor[0], append(editor[1:], file)...)
	command.Stdin, command.Stdout, command.Stderr = s.in, s.out, s.err
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("nothing was decided: the editor %s: %w", editor[0], err)
	}
	edited, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the edited arguments: %w", err)
	}
	if bytes.Equal(compactJSON(edited), compactJSON([]byte(indentJSON(request.Arguments)))) {
		return nil, errors.New("nothing was changed, so nothing was decided; `heldcall approve` releases the call as it is")
	}
	return edited, nil
}

// compactJSON takes the white space out of JSON; what is none stays as it is.
func compactJSON(value []byte) []byte {
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return value
	}
	return compact.Bytes()
}
