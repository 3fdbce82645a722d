package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/x/term"

	"github.com/heldcall/heldcall/app"
)

// setup is what one `heldcall run` makes of the configuration, so that its command
// cannot decide on its own calls.
type setup struct {
	config   app.Config
	standIns map[string]string // keys that the command gets, by those of upstreams
	token    string            // that the console and NATS want; "": there are reviewers
	logFile  string            // "": the log goes to standard error
	terminal *os.File          // that the command may draw on; nil: none
	exposed  []string          // heldcall's files in the folder of the command
	notes    string            // for people, in lines
}

// prepare makes the setup for a command that is to run in the current folder.
func (c *runCommand) prepare(config app.Config, s *streams) (*setup, error) {
	work, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the current folder: %w", err)
	}
	u := &setup{config: config, logFile: c.LogFile, terminal: sharedTerminal(s)}
	state := stateFolder(os.LookupEnv, work)
	u.chooseState(state)
	if u.terminal != nil && u.logFile == "" && state != "" {
		if err := os.MkdirAll(state, 0o700); err != nil {
			return nil, fmt.Errorf("make the folder of this run: %w", err)
		}
		u.logFile = filepath.Join(state, "heldcall.log")
		u.notes += "heldcall: the log is in " + printable(u.logFile) + "\n"
	}
	u.standIns, u.token = u.config.StandIns(), u.config.AskLocal()
	if c.TokenFile != "" && u.token != "" {
		if err := writeToken(c.TokenFile, u.token); err != nil {
			return nil, fmt.Errorf("write the token: %w", err)
		}
	}
	if err := u.protect(work, c.Config, c.TokenFile); err != nil {
		return nil, err
	}
	if u.logFile != "" { // so that the warning is seen
		for _, file := range u.exposed {
			u.notes += fmt.Sprintf("heldcall: %s: %s\n", exposure, printable(file))
		}
	}
	return u, nil
}

// exposure is the warning of a file that programs of the command can change.
const exposure = "a file of heldcall is in the folder in which the command works: its tools are kept from writing to it, its programs are not (docs/hardening.md)"

// chooseState keeps the state of the run out of the folder in which the command works,
// unless the configuration says where it is or an earlier version has put it there.
func (u *setup) chooseState(folder string) {
	n := &u.config.NATS
	if n.URL != "" || n.DirNamed || folder == "" {
		return
	}
	if _, err := os.Stat(filepath.Join(n.Dir, "heldcall.lock")); err == nil {
		u.notes += fmt.Sprintf("heldcall: the state is in %s, as before; without that folder it would be in %s\n", printable(n.Dir), printable(folder))
		return
	}
	n.Dir = folder
}

// stateFolder is the folder for the state of the runs in a folder, "" if the user has
// no home folder.
func stateFolder(lookup func(string) (string, bool), work string) string {
	base, _ := lookup("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home := homeFolder(lookup)
		if home == "" {
			return ""
		}
		base = filepath.Join(home, ".local", "state")
	}
	sum := sha256.Sum256([]byte(work))
	return filepath.Join(base, "heldcall", "run", hex.EncodeToString(sum[:8]))
}

// protect keeps tools of the command from writing to heldcall's files, and finds those
// in its folder.
func (u *setup) protect(work string, others ...string) error {
	n := u.config.NATS
	files := append([]string{u.config.Policy.File, n.Creds, n.NKey, n.TLS.Key}, others...)
	for _, client := range u.config.Proxy.Clients {
		files = append(files, client.Policy)
	}
	if n.URL == "" {
		files = append(files, n.Dir)
	}
	u.config.Policy.WorkDir = work
	for _, file := range files {
		if file == "" {
			continue
		}
		whole, err := filepath.Abs(file)
		if err != nil {
			return fmt.Errorf("find %s: %w", file, err)
		}
		u.config.Policy.Protected = append(u.config.Policy.Protected, whole)
		if _, err := os.Stat(whole); below(work, whole) && (err == nil || file == n.Dir) {
			u.exposed = append(u.exposed, whole)
		}
	}
	return nil
}

// below reports whether a file is in a folder, at any depth.
func below(folder, file string) bool {
	relative, err := filepath.Rel(folder, file)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// warn logs what the agent could do to heldcall.
func (u *setup) warn(log *slog.Logger) {
	for _, file := range u.exposed {
		log.Warn(exposure, "file", file)
	}
}

// introduction is where people decide, and what they need for it.
func (u *setup) introduction(console string) string {
	if u.token == "" {
		return fmt.Sprintf("heldcall: approve calls at %s\n", console)
	}
	return fmt.Sprintf("heldcall: approve calls at %s/#token=%s\nheldcall: other commands need HELDCALL_TOKEN=%s, or --token-file\n", console, u.token, u.token)
}

// sharedTerminal is the terminal that the command reads and writes beside heldcall,
// nil if it does not.
func sharedTerminal(s *streams) *os.File {
	in, isFile := s.in.(*os.File)
	out, alsoFile := s.out.(*os.File)
	if !isFile || !alsoFile || !term.IsTerminal(in.Fd()) || !term.IsTerminal(out.Fd()) {
		return nil
	}
	return in
}

// writeToken writes a token into a new file that nobody else reads, in place of one of
// the same name.
func writeToken(file, token string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(token + "\n")
	return errors.Join(err, f.Close())
}
