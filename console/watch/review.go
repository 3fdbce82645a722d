package watch

import (
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/approvals"
)

// settleTime is how long nothing can be decided after the screen changes to another
// request, so that a second press does not decide a call before it was read.
const settleTime = 500 * time.Millisecond

// trustTime is how long a trust window is open.
const trustTime = "15m"

// review is the request that is shown in full, and the decision about it. The request
// itself is in the list; methods take it as r, nil if none is selected.
type review struct {
	do            actions
	me            reviewer
	width, height int // of the screen

	open     bool // the request is shown in full, else the list is
	run      together
	pager    pager
	question question
	draft    []byte // edited arguments, until they are sent
	loading  string // the request that is being read whole
	deciding string // the request whose decision has been sent
	notice   string

	settling int // number of the pause that has not passed, 0 if none
	pauses   int
}

func (v *review) resize(size tea.WindowSizeMsg) {
	v.width, v.height = max(size.Width, 20), max(size.Height, 8)
	v.pager.restart() // the lines are others now
}

func (v *review) begin(id string) {
	v.pager.restart()
	v.pager.raw, v.draft, v.loading = false, nil, ""
	v.open = v.open && id != ""
}

// settle lets nothing be decided for a moment.
func (v *review) settle() tea.Cmd {
	v.pauses++
	v.settling = v.pauses
	number := v.pauses
	return tea.Tick(settleTime, func(time.Time) tea.Msg { return settledMsg(number) })
}

func (v *review) settled(number int) {
	if number == v.settling {
		v.settling = 0
	}
}

func (v *review) load(r *approvals.Request) tea.Cmd {
	if r == nil || !v.open || !r.Details.Abridged || v.loading == r.ID {
		return nil
	}
	v.loading = r.ID
	return v.do.load(r.ID)
}

func (v *review) loaded(id string) {
	if v.loading == id {
		v.loading = ""
	}
}

// look draws the page of the request if it has changed, and notes which lines of it are
// on the screen.
func (v *review) look(r *approvals.Request) {
	if r == nil {
		v.open, v.pager.page = false, page{}
	}
	if !v.open {
		return
	}
	var draft []byte
	if v.question.mode == confirming {
		draft = v.draft
	}
	v.pager.draw(r, draft, &v.question.form, v.width)
	v.pager.fit(v.bodyHeight(r), v.question.mode == helping)
}

func (v *review) key(r *approvals.Request, key tea.KeyPressMsg) tea.Cmd {
	switch key.String() {
	case "?":
		v.question.mode = helping
	case "v":
		v.pager.toggleRaw()
	case "a":
		if r == nil || !r.Asks() {
			return v.release(r, approvals.Decision{Action: approvals.ActionApprove})
		}
		v.beginAnswering(r)
	case "w":
		v.beginAnswering(r)
	case "d":
		if v.mayDecide(r, false) {
			v.question.ask(noting)
		}
	case "e":
		return v.edit(r, v.arguments(r))
	case "r":
		return v.beginRemembering(r)
	case "t":
		if r != nil && r.ActionsOf().Window.Reason != "" {
			v.notice = "No trust window. " + r.ActionsOf().Window.Reason
			return nil
		}
		return v.release(r, approvals.Decision{Action: approvals.ActionApprove, Window: trustTime})
	default:
		v.pager.scroll(key, v.bodyHeight(r))
	}
	return nil
}

func (v *review) leave(key tea.KeyPressMsg) tea.Cmd {
	if name := key.String(); name != "esc" && name != "enter" {
		return nil
	}
	v.question.ask(browsing)
	v.draft = nil
	v.pager.restart()
	return v.settle()
}

// mayDecide reports whether a decision can be sent now, and notes why not.
func (v *review) mayDecide(r *approvals.Request, approves bool) bool {
	switch {
	case r == nil || v.settling != 0:
		return false
	case r.Status.Final():
		v.notice = "It has ended: " + ending(r)
		return false
	case v.deciding != "":
		v.notice = "A decision is on its way."
		return false
	}
	if approves && r.Details.Passkey {
		v.notice = "To approve it, use your passkey in the inbox."
		return false
	}
	if approves && r.Details.Confirm != "" {
		v.notice = "To approve it, type its target: in the inbox, or with approve --confirm."
		return false
	}
	if why := v.me.barred(r, approves); why != "" {
		v.notice = sentence(why)
		return false
	}
	return true
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

func (v *review) release(r *approvals.Request, d approvals.Decision) tea.Cmd {
	if !v.mayDecide(r, true) {
		return nil
	}
	if !v.pager.shownWhole() {
		v.pager.showMore(v.bodyHeight(r))
		v.notice = "Not all of it was shown. Read the rest, then press the key again."
		return nil
	}
	return v.send(r, d)
}

func (v *review) send(r *approvals.Request, d approvals.Decision) tea.Cmd {
	d.RequestID = r.ID
	v.deciding, v.notice = r.ID, "Sending…"
	return v.do.decide(d)
}

func (v *review) typeNote(r *approvals.Request, key tea.KeyPressMsg) tea.Cmd {
	switch key.String() {
	case "esc":
		v.question.ask(browsing)
	case "enter":
		if v.mayDecide(r, false) {
			return v.send(r, approvals.Decision{Action: approvals.ActionDeny, Note: strings.TrimSpace(v.question.input)})
		}
	default:
		v.question.typed(key)
	}
	return nil
}

func (v *review) arguments(r *approvals.Request) []byte {
	switch {
	case v.draft != nil:
		return v.draft
	case r != nil:
		return r.Arguments
	}
	return nil
}

func (v *review) edit(r *approvals.Request, arguments []byte) tea.Cmd {
	if !v.mayDecide(r, true) {
		return nil
	}
	if v.notice = r.ActionsOf().Edit.Reason; v.notice != "" {
		return nil
	}
	return v.do.edit(r.ID, arguments)
}

func (v *review) drafted(msg draftMsg) {
	mode := v.question.mode
	switch {
	case msg.err != nil:
		v.notice = "Nothing was decided: " + msg.err.Error()
		if msg.text != nil {
			v.draft = msg.text
			if mode == confirming {
				v.question.mode = browsing // Enter sends valid arguments only
			}
			v.notice += " (e edits it again)"
		}
	case mode != browsing && mode != confirming:
		v.draft, v.notice = msg.text, "Your edit is kept (e edits it again)."
	default:
		v.draft, v.question.mode, v.notice = msg.text, confirming, ""
		v.pager.restart()
	}
}

func (v *review) confirm(r *approvals.Request, key tea.KeyPressMsg) tea.Cmd {
	switch key.String() {
	case "esc", "q":
		v.question.mode, v.draft, v.notice = browsing, nil, ""
		v.pager.restart()
	case "e":
		return v.edit(r, v.draft)
	case "enter":
		return v.release(r, approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: v.draft})
	default:
		v.pager.scroll(key, v.bodyHeight(r))
	}
	return nil
}

func (v *review) beginRemembering(r *approvals.Request) tea.Cmd {
	if !v.mayDecide(r, false) {
		return nil
	}
	if v.notice = r.ActionsOf().Never.Reason; v.notice != "" {
		return nil
	}
	v.question.mode, v.question.grant = remembering, newGrantDraft(r, r.GrantScopesOf())
	return v.do.suggest(r.ID)
}

func (v *review) remember(r *approvals.Request, key tea.KeyPressMsg, now time.Time) tea.Cmd {
	q := &v.question
	switch name := key.String(); name {
	case "esc", "q":
		q.mode, v.notice = browsing, ""
	case "a", "d":
		if len(q.grant.taken()) == 0 {
			v.notice = "Choose a pattern first, or type one with t."
			return nil
		}
		if name == "a" {
			return v.release(r, q.grant.decision(approvals.ActionAllowAlways, now))
		}
		if v.mayDecide(r, false) {
			return v.send(r, q.grant.decision(approvals.ActionDenyAlways, now))
		}
	case "t":
		q.ask(patterning)
		v.notice = ""
	default:
		q.grant.choose(name)
	}
	return nil
}

func (v *review) refused(err error) {
	if reason, ok := v.question.refused(err); ok {
		v.notice = "Not valid: " + reason
		return
	}
	if !errors.As(err, new(*approvals.InvalidError)) {
		v.notice = "Not decided: " + err.Error()
		return
	}
	v.notice = "Still pending: the decision is not valid: " + err.Error()
	if v.draft != nil {
		v.notice += " (e edits it again)"
	}
}

func (v *review) foot(r *approvals.Request) []string {
	f := &footer{width: v.width}
	keys := v.question.prompt(f, r)
	switch {
	case keys != "":
	case v.run.on():
		keys = "a approve all · d deny all · Esc one by one · ? keys"
	case v.open:
		keys = v.rights(f, r)
	default:
		keys = "j k move · Enter open · / filter · ? keys · q quit"
	}
	if v.question.asks() && hasEnded(r) && !v.run.on() {
		keys = "it has ended · Enter or Esc goes back"
	}
	if v.notice != "" {
		f.add(styles.warning, v.notice)
	}
	more := v.pager.top+v.height-3-len(f.lines) < len(v.pager.page.lines)
	if v.open && v.question.mode != helping && more {
		keys = "↓ more · " + keys
	}
	return append(f.lines, styles.dim.Render(cut(keys, v.width)))
}

// rights writes why the reviewer cannot decide the request or approve it, and returns the
// keys that are left.
func (v *review) rights(f *footer, r *approvals.Request) (keys string) {
	if !hasEnded(r) {
		if why := v.me.hindrance(r); why != "" {
			f.add(styles.label, sentence(why))
			return "v JSON · Esc list · ? keys"
		}
		if why := v.me.ineffective(r); why != "" {
			f.add(styles.label, sentence(why))
			return "d deny · v JSON · Esc list · ? keys"
		}
	}
	switch {
	case r != nil && r.Asks():
		return "a answer · d decline · v JSON · Esc list · ? keys"
	case r != nil && r.Kind == approvals.KindResult:
		return "a approve · d deny · e edit · v JSON · Esc list · ? keys"
	}
	return possibleKeys(r)
}

// possibleKeys returns the keys for the answers that a call takes; of nil, which is not read yet, the usual ones.
func possibleKeys(r *approvals.Request) string {
	if r == nil {
		return "a approve · d deny · w answer · e edit · r remember · Esc list · ? keys"
	}
	all := r.ActionsOf()
	keys, escape := "a approve · ", "Esc list · "
	if all.Window.Reason == "" {
		keys, escape = keys+"t trust · ", "" // a line has 80 columns
	}
	keys += "d deny · w answer · "
	if all.Edit.Reason == "" {
		keys += "e edit · "
	}
	if all.Never.Reason == "" {
		keys += "r remember · "
	}
	return keys + escape + "? keys"
}

// bodyHeight returns how many lines are between head and foot.
func (v *review) bodyHeight(r *approvals.Request) int { return max(1, v.height-2-len(v.foot(r))) }
