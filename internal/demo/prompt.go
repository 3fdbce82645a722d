package demo

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

// personSession is the session of the agent whose calls the person answers.
const personSession = "demo"

const answers = `
Answer in a browser:
  %[2]s/#/requests/%[1]s
or here:
  a          approve it
  d REASON   deny it; the model gets the reason. Try: d keep the drafts
  e JSON     edit the arguments and release it. Try: e {"command":"rm -r cache"}
  q          quit
or in another terminal, while the demo runs:
  export HELDCALL_CONSOLE=%[2]s
  %[4]s approve %[5]s
  %[4]s deny %[5]s --note 'keep the drafts'
  %[4]s modify %[5]s --args '{"command":"rm -r cache"}'
  curl -H 'Content-Type: application/json' -d '{"action":"approve"}' \
    %[2]s/api/v1/requests/%[1]s/decision
or with the command of NATS, if you have that:
  nats --server %[3]s request \
    heldcall.v1.decide.local.%[1]s '{"action":"approve"}'
`

// errQuit ends the demo at the wish of the person.
var errQuit = errors.New("quit")

// PlayWithPerson lets an agent do one task whose held calls the person answers, who types
// lines into in, then shows what each side saw. Self is how a shell starts this program.
func (s *Stage) PlayWithPerson(ctx context.Context, in io.Reader, t *Printer, self string) error {
	whole, end := context.WithCancel(ctx)
	defer end()
	ctx, cancel := context.WithCancel(whole)
	defer cancel()
	p := &prompt{stage: s, t: t, self: self, lines: readLines(whole, in), released: make(chan struct{}), done: make(chan struct{})}
	agent, err := s.NewAgent(personSession, func(line Line) { p.printInOrder(ctx, line) })
	if err != nil {
		return err
	}
	defer agent.Close()
	t.Tell(Line{Who: Heading, Text: "An agent gets to work in " + agent.Folder()})
	go func() {
		defer close(p.done)
		if p.failed = agent.Ask(ctx, TaskTidy); p.failed == nil {
			p.failed = agent.Ask(ctx, TaskAccount)
		}
	}()
	err = p.review(ctx)
	cancel()
	<-p.done
	if err != nil {
		if errors.Is(err, errQuit) || errors.Is(err, context.Canceled) {
			t.say("\nThe demo has ended.\n")
			return nil
		}
		return err
	}
	known, err := s.LastConversation()
	if err != nil {
		return err
	}
	for _, line := range WhoSaw(agent.History[:len(agent.History)-1], known) {
		t.Tell(line)
	}
	t.say("\nThe folder now has:\n  %s\nRun it again to answer in another way, or with --auto to see them all.\n", strings.Join(agent.Files(), ", "))
	p.linger(whole)
	return nil
}

// prompt asks the person about each call that is held.
type prompt struct {
	stage    *Stage
	t        *Printer
	self     string        // how a shell starts this program
	lines    <-chan string // closed at the end of the input, nil after that
	released chan struct{} // receives one value a call that the audit log has as released
	done     chan struct{} // closed when the agent is done
	failed   error         // how it ended, set before
	typed    string        // the last request that was answered here
	afar     bool          // a request was answered elsewhere
}

// linger keeps the demo open for who answered elsewhere, and so perhaps looks at its
// inbox, until the person at the terminal has had enough.
func (p *prompt) linger(ctx context.Context) {
	if !p.afar || p.lines == nil {
		return
	}
	p.t.say("\nThe inbox stays open until you press Enter here: its history has this call.\n  %s/#/history\n", p.stage.Console)
	select {
	case <-p.lines:
	case <-ctx.Done():
	}
}

// printInOrder prints what the agent does. The event that heldcall released a call comes on
// another way than the call, and is printed first.
func (p *prompt) printInOrder(ctx context.Context, line Line) {
	if line.Who == AgentRuns {
		select {
		case <-p.released:
		case <-ctx.Done():
		}
	}
	p.t.Tell(line)
}

// readLines reads the input until it or the context ends. A read that is under
// way ends with the program.
func readLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// review follows the audit log until the agent is done.
func (p *prompt) review(ctx context.Context) error {
	events := p.follow(ctx)
	var held *approvals.Request
	for {
		var lines <-chan string
		if held != nil {
			lines = p.lines
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.done:
			return p.failed
		case event, ok := <-events:
			if !ok {
				return cmp.Or(ctx.Err(), errors.New("lost the event stream"))
			}
			next, err := p.take(ctx, event, held)
			if err != nil {
				return err
			}
			held = next
		case line, ok := <-lines:
			if !ok {
				p.t.say("(the input has ended: answer in another terminal, or press Ctrl-C)\n")
				p.lines = nil
				continue
			}
			decided, err := p.answer(ctx, line, held.ID)
			if err != nil {
				return err
			}
			if decided {
				held = nil // the next line answers the next call
			}
		}
	}
}

// follow hands on the events of the audit log until the context ends.
func (p *prompt) follow(ctx context.Context) <-chan approvals.Event {
	events := make(chan approvals.Event)
	go func() {
		defer close(events)
		for i := 0; ; i++ {
			event, err := p.stage.Ledger.At(ctx, i)
			if err != nil {
				return
			}
			select {
			case events <- event:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events
}

// take prints an event and returns the request that is held after it.
func (p *prompt) take(ctx context.Context, event approvals.Event, held *approvals.Request) (*approvals.Request, error) {
	switch event.Type {
	case approvals.EventApprovalRequired:
		request, err := p.stage.Client.Request(ctx, event.RequestID)
		if err != nil {
			return nil, fmt.Errorf("read the held request: %w", err)
		}
		if request.Status.Final() {
			return held, nil
		}
		p.show(&request)
		return &request, nil
	case approvals.EventApprovalDecision:
		p.afar = p.afar || event.RequestID != p.typed
		text := fmt.Sprintf("%s by %s over %s", event.Action, event.ReviewerID, event.Channel)
		if event.After != nil {
			text += " " + string(event.After)
		}
		p.t.Tell(Line{Who: Reviewer, Text: textview.Join(": ", text, event.Note)})
		return nil, nil
	case approvals.EventApprovalExpired:
		p.t.Tell(Line{Who: Heldcall, Text: "expired: no answer in time"})
		return nil, nil
	case approvals.EventCallAllowed:
		p.t.Tell(Line{Who: Heldcall, Text: "allowed by policy: " + event.ToolName})
	case approvals.EventCallReleased:
		select {
		case p.released <- struct{}{}:
		case <-p.done:
		case <-ctx.Done():
		}
	}
	return held, nil
}

// show prints the call that is held and how to answer.
func (p *prompt) show(request *approvals.Request) {
	p.t.Tell(Line{Who: Heading, Text: "heldcall holds a call: the agent has not seen it"})
	p.t.say("%s", wrap(textview.Request(request, time.Now()), requestColumn))
	p.t.say(answers+"> ", request.ID, p.stage.Console, p.stage.NATS, p.self, approvals.ShortID(request.ID))
}

// answer takes the decision of a line of input, and reports whether the request is
// decided now. What was not understood is asked for again.
func (p *prompt) answer(ctx context.Context, line, id string) (decided bool, err error) {
	decision, err := parseAnswer(line)
	if errors.Is(err, errQuit) {
		return false, err
	}
	if err == nil {
		decision.RequestID = id
		if _, err = p.stage.Client.Decide(ctx, decision); err == nil {
			p.typed = id
		}
	}
	switch {
	case err == nil, errors.As(err, new(*approvals.DecidedError)): // the audit log has by whom
		return true, nil
	case errors.As(err, new(*client.UnreachableError)):
		return false, err
	}
	p.t.say("%s\n> ", sanitize.Lines(err.Error()))
	return false, nil
}

// parseAnswer reads a line of input.
func parseAnswer(line string) (approvals.Decision, error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	switch cmp.Or(strings.ToLower(word), "?") {
	case "a", "approve":
		return approvals.Decision{Action: approvals.ActionApprove, Note: rest}, nil
	case "d", "deny":
		return approvals.Decision{Action: approvals.ActionDeny, Note: rest}, nil
	case "e", "edit":
		if err := textview.CheckJSON([]byte(rest)); err != nil {
			return approvals.Decision{}, fmt.Errorf("e needs valid JSON, e.g. e {\"command\":\"ls\"}: %w", err)
		}
		return approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: json.RawMessage(rest)}, nil
	case "q", "quit":
		return approvals.Decision{}, errQuit
	}
	return approvals.Decision{}, errors.New("type a, d REASON, e JSON or q")
}
