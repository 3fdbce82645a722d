package slack

import (
	"strings"
	"unicode/utf16"

	slackapi "github.com/slack-go/slack"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
)

const (
	// maxRows is how many calls a card shows whole: each takes up to four blocks.
	maxRows = 10
	// maxCard bounds all text of a card, in units: Slack takes no message that is much
	// longer.
	maxCard = 12000
	// maxArguments is how much of that one call's arguments may take.
	maxArguments = 2900
	// maxButtons is what the buttons of a call that is shown whole take beyond the one
	// of a call that is not.
	maxButtons  = 400
	maxAll      = 300 // of the buttons for all calls
	maxPatterns = 5   // of a grant
	maxDemands  = 3   // rules that are named of those with all approvals, and of those without
	maxDemand   = 200 // of what one of them wants and has
	maxName     = 120 // of a tool, a reviewer, a rule
	maxText     = 600 // of a message of a user or a model, and of a reason
	maxLine     = 250 // of a call in a list
)

// Slack's own limits, in UTF-16 code units.
const (
	maxSection = 3000 // text of a section, and initial value of an input
	maxBlocks  = 50   // blocks of a message
	maxConfirm = 300  // text of a confirmation
)

// escapes are what Slack's mark-up begins with.
var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// units is how long Slack takes a text to be.
func units(text string) int {
	n := 0
	for _, r := range text {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

func cut(text string, most int) (escaped string, whole bool) {
	var out strings.Builder
	left := most
	for _, r := range text {
		piece := escapes.Replace(string(r))
		if left -= units(piece); left < 1 { // one is left for the ellipsis
			out.WriteRune('…')
			return out.String(), false
		}
		out.WriteString(piece)
	}
	return out.String(), true
}

// word is a short foreign text within a line: code, so that nothing in it is mark-up.
func word(text string, most int) (code string, whole bool) {
	text = strings.ReplaceAll(sanitize.Line(text), "`", `\u0060`)
	if strings.TrimSpace(text) == "" {
		text = "(empty)"
	}
	text, whole = cut(text, most)
	return "`" + text + "`", whole
}

func words(texts []string, joint string, most int) string {
	coded := make([]string, len(texts))
	for i, text := range texts {
		coded[i], _ = word(text, most)
	}
	return strings.Join(coded, joint)
}

// fence is a foreign text as a block of code. Only three backticks would end it, and
// so they are written as escapes.
func fence(text string, most int) (code string, whole bool) {
	text, whole = cut(fenced(sanitize.Lines(text)), most-units("```\n\n```"))
	return "```\n" + text + "\n```", whole
}

// fenceArguments is fence for what a request is about: a result and free text as they are, other
// arguments as JSON: with the escapes it is the same JSON.
func fenceArguments(r *approvals.Request, most int) (code string, whole bool) {
	text, whole := cut(fenced(sanitize.Arguments(r.Arguments, r.Details.FreeText)), most-units("```\n\n```"))
	return "```\n" + text + "\n```", whole
}

func fenced(text string) string { return strings.ReplaceAll(text, "```", `\u0060\u0060\u0060`) }

// section is a block of text in which Slack looks for no names and no links, and of
// which it folds nothing away.
func section(text string) *slackapi.SectionBlock {
	return slackapi.NewSectionBlock(markup(text), nil, nil, slackapi.SectionBlockOptionExpand(true))
}

func unitsOf(blocks []slackapi.Block) int {
	n := 0
	for _, block := range blocks {
		switch b := block.(type) {
		case *slackapi.SectionBlock:
			n += units(b.Text.Text)
		case *slackapi.ContextBlock:
			for _, element := range b.ContextElements.Elements {
				if text, ok := element.(*slackapi.TextBlockObject); ok {
					n += units(text.Text)
				}
			}
		case *slackapi.ActionBlock:
			for _, element := range b.Elements.ElementSet {
				if button, ok := element.(*slackapi.ButtonBlockElement); ok {
					n += units(button.Text.Text)
					if button.Confirm != nil {
						n += units(button.Confirm.Text.Text)
					}
				}
			}
		}
	}
	return n
}

func note(text string) *slackapi.ContextBlock {
	return slackapi.NewContextBlock("", markup(text))
}

func markup(text string) *slackapi.TextBlockObject {
	return slackapi.NewTextBlockObject(slackapi.MarkdownType, text, false, true)
}

func plain(text string) *slackapi.TextBlockObject {
	return slackapi.NewTextBlockObject(slackapi.PlainTextType, text, false, false)
}

func mustWord(text string) string {
	code, _ := word(text, maxName)
	return code
}
