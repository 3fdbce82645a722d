package policylearn

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// File is a policy file, and its content with proposals.
type File struct {
	name          string
	before, after []byte
}

// Open reads a policy file and adds the rules of proposals to its content. The error names the lines
// where they have to be added by hand.
func Open(name string, proposals []approvals.Proposal) (*File, error) {
	before, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	var lines []string
	for i := range proposals {
		lines = append(lines, proposals[i].Line)
	}
	after, err := Insert(before, lines)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if _, err := policy.Parse(name, after); err != nil {
		return nil, fmt.Errorf("with the proposed rules: %w", err)
	}
	return &File{name, before, after}, nil
}

// Diff prints what would change.
func (f *File) Diff(w io.Writer) error {
	_, err := io.WriteString(w, "\n"+sanitize.Lines(Diff(f.name, f.before, f.after)))
	return err
}

// Write replaces the file at once, so that a running heldcall never reads a part of it.
func (f *File) Write() error {
	name, err := filepath.EvalSymlinks(f.name)
	if err != nil {
		return fmt.Errorf("write the policy: %w", err)
	}
	info, err := os.Stat(name)
	if err != nil {
		return fmt.Errorf("write the policy: %w", err)
	}
	if err := Replace(name, f.after, info.Mode().Perm()); err != nil {
		return fmt.Errorf("write the policy: %w", err)
	}
	return nil
}

// Replace replaces the content of a file at once, or makes the file: no reader sees a part of it.
func Replace(name string, content []byte, mode fs.FileMode) error {
	next, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = next.Write(content)
	err = errors.Join(err, next.Chmod(mode), next.Sync(), next.Close())
	if err == nil {
		err = os.Rename(next.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return nil
}
