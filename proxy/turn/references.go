package turn

import (
	"context"
	"encoding/json"

	"github.com/heldcall/heldcall/intercept"
)

// responseRef is where an answer belongs that the agent later refers to by the provider's
// id of it (previous_response_id), instead of repeating the conversation.
type responseRef struct {
	Session string   `json:"session"`
	Run     string   `json:"run"`
	User    string   `json:"user,omitempty"`   // see userMessage
	Denied  []string `json:"denied,omitempty"` // the answers up to here of which calls were denied
	Again   []byte   `json:"again,omitempty"`  // the record for a request that asks for the answer again
}

// responseRefID is the id under which a responseRef is kept. There is one a key.
const responseRefID = "thread"

// responseRefKey and hiddenKey are keys of the store for a provider's id.
func (id *Identity) responseRefKey(refer string) string { return id.key("thread", refer) }
func (id *Identity) hiddenKey(refer string) string      { return id.key("hidden", refer) }

// resume finds session and run of a request that continues an answer by its id.
func (c *conversation) resume(ctx context.Context) *intercept.Error {
	if !c.engine.Store.AnyTurns() {
		return nil
	}
	who := Identity{Principal: c.request.Principal}
	for _, refer := range c.requestInfo().Refers {
		kept, refusal := c.recordsOf(ctx, who.responseRefKey(refer))
		if refusal != nil {
			return refusal
		}
		if len(kept) > 0 && json.Unmarshal(kept[0], &c.continues) == nil && c.continues.Session != "" {
			return nil
		}
	}
	return nil
}
