package judge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/heldcall/heldcall/approvals/policy"
)

// Source is a policy file and its policy in force. [Source.Reload], [Source.Refused] and
// [Source.SHA256] are for one goroutine; the rest is safe for concurrent use.
type Source struct {
	file     string
	name     string // see uniqueName and wholeName
	optional bool
	options  *Options
	src      []byte // as last read, nil if there was no file
	lost     bool   // the last read failed
	refused  string // why the last read file is not in force, "" if it is
	current  atomic.Pointer[policy.Policy]
	sum      string // see SHA256
}

// Name returns the name of the policy in requests and events.
func (s *Source) Name() string { return s.name }

// SHA256 returns the SHA-256 of the bytes of the file in force, followed by those of the text that it extends, in hex;
// "" if there is no file.
func (s *Source) SHA256() string { return s.sum }

// File returns the path of the file as it is configured.
func (s *Source) File() string { return s.file }

// Policy returns the policy in force. It is nil before the first load.
func (s *Source) Policy() *policy.Policy { return s.current.Load() }

// Refused returns the reason why the last read file is not in force, "" if it is.
func (s *Source) Refused() string { return s.refused }

// load reads the file at the start.
func (s *Source) load() error {
	_, err := s.Reload(true)
	if errors.Is(err, fs.ErrNotExist) && s.optional {
		s.refused, s.lost = "", false
		s.current.Store(policy.Default().Protect(s.options.Agent.Folder, s.options.Protected...))
		return nil
	}
	return err
}

// Reload reads the file and, if it has changed or always is set, puts its policy in force.
// After an error the previous policy stays in force.
func (s *Source) Reload(always bool) (changed bool, err error) {
	src, err := os.ReadFile(s.file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.optional && s.src == nil && s.Policy() != nil:
		return false, nil
	case err != nil:
		s.lost = true
		return false, s.refuse(fmt.Errorf("read the policy: %w", err))
	case !always && !s.lost && s.src != nil && bytes.Equal(src, s.src):
		return false, nil
	}
	s.src, s.lost = append([]byte{}, src...), false
	if !always && s.inOwnWorkspace() {
		return false, s.refuse(errInWorkspace)
	}
	rules, err := s.parse(src)
	if err != nil {
		return false, s.refuse(fmt.Errorf("policy: %w", err))
	}
	s.refused = ""
	s.current.Store(rules)
	sum := sha256.Sum256(slices.Concat(src, rules.Extends().Version.Text))
	s.sum = hex.EncodeToString(sum[:])
	return true, nil
}

func (s *Source) refuse(err error) error {
	s.refused = err.Error()
	return err
}

// uniqueName returns the name of a policy in requests: the shortest end of its path, in
// whole names, that no other policy has. It is the same on replicas with their files in
// different directories, and reveals little of the path to reviewers.
func uniqueName(file string, all []*Source) string {
	file = filepath.ToSlash(file)
	names := strings.Split(file, "/")
	for i := len(names) - 1; i > 0; i-- {
		end := strings.Join(names[i:], "/")
		shared := slices.ContainsFunc(all, func(s *Source) bool {
			other := filepath.ToSlash(s.file)
			return other != file && (other == end || strings.HasSuffix(other, "/"+end))
		})
		if !shared {
			return end
		}
	}
	return file
}

// wholeName returns the name of a policy where agents can join: its whole path, and the folder of its agent.
func wholeName(file, folder string) string {
	if whole, err := filepath.Abs(file); err == nil {
		file = whole
	}
	return file + " for " + folder
}
