package intercept

import (
	"fmt"
	"strings"
)

// The words that a model reads stand here once for all dialects. Each says what
// happened and what to do next; a denial is never phrased as an error, because
// flagged errors are known to make models retry for ever.

// DeniedByPerson is told when a reviewer refused the call.
func DeniedByPerson(tool, note string) string {
	return denial(fmt.Sprintf("A human reviewer refused this call of %s. It was not run.", tool), "Reviewer's note", note)
}

// DeniedByRule is told when policy refused the call.
func DeniedByRule(tool, reason string) string {
	return denial(fmt.Sprintf("The operator's policy refused this call of %s. It was not run.", tool), "Reason", reason)
}

// DeniedAgain is told when the same call comes back unchanged.
func DeniedAgain(tool, note string) string {
	return denial(fmt.Sprintf("This call of %s was already denied, with the same arguments. It was not run.", tool), "The denial said", note)
}

// NobodyAnswered is told when no reviewer answered in time.
func NobodyAnswered(tool string) string {
	return fmt.Sprintf("This call of %s needed a person's approval and nobody answered in time. It was not run, and nobody has refused it. Go on without it, or tell the user that it waits for approval and may be asked again later.", tool)
}

// RunAborted is told to the agent when its run was stopped by a person.
func RunAborted(note string) string {
	text := "This run was stopped by a human reviewer. No further tool calls are possible in it."
	if note = strings.TrimSpace(note); note != "" {
		text += " Reviewer's note: " + note
	}
	return text
}

// ArgumentsChanged stands before the result of a call whose arguments a
// reviewer changed, so that the model does not run the original too.
func ArgumentsChanged(tool, note string) string {
	text := fmt.Sprintf("[A human reviewer changed the arguments of this call of %s before it ran. %s", tool, shownRan)
	if note = strings.TrimSpace(note); note != "" {
		text += " Reviewer's note: " + note
	}
	return text + "]"
}

// ArgumentsRewritten stands before the result of a call whose arguments a rule
// changed.
func ArgumentsRewritten(tool, reason string) string {
	text := fmt.Sprintf("[The operator's policy changed the arguments of this call of %s before it ran. %s", tool, shownRan)
	if reason = strings.TrimSpace(reason); reason != "" {
		text += " Reason: " + reason
	}
	return text + "]"
}

const shownRan = "The arguments shown in the call are the ones that ran; do not run the original ones."

// ArgumentsRan is the note of [ArgumentsChanged] where the model is shown the
// original arguments, because the provider keeps the call as it was made.
func ArgumentsRan(changed, arguments string) string {
	ran := "The call still shows the original arguments, which did not run and must not be run. The arguments that ran: " + arguments
	if strings.Contains(changed, shownRan) {
		return strings.Replace(changed, shownRan, ran, 1)
	}
	return changed + "\n[" + ran + "]"
}

// TooManyDenials ends an answer in which the model kept making denied calls.
func TooManyDenials(n int) string {
	return fmt.Sprintf("The tool calls of this answer were denied %d times in a row. No further attempt is made; please tell me how to go on.", n)
}

// DeniedTooOften ends an answer whose call was the last that may be denied before
// the user is asked.
func DeniedTooOften(n int) string {
	if n == 1 {
		return "A tool call was denied. No further attempt is made; please tell me how to go on."
	}
	return fmt.Sprintf("%d tool calls were denied since you last wrote. No further attempt is made; please tell me how to go on.", n)
}

// CallsDenied ends an answer in which the model says nothing more after its calls
// were denied. The agent reads it, so it names no tool.
func CallsDenied() string {
	return "The tool calls of this answer were denied and not run. Please tell me how to go on."
}

func denial(what, label, note string) string {
	if note = strings.TrimSpace(note); note != "" {
		what += " " + label + ": " + note
		if !strings.ContainsAny(note[len(note)-1:], ".!?") {
			what += "."
		}
	}
	return what + " Do not repeat the call unchanged: ask the user, or take another way that does not need it."
}
