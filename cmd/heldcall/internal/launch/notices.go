package launch

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// Notices reports held, decided and expired calls while a command runs: in lines on
// standard error or, while the command draws on the terminal, in the log and by a
// notification of the desktop.
type Notices struct {
	out      io.Writer
	log      *slog.Logger // of the file; nil: the log is on standard error too
	terminal *os.File     // that the command may draw on, or nil

	mu      sync.Mutex
	console string         // URL, once it is known
	shows   sync.WaitGroup // notifications that are being shown
	showing bool
	shown   time.Time // when the last one was begun
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

// noticeOf is the line for an event, after the name of the tool.
var noticeOf = map[approvals.EventType]string{
	approvals.EventApprovalRequired:  "is held",
	approvals.EventApprovalExpired:   "expired: no decision in time",
	approvals.EventApprovalCancelled: "was cancelled",
}

// decided is the line for a decision.
var decided = map[approvals.Action]string{
	approvals.ActionApprove:     "is approved by ",
	approvals.ActionDeny:        "is denied by ",
	approvals.ActionModifyArgs:  "is approved with other arguments by ",
	approvals.ActionAllowAlways: "is approved for always by ",
	approvals.ActionDenyAlways:  "is denied for always by ",
	approvals.ActionAnswer:      "is answered by ",
	approvals.ActionAbortRun:    "is denied, and its run ended, by ",
}

// NewNotices returns notices of a run that are written to standard error. log is nil where
// heldcall's own log is on standard error too.
func NewNotices(stderr io.Writer, terminal *os.File, log *slog.Logger) *Notices {
	return &Notices{out: stderr, terminal: terminal, log: log}
}

// Wait returns when no notification is shown any more.
func (n *Notices) Wait() { n.shows.Wait() }

// LinkTo sets the URL of the console.
func (n *Notices) LinkTo(console string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.console = console
}

// Event reports an event. It writes no arguments of calls, and no answers.
func (n *Notices) Event(e approvals.Event) {
	if n.log != nil {
		app.LogEvent(n.log, e)
	}
	what := noticeOf[e.Type]
	if e.Type == approvals.EventApprovalDecision && decided[e.Action] != "" {
		what = decided[e.Action] + sanitize.Line(e.ReviewerID)
	}
	if what == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	link := n.console + "/#/requests/" + sanitize.Line(e.RequestID)
	if n.terminal == nil || !readsKeys(n.terminal) {
		fmt.Fprintf(n.out, "heldcall: %s %s: %s\n", subject(e), what, link)
		return
	}
	if show := notifier(); e.Type == approvals.EventApprovalRequired && show != nil && n.due() {
		n.shows.Go(func() { n.show(append(show, "A tool call waits for approval: "+link)) })
	}
}

// subject names what an event is about.
func subject(e approvals.Event) string {
	tool := sanitize.Line(e.ToolName)
	switch e.Kind {
	case "", approvals.KindPermission:
		return tool
	case approvals.KindResult:
		return "the result of " + tool
	}
	return "the question " + tool
}

// showWithin bounds how long a notification takes. Meanwhile no other one is shown.
const showWithin = 5 * time.Second

// show runs the program that shows a notification. It does not get heldcall's
// environment, in which there may be keys.
func (n *Notices) show(argv []string) {
	ctx, cancel := context.WithTimeout(context.Background(), showWithin)
	defer cancel()
	program := exec.CommandContext(ctx, argv[0], argv[1:]...)
	for _, name := range []string{"DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "HOME", "PATH", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"} {
		if value, ok := os.LookupEnv(name); ok {
			program.Env = append(program.Env, name+"="+value)
		}
	}
	if err := program.Run(); err != nil && n.log != nil {
		n.log.Debug("a notification was not shown", "error", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.showing = false
}

// notifier is the command that shows its last argument on the desktop, nil if there
// is none.
func notifier() []string {
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
