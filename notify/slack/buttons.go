package slack

import (
	"fmt"
	"slices"
	"strings"

	slackapi "github.com/slack-go/slack"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// Actions of buttons, whose value is the id of the request.
const (
	doApprove = "heldcall_approve"
	doDeny    = "heldcall_deny"
	doAlways  = "heldcall_allow_always"
	doEdit    = "heldcall_edit"
	doNote    = "heldcall_note"
)

// Actions of the buttons for calls that are one question, whose value is their ids with a comma
// between.
const (
	doApproveAll = "heldcall_approve_all"
	doDenyAll    = "heldcall_deny_all"
)

// ofEach has the button of one call that does the same as one for all.
var ofEach = map[string]string{doApproveAll: doApprove, doDenyAll: doDeny}

// buttons returns the buttons of a pending call, nil for none. A call that is not shown
// in full can only be denied.
func (c *cards) buttons(r *approvals.Request, whole bool) *slackapi.ActionBlock {
	switch {
	case !c.clickable:
		return nil
	case r.Asks():
		return slackapi.NewActionBlock("", questionButtons(r, whole)...)
	case !slices.Contains([]approvals.Kind{"", approvals.KindPermission, approvals.KindResult}, r.Kind):
		return nil
	}
	possible := r.ActionsOf()
	whole = whole && possible.Batch.Reason == "" // a click confirms nothing
	var row []slackapi.BlockElement
	button := func(action, text string) *slackapi.ButtonBlockElement {
		b := slackapi.NewButtonBlockElement(action, r.ID, plain(text))
		row = append(row, b)
		return b
	}
	if whole {
		button(doApprove, "Approve").Style = slackapi.StylePrimary
	}
	button(doDeny, "Deny").Style = slackapi.StyleDanger
	if whole {
		button(doNote, "Note…")
		if editable(r) {
			button(doEdit, "Edit…")
		}
		if text, ok := promise(r); ok {
			button(doAlways, "Allow always").Confirm = slackapi.NewConfirmationBlockObject(
				plain("Allow always?"), markup(text), plain("Allow always"), plain("Back"))
		}
	}
	return slackapi.NewActionBlock("", row...)
}

func editable(r *approvals.Request) bool {
	return r.ActionsOf().Edit.Reason == "" && r.OneDecides() && units(sanitize.Indented(r.Arguments)) <= maxSection
}

// promise describes the calls that "allow always" would allow; ok is false where the text
// would be cut, or the call cannot be remembered. Wider patterns are chosen in the inbox.
func promise(r *approvals.Request) (text string, ok bool) {
	terms := r.DefaultGrant()
	if terms == nil || r.ActionsOf().Always.Reason != "" || !r.OneDecides() || len(terms.Patterns) == 0 {
		return "", false
	}
	coded := make([]string, len(terms.Patterns))
	for i, pattern := range terms.Patterns {
		var whole bool
		if coded[i], whole = word(pattern, maxConfirm); !whole {
			return "", false
		}
	}
	whose, whole := word(r.Whose(terms.Scope), maxName)
	if !whole {
		return "", false
	}
	text = fmt.Sprintf("This call, and later calls that match %s, for %s, for %.0f hours.", strings.Join(coded, " or "), whose, approvals.DefaultGrantTime.Hours())
	return text, units(text) <= maxConfirm
}

// decisions are those of buttons that ask no further question.
var decisions = map[string]approvals.Action{
	doApprove: approvals.ActionApprove,
	doDeny:    approvals.ActionDeny,
	doAlways:  approvals.ActionAllowAlways,
}

// offered reports whether a card has a button for this request, in its present state.
func (c *cards) offered(action string, r *approvals.Request) bool {
	buttons := c.buttons(r, viewOf(r, maxArguments).whole)
	if buttons == nil {
		return false
	}
	for _, element := range buttons.Elements.ElementSet {
		if b, ok := element.(*slackapi.ButtonBlockElement); ok && b.ActionID == action {
			return true
		}
	}
	return false
}

// allButtons returns the buttons for pending calls that are one question, nil where there are none: each of
// the calls is shown in full and has these buttons itself.
func (c *cards) allButtons(question []approvals.Request) *slackapi.ActionBlock {
	var ids []string
	for i := range question {
		r := &question[i]
		if !c.offered(doApprove, r) || !c.offered(doDeny, r) {
			return nil
		}
		ids = append(ids, r.ID)
	}
	value := strings.Join(ids, ",")
	approve := slackapi.NewButtonBlockElement(doApproveAll, value, plain(fmt.Sprintf("Approve these %d", len(ids))))
	approve.Style = slackapi.StylePrimary
	approve.Confirm = slackapi.NewConfirmationBlockObject(
		plain("Approve these calls?"), markup(fmt.Sprintf("The %d calls of this question run as they are shown.", len(ids))), plain("Approve"), plain("Back"))
	deny := slackapi.NewButtonBlockElement(doDenyAll, value, plain(fmt.Sprintf("Deny these %d", len(ids))))
	deny.Style = slackapi.StyleDanger
	return slackapi.NewActionBlock("", approve, deny)
}
