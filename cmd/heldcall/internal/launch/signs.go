package launch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/discovery"
	"github.com/heldcall/heldcall/internal/humanize"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// Sequences of terminals, which move nothing that the command has drawn.
const (
	saveTitle    = "\x1b[22;2t"
	oldTitle     = "\x1b]2;\x1b\\\x1b[23;2t" // empty where none was saved
	title        = "\x1b]2;%s\x1b\\"
	notification = "\x1b]9;%s\x1b\\" // which many terminals show on the desktop, also over SSH
	bell         = "\a"
)

// sign tells people of an event while the command draws on the terminal.
func (n *Notices) sign(e approvals.Event, held discovery.Held) {
	if len(n.waiting) > 0 {
		n.setTitle()
	}
	if e.Type == approvals.EventApprovalRequired {
		n.alert(strings.TrimSuffix(subject(e)+": "+sanitize.Line(held.Heading), ": "))
	}
}

// alert rings and shows a text on the desktop: by a program of this machine or, without one, by the terminal.
func (n *Notices) alert(text string) {
	if !n.due() {
		return
	}
	n.write(n.signs.Bell, bell)
	if program := notifier(); program != nil {
		n.shows.Go(func() { n.show(program, text) })
		return
	}
	n.showing = false
	n.notify(text)
}

// notify has the terminal show a text.
func (n *Notices) notify(text string) {
	n.write(n.signs.OSC9, fmt.Sprintf(notification, "heldcall holds "+text))
}

// setTitle sets the title of the terminal to the number of pending requests.
func (n *Notices) setTitle() {
	if !n.titled {
		n.write(n.signs.Title, saveTitle)
	}
	n.titled = true
	n.write(n.signs.Title, fmt.Sprintf(title, "heldcall: "+humanize.Count(len(n.waiting), "call")+" held"))
}

// restoreTitle gives the terminal the title back that it had.
func (n *Notices) restoreTitle() {
	if n.titled {
		n.titled = false
		n.write(n.signs.Title, oldTitle)
	}
}

// write writes a sequence to the terminal, if it is wanted. A terminal that takes none has lost a sign, and the command
// goes on. The sequence is one write, so that the output of the command cannot come between its parts.
func (n *Notices) write(wanted bool, sequence string) {
	if wanted {
		_, _ = n.terminal.WriteString(sequence)
	}
}

// quietFor is the least time between two notifications of the desktop: calls that come at once are one.
const quietFor = 2 * time.Second

// due takes the right to show a notification of the desktop now. The caller holds n.mu.
func (n *Notices) due() bool {
	if n.showing || time.Since(n.shown) < quietFor {
		return false
	}
	n.showing, n.shown = true, time.Now()
	return true
}

// showWithin bounds how long a notification takes. Meanwhile no other one is shown.
const showWithin = 5 * time.Second

// show runs the program that shows a notification. It does not get heldcall's
// environment, in which there may be keys.
func (n *Notices) show(argv []string, text string) {
	ctx, cancel := context.WithTimeout(context.Background(), showWithin)
	defer cancel()
	program := exec.CommandContext(ctx, argv[0], append(argv[1:], text)...)
	for _, name := range []string{"DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "HOME", "PATH", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"} {
		if value, ok := os.LookupEnv(name); ok {
			program.Env = append(program.Env, name+"="+value)
		}
	}
	err := program.Run()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.showing = false
	if err == nil {
		return
	}
	if n.log != nil {
		n.log.Debug("a notification was not shown", "error", err)
	}
	n.notify(text)
}

// notifier is the command that shows its last argument on the desktop, nil if there
// is none, or if people are at another computer.
func notifier() []string {
	if os.Getenv("SSH_CONNECTION") != "" {
		return nil
	}
	for _, argv := range [][]string{
		{"notify-send", "--app-name=heldcall", "heldcall"},
		{"osascript", "-e", "on run argv", "-e", `display notification (item 1 of argv) with title "heldcall"`, "-e", "end run"},
	} {
		if path, err := exec.LookPath(argv[0]); err == nil {
			return append([]string{path}, argv[1:]...)
		}
	}
	return nil
}
