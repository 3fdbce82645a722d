package notice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// parkedPrefix begins the message to the model about a parked call in a record of
// [intercept.Resolution.Hidden]. The id of the request follows. What became of the request replaces
// the message before [intercept.Request.Splice]: see [FillParked].
const parkedPrefix = "heldcall:parked:"

// ParkedMark is the message to the model about a call that is parked, in its ruling.
func ParkedMark(request string) string { return parkedPrefix + request }

// ParkedRequests lists the ids of the requests about parked calls in a record.
func ParkedRequests(record []byte) (ids []string) {
	for rest := record; ; {
		_, after, found := bytes.Cut(rest, []byte(parkedPrefix))
		if !found {
			return ids
		}
		n := bytes.IndexFunc(after, func(r rune) bool { return (r < '0' || r > '9') && (r < 'A' || r > 'Z') })
		if n > 0 && !slices.Contains(ids, string(after[:n])) {
			ids = append(ids, string(after[:n]))
		}
		rest = after
	}
}

// FillParked returns a record with a text in place of the messages about the parked call
// of a request. Messages may be JSON in strings of the record, to any depth.
func FillParked(record []byte, request, text string) []byte {
	mark := ParkedMark(request)
	var out []byte
	for {
		before, after, found := bytes.Cut(record, []byte(mark))
		if !found {
			return append(out, record...)
		}
		out = append(out, before...)
		if depth := stringDepth(before); depth == 0 {
			out = append(out, mark...)
		} else {
			out = append(out, quotedText(text, depth)...)
		}
		record = after
	}
}

// stringDepth returns in how many JSON strings a value is that begins after before, 0 if
// it is not the beginning of a string.
func stringDepth(before []byte) int {
	opening, ok := bytes.CutSuffix(before, []byte(`"`))
	if !ok {
		return 0
	}
	slashes := len(opening) - len(bytes.TrimRight(opening, `\`))
	depth := 1
	for ; slashes > 0; slashes = (slashes - 1) / 2 { // a quote is \" in a string, \\\" in a string of that
		depth++
	}
	return depth
}

// quotedText returns a text as the contents of a JSON string, which itself is in others.
func quotedText(text string, depth int) string {
	for range depth {
		quoted := strictjson.Quote(text)
		text = quoted[1 : len(quoted)-1]
	}
	return text
}

// These are the texts for the model about a call that was parked.

// WaitsForApproval is the text while its request is open.
func WaitsForApproval(tool, request string) string {
	return fmt.Sprintf("This call of %s waits for a person's approval (request %s). It has not run. Go on with something else, or tell the user that it waits. Do not work around it.", tool, request)
}

// NotDecidedYet is the text for a call that its agent may make again, to learn the decision.
func NotDecidedYet(tool, request string) string {
	return fmt.Sprintf("Not decided yet: this call of %s waits for a person's approval (request %s). It has not run. Try it again later with exactly the same arguments; go on with something else in the meantime, or tell the user that it waits. Do not work around it.", tool, request)
}

// ApprovedLater is the text after its request was approved. Arguments are those that the
// reviewer has set, "" for none.
func ApprovedLater(tool, request, arguments, note, until string) string {
	text := fmt.Sprintf("This call of %s waited for a person's approval and did not run (request %s). It has been approved since then.", tool, request)
	if arguments == "" {
		text += " To run it, call it again with exactly the same arguments"
	} else {
		text += " The reviewer changed its arguments. To run it, call it again with exactly these: " + arguments
	}
	text += "; the approval is for one call, until " + until + "."
	if note = strings.TrimSpace(note); note != "" {
		text += " Reviewer's note: " + note
	}
	return text
}

// WaitedFor is the text for a model about a call whose notice it has read before. State is
// the text about the decision.
func WaitedFor(tool, call, request, state string) string {
	return fmt.Sprintf("About the call %s of %s, which waited for a person's approval (request %s): %s", call, tool, request, state)
}

// DecidedLater is the record of texts about parked calls. The next request contains them
// after the results of the model's last calls.
func DecidedLater(texts []string) []byte {
	record, _ := json.Marshal(map[string][]string{"decided": texts})
	return record
}

// CancelledLater is the text after its request was cancelled.
func CancelledLater(tool string) string {
	return fmt.Sprintf("This call of %s waited for a person's approval, and its request was cancelled. It was not run.", tool)
}

// ParkedNotice is the text for the user with which the answer of a parked call ends.
func ParkedNotice(tool, request string) string {
	return fmt.Sprintf("The call of %s waits for approval (request %s) and has not run yet. We can go on with something else in the meantime.", tool, request)
}
