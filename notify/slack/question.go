package slack

import (
	"slices"
	"strconv"
	"strings"

	slackapi "github.com/slack-go/slack"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// A question of a model has a button for each option if these are few and short, and a form
// for everything else. Slack is no place for secrets: a question that asks for one can only
// be declined here.

const (
	doAnswer = "heldcall_answer"
	doOption = "heldcall_option_" // and the index of the option

	maxOptionButtons = 5
	maxLabel         = 75  // Slack's limit for the text of a button or an option
	maxFormBlocks    = 100 // Slack's limit for the blocks of a form
	maxPlaceholder   = 150 // Slack's limit
)

// describe describes the questions of a request within some room.
func describe(r *approvals.Request, room int) (code string, whole bool) {
	list := make([]string, len(r.Details.Questions))
	for i := range list {
		list[i] = r.Details.Questions[i].Describe()
	}
	return fence(strings.Join(list, "\n\n"), room)
}

// asksSecret reports whether a question asks for a secret.
func asksSecret(r *approvals.Request) bool {
	return slices.ContainsFunc(r.Details.Questions, func(q approvals.Question) bool {
		return slices.ContainsFunc(q.Fields, func(f approvals.QuestionField) bool { return f.Secret })
	})
}

// answerable reports whether a question can be answered in Slack, except for its length.
func answerable(r *approvals.Request) bool {
	n := len(questionBlocks(r))
	return !asksSecret(r) && n > 0 && n <= maxFormBlocks
}

// notAnswerable is the text of a question that cannot be answered in Slack.
func (c *cards) notAnswerable(r *approvals.Request) string {
	why := "This question is too long for Slack and cannot be answered here:"
	if asksSecret(r) {
		why = "This question asks for a secret, and Slack would keep it:"
	}
	return "*" + why + "* " + c.link(r.ID, "answer in the inbox")
}

// questionButtons returns the buttons of a pending question.
func questionButtons(r *approvals.Request, whole bool) []slackapi.BlockElement {
	var row []slackapi.BlockElement
	if whole && answerable(r) {
		q := &r.Details.Questions[0]
		byButton := hasOptionButtons(r)
		if byButton {
			for _, o := range q.Ranked() {
				b := slackapi.NewButtonBlockElement(doOption+strconv.Itoa(indexOf(q, o.ID)), r.ID, plain(sanitize.Line(o.Label)))
				if o.Recommended {
					b.Style = slackapi.StylePrimary
				}
				row = append(row, b)
			}
		}
		if !byButton || q.AllowFreeText {
			row = append(row, slackapi.NewButtonBlockElement(doAnswer, r.ID, plain("Answer…")))
		}
	}
	decline := slackapi.NewButtonBlockElement(doDeny, r.ID, plain("Decline"))
	decline.Style = slackapi.StyleDanger
	return append(row, decline)
}

func hasOptionButtons(r *approvals.Request) bool {
	q := &r.Details.Questions[0]
	return len(r.Details.Questions) == 1 && q.MaxSelections == 1 && len(q.Options) <= maxOptionButtons &&
		!slices.ContainsFunc(q.Options, func(o approvals.Option) bool { return units(sanitize.Line(o.Label)) > maxLabel })
}

func indexOf(q *approvals.Question, id string) int {
	return slices.IndexFunc(q.Options, func(o approvals.Option) bool { return o.ID == id })
}

// optionOf returns the id of an option by its index, as buttons and forms have it.
func optionOf(q *approvals.Question, index string) string {
	if i, err := strconv.Atoi(index); err == nil && i >= 0 && i < len(q.Options) {
		return q.Options[i].ID
	}
	return index // which the gate refuses
}

// questionBlocks are the parts of the form for an answer: each input has the name of the
// field of a decision, so that errors are shown there.
func questionBlocks(r *approvals.Request) (blocks []slackapi.Block) {
	for i := range r.Details.Questions {
		q := &r.Details.Questions[i]
		text, _ := fence(q.Describe(), maxSection)
		blocks = append(blocks, section(text))
		at := fieldsOf(r, q)
		if len(q.Options) > 0 {
			blocks = append(blocks, slackapi.NewInputBlock(at+partSelected, plain("Selection"), nil, selection(q)).WithOptional(q.AllowFreeText))
		}
		if q.AllowFreeText {
			input := slackapi.NewPlainTextInputBlockElement(nil, partValue).WithMultiline(true).WithMaxLength(maxSection)
			blocks = append(blocks, slackapi.NewInputBlock(at+partAnswer, plain("Answer in words"), nil, input).WithOptional(len(q.Options) > 0))
		}
		for _, f := range q.Fields {
			input := slackapi.NewPlainTextInputBlockElement(nil, partValue).WithMaxLength(maxSection)
			if f.Placeholder != "" {
				input.Placeholder = plain(plainCut(f.Placeholder, maxPlaceholder))
			}
			blocks = append(blocks, slackapi.NewInputBlock(at+partValues+f.Name, plain(f.Name), nil, input).WithOptional(!f.Required || f.Default != ""))
		}
	}
	return blocks
}

// fieldsOf is what the fields of the answer to a question begin with, as the gate names them.
func fieldsOf(r *approvals.Request, q *approvals.Question) string {
	if r.Kind == approvals.KindCombined {
		return "responses." + q.ID + "."
	}
	return ""
}

// selection is the menu of the options of a question. A label that is too long has its id
// before it.
func selection(q *approvals.Question) slackapi.BlockElement {
	var options []*slackapi.OptionBlockObject
	for _, o := range q.Ranked() {
		label := sanitize.Line(o.Label)
		if units(label) > maxLabel {
			label = plainCut(o.ID+": "+o.Label, maxLabel)
		}
		options = append(options, slackapi.NewOptionBlockObject(strconv.Itoa(indexOf(q, o.ID)), plain(label), nil))
	}
	if q.MaxSelections > 1 {
		return slackapi.NewOptionsMultiSelectBlockElement(slackapi.MultiOptTypeStatic, nil, partValue, options...).WithMaxSelectedItems(q.MaxSelections)
	}
	return slackapi.NewOptionsSelectBlockElement(slackapi.OptTypeStatic, nil, partValue, options...)
}

// plainCut is a text for a place without mark-up.
func plainCut(text string, most int) string {
	left := most - 1 // for the ellipsis
	text = sanitize.Line(text)
	for i, r := range text {
		if left -= units(string(r)); left < 0 && units(text[i:]) > 1 {
			return text[:i] + "…"
		}
	}
	return text
}

// answerOf reads the answer of a form.
func answerOf(r *approvals.Request, values map[string]map[string]slackapi.BlockAction) approvals.Decision {
	d := approvals.Decision{Action: approvals.ActionAnswer}
	for i := range r.Details.Questions {
		q := &r.Details.Questions[i]
		at := fieldsOf(r, q)
		one := approvals.Response{Answer: values[at+partAnswer][partValue].Value}
		selected := values[at+partSelected][partValue]
		for _, o := range append(selected.SelectedOptions, selected.SelectedOption) {
			if o.Value != "" {
				one.Selected = append(one.Selected, optionOf(q, o.Value))
			}
		}
		for _, f := range q.Fields {
			if value := values[at+partValues+f.Name][partValue].Value; value != "" {
				if one.Values == nil {
					one.Values = make(map[string]string)
				}
				one.Values[f.Name] = value
			}
		}
		if r.Kind != approvals.KindCombined {
			d.Response = one
			continue
		}
		if d.Responses == nil {
			d.Responses = make(map[string]approvals.Response)
		}
		d.Responses[q.ID] = one
	}
	return d
}
