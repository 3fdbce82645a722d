package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// The commands that the demo prints for another terminal work.
func TestDemoIsAnsweredFromAnotherTerminal(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	input, typed := io.Pipe()
	defer typed.Close()
	screen := &screen{grown: make(chan struct{})}
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx, []string{"demo"}, &streams{input, screen, screen}, newHangups()) }()

	for _, c := range []struct {
		printed string
		command func(match []string) []string
	}{
		{`(?m)^  export HELDCALL_CONSOLE=(\S+)\n.*\n  \S+ deny (\S+) --note 'keep the drafts'$`, func(m []string) []string {
			return []string{"deny", m[2], "--note", "keep the drafts", "--console", m[1]}
		}},
		{`(?s)leave the drafts.*\n  export HELDCALL_CONSOLE=(\S+)\n  \S+ approve (\S+)\n`, func(m []string) []string {
			return []string{"approve", m[2], "--console", m[1]}
		}},
	} {
		command := c.command(screen.await(ctx, t, c.printed))
		var out bytes.Buffer
		if code := execute(ctx, command, &streams{nil, &out, &out}, newHangups()); code != exitDone {
			t.Fatalf("heldcall %q exits with %d: %s", command, code, out.String())
		}
	}
	screen.await(ctx, t, `(?m)^reviewer +approve by local over rest$`)
	screen.await(ctx, t, `(?m)^The folder now has:\n  .env, drafts/plan.txt, notes.txt, report.txt$`)
	inbox := screen.await(ctx, t, `(?m)^The inbox stays open until you press Enter here: its history has this call\.\n  (http\S+)/#/history$`)[1]
	if _, err := http.Get(inbox + "/healthz"); err != nil {
		t.Errorf("the inbox is closed: %v", err)
	}
	if _, err := io.WriteString(typed, "\n"); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != exitDone {
		t.Errorf("the demo exits with %d", code)
	}
}

// The demo's commands are found wherever they are typed.
func TestSelfIsFoundByShells(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	if got := self(); strings.Trim(got, "'") != path {
		t.Errorf("not on the PATH it is %s", got)
	}
	other := filepath.Join(os.Getenv("PATH"), "heldcall")
	if err := os.WriteFile(other, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := self(); strings.Trim(got, "'") != path {
		t.Errorf("after another one it is %s", got)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, other); err != nil {
		t.Fatal(err)
	}
	if got := self(); got != "heldcall" {
		t.Errorf("on the PATH it is %s", got)
	}
}

// screen is what a terminal shows.
type screen struct {
	mu    sync.Mutex
	text  []byte
	grown chan struct{} // closed and replaced with every write
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p...)
	close(s.grown)
	s.grown = make(chan struct{})
	return len(p), nil
}

// await waits until the screen shows what the pattern matches.
func (s *screen) await(ctx context.Context, t *testing.T, pattern string) []string {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	for {
		s.mu.Lock()
		match, grown := expression.FindStringSubmatch(string(s.text)), s.grown
		s.mu.Unlock()
		if match != nil {
			return match
		}
		select {
		case <-grown:
		case <-ctx.Done():
			t.Fatalf("the screen does not show %s:\n%s", pattern, s.text)
		}
	}
}
