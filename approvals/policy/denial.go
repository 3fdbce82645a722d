package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// Denial is the message of a rule to the model about a denied call.
type Denial struct {
	message *rule.Message
	data    rule.MessageData
}

// Text fills in how the call came to be denied. It is "" if that cannot be done,
// and on a nil *Denial: then the model gets the usual message.
func (d *Denial) Text(how Denied) string {
	if d == nil {
		return ""
	}
	data := d.data
	data.Denied = how
	text, err := d.message.Render(data)
	if err != nil {
		return ""
	}
	return text
}
