package slack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	slackapi "github.com/slack-go/slack"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/notify"
)

type cards struct {
	inbox     func() string // the console's URL
	clickable bool          // clicks on buttons are taken
}

// message is a card as options of a message. Its text is what notifications show.
func (c *cards) message(d notify.Delivery, blocks []slackapi.Block) []slackapi.MsgOption {
	return []slackapi.MsgOption{
		slackapi.MsgOptionText(c.headline(d), false),
		slackapi.MsgOptionBlocks(blocks...),
		slackapi.MsgOptionParse(false), // look for no names and links in it
		slackapi.MsgOptionDisableLinkUnfurl(),
		slackapi.MsgOptionDisableMediaUnfurl(),
	}
}

func (c *cards) headline(d notify.Delivery) string {
	if len(d.Requests) == 1 {
		return fmt.Sprintf("%s: %s", named(&d.Requests[0]), outcomeText(&d.Requests[0]))
	}
	waiting := 0
	for i := range d.Requests {
		if !d.Requests[i].Status.Final() {
			waiting++
		}
	}
	if waiting == 0 {
		return fmt.Sprintf("%d calls: none pending", len(d.Requests))
	}
	return fmt.Sprintf("%d calls: %d pending", len(d.Requests), waiting)
}

func named(r *approvals.Request) string {
	tool, _ := word(r.ToolName, maxName)
	if r.RuleTitle() == "" {
		return tool
	}
	title, _ := word(r.Title, maxName)
	return title + " (" + tool + ")"
}

func (c *cards) blocks(d notify.Delivery) []slackapi.Block {
	if d.Grouped || len(d.Requests) > maxRows {
		return c.list(d, maxCard)
	}
	first := &d.Requests[0]
	blocks := []slackapi.Block{section("*" + c.headline(d) + "*"), note(origin(first))}
	blocks = append(blocks, quote("User's message", first.Context.LastUserMessage)...)
	if ofOneTurn(d.Requests) {
		blocks = append(blocks, quote("Model's message", first.Context.AssistantText)...)
	}
	last := note(c.link("", "Open the inbox"))
	room := &room{cards: c, left: maxCard - unitsOf(append(blocks, last))}
	questions, rest := arranged(d.Requests)
	for _, question := range questions { // each call is named before any shows its arguments
		room.left -= unitsOf([]slackapi.Block{headed(question)}) + maxAll
	}
	for i := range d.Requests {
		room.left -= unitsOf(c.row(&d.Requests[i], 0)) + maxButtons
	}
	if room.left < 0 {
		return c.list(d, maxCard)
	}
	for _, question := range questions {
		rows, whole := room.rows(question)
		blocks = append(append(blocks, headed(question)), rows...)
		if all := c.allButtons(question); whole && all != nil {
			blocks = append(blocks, all)
		}
	}
	rows, _ := room.rows(rest)
	if blocks = append(append(blocks, rows...), last); len(blocks) > maxBlocks {
		return c.list(d, maxCard)
	}
	return blocks
}

// arranged returns the calls that are one question with others, by question, and the rest.
func arranged(requests []approvals.Request) (questions [][]approvals.Request, rest []approvals.Request) {
	joined := map[string]bool{}
	for _, question := range approvals.JointQuestions(requests) {
		if len(question) > 1 {
			questions = append(questions, question)
			joined[question[0].Together] = true
		}
	}
	return questions, slices.DeleteFunc(slices.Clone(requests), func(r approvals.Request) bool { return joined[r.Together] })
}

// headed is the heading of calls that are one question.
func headed(question []approvals.Request) slackapi.Block {
	text := fmt.Sprintf("*%d calls, one question*", len(question))
	if heading := approvals.Heading(question); heading != "" {
		does, _ := word(heading, maxText)
		text += "\n" + does
	}
	return section(text)
}

// room is what is left of a card for the arguments of calls.
type room struct {
	cards *cards
	left  int
}

// rows are the rows of some calls, and whether each that is pending is shown whole.
func (m *room) rows(requests []approvals.Request) (blocks []slackapi.Block, whole bool) {
	whole = true
	for i := range requests {
		r, most := &requests[i], min(m.left, maxArguments)
		row := m.cards.row(r, most)
		m.left -= max(unitsOf(row)-unitsOf(m.cards.row(r, 0))-maxButtons, 0)
		blocks = append(blocks, row...)
		whole = whole && (r.Status.Final() || viewOf(r, most).whole)
	}
	return blocks, whole
}

// ofOneTurn reports whether a model made calls together: they have one text of it.
func ofOneTurn(requests []approvals.Request) bool {
	return !slices.ContainsFunc(requests, func(r approvals.Request) bool { return r.TurnID != requests[0].TurnID })
}

// short is a card that Slack has found too long: it names the calls as far as one
// section goes, and leads to the inbox.
func (c *cards) short(d notify.Delivery) []slackapi.Block { return c.list(d, maxSection) }

func origin(r *approvals.Request) string {
	p := r.Principal
	return notify.Origin(" · ", mustWord, "agent", p.Agent, "user", p.User, "tenant", p.Tenant, "model", r.Model, "subagent", r.Details.Subagent, "run", r.RunID)
}

func quote(name, text string) []slackapi.Block {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	code, _ := fence(text, maxText)
	return []slackapi.Block{section(name + ":\n" + code)}
}

func (c *cards) link(id, text string) string {
	return "<" + escapes.Replace(notify.InboxURL(c.inbox(), id)) + "|" + text + ">"
}

// row is one call: what it is, its arguments within some room, and buttons or how it
// ended.
func (c *cards) row(r *approvals.Request, room int) []slackapi.Block {
	v := viewOf(r, room)
	blocks := []slackapi.Block{section(v.title)}
	if v.arguments != "" {
		blocks = append(blocks, section(v.arguments))
	}
	status := statusText(r)
	if !r.Status.Final() {
		switch {
		case r.Asks() && !(v.whole && answerable(r)):
			status = c.notAnswerable(r)
		case !v.whole:
			status = "*This call is too long for Slack and cannot be approved here:* " + c.link(r.ID, "open it in the inbox")
		}
		if buttons := c.buttons(r, v.whole); buttons != nil {
			blocks = append(blocks, buttons)
		}
	}
	return append(blocks, note(status+" · "+c.link(r.ID, "details")))
}

// view is what a card shows of a call.
type view struct {
	title     string
	arguments string
	whole     bool // nothing is left out that a reviewer must know
}

// viewOf is a call within some room for its arguments.
func viewOf(r *approvals.Request, room int) view {
	name, wholeName := word(r.ToolName, maxName)
	title := fmt.Sprintf("%s *%s* · %s risk", riskSigns[r.RiskLevel], name, cmp.Or(string(r.RiskLevel), "unknown"))
	if r.RuleTitle() != "" {
		own, _ := word(r.Title, maxText)
		title = "*" + own + "*\n" + title
	}
	if does := approvals.EffectsText(r.Effects); does != "" {
		text, _ := word(does, maxText)
		title += "\n" + text
	}
	if !r.Asks() && (r.Rule != "" || r.Reason != "") {
		rule, _ := word(r.Rule, maxName)
		title += "\nasked by " + rule
		if r.Reason != "" {
			reason, _ := word(r.Reason, maxText)
			title += ": " + reason
		}
	}
	if effects := approvals.WordsFor(r.Kind).Effects; effects != "" {
		call, _ := word(r.Description, maxText)
		title += "\n" + call + "\n" + effects
	}
	whole := wholeName
	for _, flag := range r.Details.Flags {
		fact, _ := approvals.FoldFlag(flag)
		text, wholeFlag := word(fact, maxText)
		if whole = whole && wholeFlag; units(title)+units(text) > maxSection-20 {
			whole = false
			break
		}
		title += "\n:warning: " + text
	}
	if room < maxLine {
		return view{title: title}
	}
	arguments, wholeArguments := "", false
	if r.Asks() {
		arguments, wholeArguments = describe(r, room)
	} else {
		arguments, wholeArguments = fenceArguments(r, room)
	}
	return view{title, arguments, whole && wholeArguments}
}

// riskSigns are the same colours as in the inbox.
var riskSigns = map[approvals.Risk]string{
	approvals.RiskLow: ":white_circle:", approvals.RiskMedium: ":large_yellow_circle:",
	approvals.RiskHigh: ":large_orange_circle:", approvals.RiskCritical: ":red_circle:",
}

// list is a card of calls within some room: a line each, and no buttons.
func (c *cards) list(d notify.Delivery, room int) []slackapi.Block {
	head := "*" + c.headline(d) + "*"
	if d.Grouped {
		head += "\nThese calls are on one card because many came at once."
	}
	blocks := []slackapi.Block{section(head + " " + c.link("", "Decide them in the inbox"))}
	var text strings.Builder
	left := room
	flush := func() {
		if text.Len() > 0 {
			blocks = append(blocks, section(text.String()))
			text.Reset()
		}
	}
	for i := range d.Requests {
		line := c.line(&d.Requests[i])
		if units(text.String())+units(line) > maxSection {
			flush()
		}
		if left -= units(line); left < 0 || len(blocks) == maxBlocks-2 {
			flush()
			return append(blocks, note(fmt.Sprintf("and %d more: %s", len(d.Requests)-i, c.link("", "all of them in the inbox"))))
		}
		text.WriteString(line)
	}
	flush()
	return blocks
}

func (c *cards) line(r *approvals.Request) string {
	name, _ := word(cmp.Or(r.RuleTitle(), r.ToolName), maxLine/5)
	who, _ := word(cmp.Or(r.Principal.Agent, r.Principal.User, r.Principal.Tenant), maxLine/5)
	return fmt.Sprintf("%s %s · %s · %s · %s · %s\n", riskSigns[r.RiskLevel], name, who, approvals.ShortID(r.ID), shortStatus(r), c.link(r.ID, "open"))
}
