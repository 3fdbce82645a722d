package slack

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	slackapi "github.com/slack-go/slack"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// The parts of a form.
const (
	partArguments = "arguments"
	partNote      = "note"
	partAnswer    = "answer"
	partSelected  = "selected"
	partValues    = "values." // and the name of a field
	partValue     = "value"   // of each of them

	answerApprove = "approve"
	answerDeny    = "deny"
	answerWords   = "words"

	maxNote = 2000
)

type about struct {
	Request string `json:"request"`
	Channel string `json:"channel"`
}

func form(action string, r *approvals.Request, where string) slackapi.ModalViewRequest {
	carried, _ := json.Marshal(about{r.ID, where}) // cannot fail: two strings
	name, _ := word(r.ToolName, maxName)
	why := slackapi.NewPlainTextInputBlockElement(plain("Reason (sent to the model, and recorded)"), partValue).WithMultiline(true).WithMaxLength(maxNote)
	reason := slackapi.NewInputBlock(partNote, plain("Note"), nil, why)
	view := slackapi.ModalViewRequest{
		Type: slackapi.VTModal, CallbackID: action, PrivateMetadata: string(carried), Close: plain("Back"),
		Blocks: slackapi.Blocks{BlockSet: []slackapi.Block{section("*" + name + "*")}},
	}
	if action == doAnswer {
		view.Title, view.Submit = plain("Answer the question"), plain("Answer")
		view.Blocks.BlockSet = questionBlocks(r)
		return view
	}
	if action == doEdit {
		arguments := slackapi.NewPlainTextInputBlockElement(nil, partValue).WithMultiline(true).WithInitialValue(sanitize.Indented(r.Arguments))
		subject := approvals.WordsFor(r.Kind).Subject
		view.Title, view.Submit = plain("Edit and approve"), plain("Approve")
		reason.Optional = true
		view.Blocks.BlockSet = append(view.Blocks.BlockSet, slackapi.NewInputBlock(partArguments, plain(strings.ToUpper(subject[:1])+subject[1:]+", as JSON"), nil, arguments), reason)
		return view
	}
	options := []*slackapi.OptionBlockObject{slackapi.NewOptionBlockObject(answerDeny, plain("Deny"), nil)}
	if r.Kind != approvals.KindResult {
		options = append(options, slackapi.NewOptionBlockObject(answerWords, plain("Do not run it, and answer with the note"), nil))
	}
	options = append(options, slackapi.NewOptionBlockObject(answerApprove, plain("Approve"), nil))
	view.Title, view.Submit = plain("Decide with a note"), plain("Decide")
	view.Blocks.BlockSet = append(view.Blocks.BlockSet,
		slackapi.NewInputBlock(partAnswer, plain("Decision"), nil, slackapi.NewRadioButtonsBlockElement(partValue, options...)), reason)
	return view
}

// submit handles a form that was sent. Errors are shown in it, at the part to correct.
func (c *clicks) submit(ctx context.Context, click *slackapi.InteractionCallback) *slackapi.ViewSubmissionResponse {
	err := c.take(ctx, click)
	if err == nil {
		return nil
	}
	part := partNote
	switch click.View.CallbackID {
	case doEdit:
		part = partArguments
	case doAnswer:
		part = partOf(click, err)
	}
	// An error in a form is plain text: our mark-up of it is taken off.
	text := strings.NewReplacer("`", "", "&amp;", "&", "&lt;", "<", "&gt;", ">").Replace(c.formExcuse(err))
	return slackapi.NewErrorsViewSubmissionResponse(map[string]string{part: text})
}

// partOf returns the part of the form for an answer that an error is about, else the first.
func partOf(click *slackapi.InteractionCallback, err error) string {
	var invalid *approvals.InvalidError
	about := errors.As(err, &invalid)
	first := ""
	for _, block := range click.View.Blocks.BlockSet {
		input, ok := block.(*slackapi.InputBlock)
		switch {
		case !ok:
		case about && input.BlockID == invalid.Field:
			return input.BlockID
		case first == "":
			first = input.BlockID
		}
	}
	return first
}

// formExcuse is excuse for a form, where nothing can be linked.
func (c *clicks) formExcuse(err error) string {
	var invalid *approvals.InvalidError
	if errors.As(err, &invalid) {
		text, _ := cut(strings.TrimSpace(invalid.Reason), maxText)
		return text
	}
	text := c.excuse(err)
	if strings.Contains(text, "|look in the inbox>") {
		return "heldcall failed, and the form may or may not have had an effect: look in the inbox, or try again."
	}
	return text
}

func (c *clicks) take(ctx context.Context, click *slackapi.InteractionCallback) error {
	who, err := c.reviewer(ctx, click)
	if err != nil {
		return err
	}
	var carried about
	if err := json.Unmarshal([]byte(click.View.PrivateMetadata), &carried); err != nil || click.View.State == nil {
		return refuse("This is not a form of heldcall.")
	}
	r, err := c.request(ctx, who, carried.Request)
	switch {
	case err != nil:
		return err
	case r.Status.Final():
		return &approvals.DecidedError{Request: r}
	case !c.cards.offered(click.View.CallbackID, &r):
		return refuse("Not possible from Slack: decide in the inbox.")
	}
	values := click.View.State.Values
	d := approvals.Decision{Note: values[partNote][partValue].Value}
	switch {
	case click.View.CallbackID == doAnswer:
		d = answerOf(&r, values)
	case click.View.CallbackID == doEdit:
		d.Action, d.ModifiedArgs = approvals.ActionModifyArgs, json.RawMessage(strings.TrimSpace(values[partArguments][partValue].Value))
	case values[partAnswer][partValue].SelectedOption.Value == answerApprove:
		d.Action = approvals.ActionApprove
	case values[partAnswer][partValue].SelectedOption.Value == answerDeny:
		d.Action = approvals.ActionDeny
	case values[partAnswer][partValue].SelectedOption.Value == answerWords:
		d = approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Answer: d.Note}}
	default:
		return &approvals.InvalidError{Field: partAnswer, Reason: "choose approve, deny or answer"}
	}
	if len(d.ModifiedArgs) > 0 && !json.Valid(d.ModifiedArgs) {
		return &approvals.InvalidError{Field: "modified_args", Reason: "not valid JSON: look for a missing or curly quote, or an extra comma"}
	}
	_, err = c.decide(ctx, who, r.ID, d)
	return err
}
