// Package launch starts an agent's command beside a heldcall of its own, for `heldcall
// run`, or attached to that of another run: [Settle] chooses, and keeps the command from
// deciding on its own calls, [Environment] and [EquipAgent] point it at the proxy,
// [OnFreePorts] starts heldcall, [Host] attaches agents of other runs, [Run] runs the command,
// and [Notices] report held calls meanwhile.
package launch

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/x/term"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/discovery"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// Options are what a [Setup] is made of.
type Options struct {
	Config     app.Config
	ConfigFile string // "": none
	LogFile    string // of heldcall's own log; "": standard error or, on a terminal, a file beside the state
	TokenFile  string // that the token is written to; "": none
	Command    []string
	In, Out    any // standard input and output of the command

	notes  string // see Setup.Notes
	shared string // folder of the state that the runs of the user share, see sharedFolder; "": the run has a state of its own
}

// Setup is what one `heldcall run` makes of the configuration, so that its command cannot
// decide on its own calls.
type Setup struct {
	Config   app.Config
	StandIns map[string]string // keys that the command gets, by those of upstreams
	Token    string            // that the console and NATS want; "": there are reviewers
	LogFile  string            // "": the log goes to standard error
	Terminal *os.File          // that the command may draw on; nil: none
	Shared   bool              // the state is the one that the runs of the user share
	Exposed  []string          // heldcall's files in the folder of the command
	Notes    string            // for people, in lines
	first    bool              // no run was in this folder before
	policy   string            // which policy applies, in a line
	trust    string            // what the policy to start from lets pass, in lines; "": another policy applies
}

// prepare makes the setup for a command that is to run in the current folder.
func prepare(o Options) (*Setup, error) {
	work, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the current folder: %w", err)
	}
	u := &Setup{Config: o.Config, Notes: o.notes, Shared: o.shared != "", LogFile: o.LogFile, Terminal: sharedTerminal(o.In, o.Out)}
	state := StateFolder(os.LookupEnv, work)
	if u.first = state == "" || !exists(state); state != "" {
		_ = os.MkdirAll(state, 0o700) // a file that cannot be written there reports the reason
	}
	u.Config.Proxy.Agent = label(o.Command, work, os.LookupEnv)
	u.chooseState(cmp.Or(o.shared, state))
	if err := u.choosePolicy(state, work); err != nil {
		return nil, err
	}
	if u.Terminal != nil && u.LogFile == "" && state != "" {
		u.LogFile = filepath.Join(state, "heldcall.log")
	}
	u.StandIns = u.Config.StandIns()
	if err := u.chooseToken(o.TokenFile); err != nil {
		return nil, err
	}
	if err := u.protect(work, o.ConfigFile, o.TokenFile); err != nil {
		return nil, err
	}
	if u.LogFile != "" && u.first { // so that the warning is seen
		for _, file := range u.Exposed {
			u.Notes += fmt.Sprintf("heldcall: %s: %s\n", exposure, sanitize.Line(file))
		}
	}
	return u, nil
}

// chooseToken gives the run a token where no reviewers are configured, and writes it to a file, "" for none. Each run has a
// new token, and a browser stays signed in.
func (u *Setup) chooseToken(file string) error {
	u.Token = u.Config.AskLocal()
	if u.Token != "" && u.Config.NATS.URL == "" {
		u.Config.Console.SessionsFile = filepath.Join(u.Config.NATS.Dir, "sessions.json")
	}
	if file != "" && u.Token != "" {
		if err := WriteToken(file, u.Token); err != nil {
			return fmt.Errorf("write the token: %w", err)
		}
	}
	return nil
}

// exposure is the warning of a file that programs of the command can change.
const exposure = "a file of heldcall is in the folder of the command: the agent's file tools cannot write to it, but programs that it runs can; move it (docs/hardening.md)"

// chooseState keeps the state of the run out of the folder in which the command works,
// unless the configuration names its folder or an earlier version has put it there.
func (u *Setup) chooseState(folder string) {
	n := &u.Config.NATS
	if n.URL != "" || n.DirNamed || folder == "" {
		return
	}
	if hasState(n.Dir) {
		u.Notes += fmt.Sprintf("heldcall: the state is in %s, as before; without that folder it would be in %s\n", sanitize.Line(n.Dir), sanitize.Line(folder))
		return
	}
	n.Dir = folder
}

// hasState reports whether a folder has the state of a heldcall.
func hasState(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "heldcall.lock"))
	return err == nil
}

// StateFolder returns the folder for the state of the runs in a folder, "" if the user has
// no home folder.
func StateFolder(lookup func(string) (string, bool), work string) string {
	return discovery.FolderOf(discovery.Folder(lookup), work)
}

// protect keeps tools of the command from writing to heldcall's files, and finds those
// in its folder.
func (u *Setup) protect(work string, others ...string) error {
	n := u.Config.NATS
	files := append([]string{u.Config.Policy.File, u.Config.AuditDir(), u.Config.Secrets.KeyFile, n.Creds, n.NKey, n.TLS.Key}, others...)
	for _, client := range u.Config.Proxy.Clients {
		files = append(files, client.Policy)
	}
	for _, upstream := range u.Config.Proxy.Upstreams {
		files = append(files, upstream.CA, upstream.Cert, upstream.Key)
	}
	if n.URL == "" {
		files = append(files, n.Dir)
	}
	u.Config.Policy.WorkDir, u.Config.Policy.SharedFiles = work, true
	if all := discovery.Folder(os.LookupEnv); all != "" {
		u.Config.Policy.Protected = append(u.Config.Policy.Protected, all)
	}
	for _, file := range files {
		if file == "" {
			continue
		}
		whole, err := filepath.Abs(file)
		if err != nil {
			return fmt.Errorf("find %s: %w", file, err)
		}
		u.Config.Policy.Protected = append(u.Config.Policy.Protected, whole)
		if _, err := os.Stat(whole); below(work, whole) && (err == nil || file == n.Dir) {
			u.Exposed = append(u.Exposed, whole)
		}
	}
	return nil
}

// below reports whether a file is in a folder, at any depth.
func below(folder, file string) bool {
	relative, err := filepath.Rel(folder, file)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// Warn logs what the policy to start from lets pass, and the files of heldcall that the agent could change.
func (u *Setup) Warn(log *slog.Logger) {
	if u.trust != "" {
		log.Info(strings.TrimPrefix(u.policy, "heldcall: "), "trust", u.trust)
	}
	for _, file := range u.Exposed {
		log.Warn(exposure, "file", file)
	}
}

// Introduction names the page on which people decide, the policy and the log. The first run in a folder also explains
// the policy and the token.
func (u *Setup) Introduction(console string) string {
	inbox := console
	if u.Token != "" {
		inbox += "/#token=" + u.Token
	}
	text := fmt.Sprintf("heldcall: approve calls at %s\n%s", inbox, u.PolicyNote())
	if u.LogFile != "" {
		text += "heldcall: the log is in " + sanitize.Line(u.LogFile) + "\n"
	}
	if u.first && u.Token != "" {
		text += "heldcall: for other commands: export HELDCALL_TOKEN=" + u.Token + "\n"
	}
	return text
}

// PolicyNote names the policy that applies. For the first run in a folder it states what the policy to start from lets
// pass.
func (u *Setup) PolicyNote() string {
	if u.first {
		return u.policy + "\n" + u.trust
	}
	return u.policy + "\n"
}

// sharedTerminal returns the terminal that the command reads and writes beside heldcall,
// nil if it does not.
func sharedTerminal(stdin, stdout any) *os.File {
	in, isFile := stdin.(*os.File)
	out, alsoFile := stdout.(*os.File)
	if !isFile || !alsoFile || !term.IsTerminal(in.Fd()) || !term.IsTerminal(out.Fd()) {
		return nil
	}
	return out
}

// WriteToken replaces a file with a new one that contains a token and that only its
// owner can read.
func WriteToken(file, token string) error {
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
