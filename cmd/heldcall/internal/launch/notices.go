package launch

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/discovery"
	"github.com/heldcall/heldcall/internal/humanize"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// Notices reports held, decided and expired calls while a command runs: in lines on
// standard error or, while the command draws on the terminal, by a notification of the desktop
// and by the title and the bell of the terminal.
type Notices struct {
	out      io.Writer
	log      *slog.Logger // of the file; nil: the log is on standard error too
	terminal *os.File     // that the command may draw on, or nil
	signs    app.TerminalConfig

	mu      sync.Mutex
	waiting map[string]bool // ids of requests that are pending
	titled  bool            // the terminal has heldcall's title
	shows   sync.WaitGroup  // notifications that are being shown
	showing bool
	shown   time.Time // when the last one was begun
}

// ends are the words of the line for an event that ends a request: its first word, and what follows the tool.
var ends = map[approvals.EventType][2]string{
	approvals.EventApprovalExpired:   {"expired", "no decision in time"},
	approvals.EventApprovalCancelled: {"cancelled", "nothing waits for it"},
}

// decided is the first word of the line for a decision.
var decided = map[approvals.Action]string{
	approvals.ActionApprove:     "approved",
	approvals.ActionDeny:        "denied",
	approvals.ActionModifyArgs:  "edited",
	approvals.ActionAllowAlways: "allowed always",
	approvals.ActionDenyAlways:  "denied always",
	approvals.ActionAnswer:      "answered",
	approvals.ActionAbortRun:    "run ended",
}

// NewNotices returns notices of a run that are written to standard error. log is nil where
// heldcall's own log is on standard error too.
func NewNotices(stderr io.Writer, terminal *os.File, signs app.TerminalConfig, log *slog.Logger) *Notices {
	return &Notices{out: stderr, terminal: terminal, signs: signs, log: log, waiting: map[string]bool{}}
}

// Wait returns when no notification is shown any more, and gives the terminal back its title.
func (n *Notices) Wait() {
	n.shows.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.restoreTitle()
}

// Event reports an event. held is what people are shown of the call of an approval_required. Only lines have arguments:
// the log, the desktop and the title have none.
func (n *Notices) Event(e approvals.Event, held discovery.Held) {
	if n.log != nil {
		app.LogEvent(n.log, e)
	}
	what, more := decided[e.Action], "by "+sanitize.Line(e.ReviewerID)
	switch end := ends[e.Type]; {
	case e.Type == approvals.EventApprovalRequired:
		what = "held"
	case e.Type != approvals.EventApprovalDecision:
		what, more = end[0], end[1]
	}
	if what == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if what == "held" {
		n.waiting[e.RequestID] = true
	} else {
		delete(n.waiting, e.RequestID)
	}
	id := sanitize.Line(approvals.ShortID(e.RequestID))
	switch {
	case n.terminal != nil && readsKeys(n.terminal):
		n.sign(e, held)
	case what == "held":
		fmt.Fprintf(n.out, "held  %s  %s   %s left   heldcall %s %s\n", subject(e), sanitize.Line(held.Preview), humanize.Left(time.Until(held.ExpiresAt)+time.Second/2), verb(e.Kind), id)
	default:
		fmt.Fprintf(n.out, "%s  %s  %s   heldcall show %s\n", what, subject(e), more, id)
	}
	if len(n.waiting) == 0 {
		n.restoreTitle()
	}
}

// subject names what an event is about.
func subject(e approvals.Event) string {
	tool := sanitize.Line(e.ToolName)
	switch e.Kind {
	case "", approvals.KindPermission:
		return tool
	case approvals.KindResult:
		return "result of " + tool
	}
	return "question " + tool
}

// verb is the command that answers a request of a kind.
func verb(kind approvals.Kind) string {
	if kind == "" || kind == approvals.KindPermission || kind == approvals.KindResult {
		return "approve"
	}
	return "answer"
}
