package notice

import "fmt"

// These are the texts that the model reads in place of the result of a call that has run.

// ResultDeniedByRule is the text where policy keeps the result from the model.
func ResultDeniedByRule(tool, reason string) string {
	return withheld(fmt.Sprintf("The operator's policy does not let you read the result of this call%s.", of(tool)), "Reason", reason)
}

// ResultDeniedByPerson is the text where a reviewer keeps the result from the model.
func ResultDeniedByPerson(tool, note string) string {
	return withheld(fmt.Sprintf("A human reviewer does not let you read the result of this call%s.", of(tool)), "Reviewer's note", note)
}

// ResultNotReviewed is the text where no reviewer has decided in time.
func ResultNotReviewed(tool string) string {
	return fmt.Sprintf("The result of this call%s needed a person's approval and nobody answered in time. The call has run; do not repeat it to get the result. Go on without it, or tell the user.", of(tool))
}

// MessageDenied is the text in place of a message that is only counted.
func MessageDenied(reason string) string {
	return sentence("[The operator's policy denies a result with this text.", "Reason", reason) + "]"
}

func withheld(what, label, note string) string {
	what = sentence(what, label, note)
	return what + " The call has run; do not repeat it to get the result: ask the user, or take another way that does not need it."
}

func of(tool string) string {
	if tool == "" {
		return ""
	}
	return " of " + tool
}
