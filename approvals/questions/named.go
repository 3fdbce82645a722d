package questions

import (
	"errors"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// Named splits a text into the id of one of several questions, which a colon follows, and
// the rest. Of a request with one question it is all the rest.
func Named(r *approvals.Request, text string) (id, rest string, err error) {
	if r.Kind != approvals.KindCombined {
		return "", text, nil
	}
	for i := range r.Details.Questions {
		if rest, found := strings.CutPrefix(text, r.Details.Questions[i].ID+":"); found {
			return r.Details.Questions[i].ID, rest, nil
		}
	}
	return "", "", errors.New("write the id of a question and a colon before it; `heldcall requests show` lists them")
}
