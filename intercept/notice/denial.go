// Package notice has the texts that models and agents read: about calls that were denied, changed,
// parked or aborted, and about results that the model does not read.
package notice

import (
	"fmt"
	"strings"
)

// These are the texts for the model in all dialects. Each states what happened and what to
// do next. A denial is never phrased as an error: models retry after errors.

// DeniedByPerson is the text after a reviewer refused the call.
func DeniedByPerson(tool, note string) string {
	return denial(fmt.Sprintf("A human reviewer refused this call of %s. It was not run.", tool), "Reviewer's note", note)
}

// DeniedByRule is the text after policy refused the call.
func DeniedByRule(tool, reason string) string {
	return denial(fmt.Sprintf("The operator's policy refused this call of %s. It was not run.", tool), "Reason", reason)
}

// DeniedAgain is the text after the model repeated a denied call.
func DeniedAgain(tool, note string) string {
	return denial(fmt.Sprintf("This call of %s was already denied, with the same arguments. It was not run.", tool), "The denial said", note)
}

// NobodyAnswered is the text after no reviewer answered in time.
func NobodyAnswered(tool string) string {
	return fmt.Sprintf("This call of %s needed a person's approval and nobody answered in time. It was not run, and nobody has refused it. Go on without it, or tell the user that it waits for approval and may be asked again later.", tool)
}

// SecretRefused is the text after the value of a secret could not be put into the call.
func SecretRefused(tool, names string, why error) string {
	return denial(fmt.Sprintf("This call of %s was not run: heldcall could not put the value of the secret %s in place of its handle.", tool, names), "Reason", why.Error())
}

// RunAborted is the text for the agent after a person stopped its run.
func RunAborted(note string) string {
	text := "This run was stopped by a human reviewer. No further tool calls are possible in it."
	if note = strings.TrimSpace(note); note != "" {
		text += " Reviewer's note: " + note
	}
	return text
}

// ArgumentsChanged is the text before the result of a call whose arguments a reviewer
// changed, so that the model does not run the original too.
func ArgumentsChanged(tool, note string) string {
	text := fmt.Sprintf("[A human reviewer changed the arguments of this call of %s before it ran. %s", tool, shownRan)
	if note = strings.TrimSpace(note); note != "" {
		text += " Reviewer's note: " + note
	}
	return text + "]"
}

// ArgumentsRewritten is the text before the result of a call whose arguments a rule
// changed.
func ArgumentsRewritten(tool, reason string) string {
	text := fmt.Sprintf("[The operator's policy changed the arguments of this call of %s before it ran. %s", tool, shownRan)
	if reason = strings.TrimSpace(reason); reason != "" {
		text += " Reason: " + reason
	}
	return text + "]"
}

const shownRan = "The arguments shown in the call are the ones that ran; do not run the original ones."

// ArgumentsRan is the text of [ArgumentsChanged] for a provider that keeps the call and
// shows the model its original arguments.
func ArgumentsRan(changed, arguments string) string {
	ran := "The call still shows the original arguments, which did not run and must not be run. The arguments that ran: " + arguments
	if strings.Contains(changed, shownRan) {
		return strings.Replace(changed, shownRan, ran, 1)
	}
	return changed + "\n[" + ran + "]"
}

// TooManyDenials is the end of an answer after n denied calls in a row.
func TooManyDenials(n int) string {
	return fmt.Sprintf("The tool calls of this answer were denied %d times in a row. No further attempt is made; please tell me how to go on.", n)
}

// DeniedTooOften is the end of an answer after the last call that may be denied before the
// user is asked.
func DeniedTooOften(n int) string {
	if n == 1 {
		return "A tool call was denied. No further attempt is made; please tell me how to go on."
	}
	return fmt.Sprintf("%d tool calls were denied since you last wrote. No further attempt is made; please tell me how to go on.", n)
}

// CallsDenied is the end of an answer in which the model writes no text after its calls
// were denied. The agent reads it, so it names no tool.
func CallsDenied() string {
	return "The tool calls of this answer were denied and not run. Please tell me how to go on."
}

// NothingWritten is the end of an answer in which the model writes no text after heldcall
// has answered its calls.
func NothingWritten() string { return "The model wrote no more text." }

func denial(what, label, note string) string {
	return sentence(what, label, note) + " Do not repeat the call unchanged: ask the user, or take another way that does not need it."
}

// sentence is what with a note after it, if there is one.
func sentence(what, label, note string) string {
	if note = strings.TrimSpace(note); note != "" {
		what += " " + label + ": " + note
		if !strings.ContainsAny(note[len(note)-1:], ".!?") {
			what += "."
		}
	}
	return what
}
