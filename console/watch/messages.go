package watch

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/approvals"
)

// Messages to the model, beside keys and sizes of the window.
type (
	openedMsg  struct{}                            // a connection was made; the pending requests follow
	readyMsg   struct{ pending []string }          // all pending requests have been sent; these are their ids
	requestMsg struct{ request approvals.Request } // a request in its present state, abridged where it is large
	lostMsg    struct{ err error }                 // the connection was lost
	refusedMsg struct{ err error }                 // the console refuses the reviewer
	tickMsg    time.Time                           // a second has passed
	settledMsg int                                 // settleTime has passed since the call of settle with that number
	decidedMsg struct {                            // the console's answer to a decision
		decision approvals.Decision
		request  approvals.Request
		err      error
	}
	wholeMsg struct { // a request that was read by its id
		id      string
		request approvals.Request
		err     error
	}
	suggestedMsg struct { // the effects of the suggested patterns of a request; none if they are not known
		id    string
		items []approvals.Suggestion
	}
	draftMsg struct { // the editor was closed
		id   string
		text []byte
		err  error
	}
)

type actions interface {
	// decide sends a decision to the console; a decidedMsg follows.
	decide(d approvals.Decision) tea.Cmd
	// load reads a request whole; a wholeMsg follows.
	load(id string) tea.Cmd
	// suggest reads the effects of the suggested patterns of a request; a suggestedMsg follows.
	suggest(id string) tea.Cmd
	// edit opens arguments in the reviewer's editor; a draftMsg follows.
	edit(id string, arguments []byte) tea.Cmd
}

func tick() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tickMsg(t) }) }
