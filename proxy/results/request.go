package results

import (
	"fmt"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// NewRequest returns a request to people of a kind, about a call or a result, made now by the verdict of a policy. It contains the
// cause of a tainted run. The subject is missing: the call, and the texts about it. maxWait is
// the longest time that people have; 0: as long as the policy allows.
func NewRequest(c *conversation.Conversation, kind approvals.Kind, v *policy.Verdict, maxWait time.Duration) approvals.Request {
	who := c.Identity()
	from := judge.Origin{Principal: who.Principal, Session: who.Session, Run: who.Run, Turn: c.Request.Turn, Dialect: c.Request.Dialect.Name(), Model: who.Model}
	q := from.NewRequest(kind, v, maxWait)
	q.Context.LastUserMessage, q.Details.Tainted = Excerpt(c.Parsed.LastUser()), c.Judged.Taint()
	if cause := q.Details.Tainted; cause != "" {
		q.Details.Flags = append(q.Details.Flags, approvals.TaintFlag(cause))
	}
	if said, _ := c.Unseen.Said(); said {
		q.Details.Flags = append(q.Details.Flags, "The agent did not send results of earlier calls as results, so no rule has judged them.")
	}
	return q
}

// excerptLength is how much of the texts of user and model a request contains: enough to
// understand a call, and never so much that a request cannot be recorded.
const excerptLength = 8 << 10

// Excerpt cuts a longer text in the middle, and marks where. It is a copy: requests that
// wait for people keep nothing of a long conversation in memory.
func Excerpt(text string) string {
	if len(text) <= excerptLength {
		return strings.Clone(text)
	}
	const half = excerptLength / 2
	left := len(text) - excerptLength
	return strings.ToValidUTF8(text[:half], "") + fmt.Sprintf(" […%d bytes left out…] ", left) + strings.ToValidUTF8(text[len(text)-half:], "")
}
