package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"

	"github.com/go-json-experiment/json/jsontext"
)

// preview is the resource on one short line. Arguments that stand for it are in the order
// in which the model wrote them.
func (s *subject) preview() string {
	if s.kind != asPlain || s.call.FreeText || len(s.doubts) > 0 || s.text != s.whole() {
		return match.Preview(s.text)
	}
	v := jsontext.Value(match.OrEmptyObject(s.call.Arguments))
	if v.Format() != nil {
		return match.Preview(s.text)
	}
	return match.Preview(string(v))
}
