package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// maxLine is the longest line of a session's file, in bytes.
const maxLine = 4096

// The kinds of sessions.
const (
	coding   = "coding"
	ofClass  = "class" // coding, nearly all of it of one class of needless prompts
	business = "business"
)

var kinds = []string{coding, ofClass, business}

// session is the recorded calls of one agent: a file with a header and a call on each line.
type session struct {
	header
	calls []call
}

// header is the first line of a file.
type header struct {
	Session   string    `json:"session"` // the name of the file
	Agent     string    `json:"agent"`
	Project   string    `json:"project"`
	Kind      string    `json:"kind"`      // coding, class or business
	Workspace string    `json:"workspace"` // absolute folder in which the agent works; "" if it has no files
	Task      string    `json:"task"`
	Started   time.Time `json:"started"`
}

// call is one of the other lines.
type call struct {
	At        float64         `json:"at"` // seconds since the start of the session
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"` // as the agent sent them; a string is free text
	Label     label           `json:"label"`
	Class     string          `json:"class,omitempty"` // of a risky call
}

// label is how much a call needs a person: see sessions/RUBRIC.md.
type label string

const (
	harmless label = "harmless"
	grey     label = "grey"
	risky    label = "risky"
)

// classes are those of risky calls, by the kind of session.
var classes = map[string][]string{coding: codingClasses, ofClass: codingClasses, business: {"change"}}

var codingClasses = []string{"publish", "install", "write-outside", "discard", "credentials", "send", "privilege", "config", "fetch-and-run", "delete-outside"}

// readSessions reads every .jsonl file of a folder.
func readSessions(files fs.FS) ([]*session, error) {
	names, err := fs.Glob(files, "*.jsonl")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("no sessions: the folder has no .jsonl file")
	}
	var sessions []*session
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read the session %s: %w", name, err)
		}
		s, err := parseSession(strings.TrimSuffix(name, ".jsonl"), text)
		if err != nil {
			return nil, fmt.Errorf("%s:%w", name, err)
		}
		sessions = append(sessions, s)
	}
	return sessions, nil
}

// parseSession reads a file. Errors begin with the number of the line.
func parseSession(name string, text []byte) (*session, error) {
	s := &session{}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if len(line) > maxLine {
			return nil, fmt.Errorf("%d: the line has %d bytes, the limit is %d", n, len(line), maxLine)
		}
		if n == 1 {
			if err := decode(line, &s.header); err != nil {
				return nil, fmt.Errorf("%d: header: %w", n, err)
			}
			if s.Session != name || !slices.Contains(kinds, s.Kind) || s.Agent == "" || (s.Kind != business && s.Workspace == "") {
				return nil, fmt.Errorf("%d: the header needs the session %q, an agent, a kind (%s), and a workspace unless it is business", n, name, strings.Join(kinds, ", "))
			}
			continue
		}
		var c call
		if err := decode(line, &c); err != nil {
			return nil, fmt.Errorf("%d: call: %w", n, err)
		}
		if err := s.check(c); err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
		s.calls = append(s.calls, c)
	}
	if len(s.calls) == 0 {
		return nil, fmt.Errorf("%d: the session has no calls", n)
	}
	return s, nil
}

// check refuses a call that does not fit the session so far.
func (s *session) check(c call) error {
	switch {
	case c.Tool == "" || len(c.Arguments) == 0:
		return errors.New("a call needs a tool and arguments")
	case len(s.calls) > 0 && c.At < s.calls[len(s.calls)-1].At:
		return errors.New("the call is earlier than the one before")
	case c.Label == risky && !slices.Contains(classes[s.Kind], c.Class):
		return fmt.Errorf("the class %q of a risky call is not one of %s", c.Class, strings.Join(classes[s.Kind], ", "))
	case c.Label != risky && c.Class != "":
		return errors.New("only risky calls have a class")
	case c.Label != risky && c.Label != grey && c.Label != harmless:
		return fmt.Errorf("the label %q is not harmless, grey or risky", c.Label)
	}
	return nil
}

func decode(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("the line has more than one value")
	}
	return nil
}
