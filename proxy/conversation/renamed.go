package conversation

import (
	"context"

	"github.com/heldcall/heldcall/intercept"
)

// renamedID is the id of the record of a session that has another name. There is one a key.
const renamedID = "renamed"

func (id *Identity) renamedKey(name string) string { return id.Key("started again", name) }

// Rename records that the conversation of an agent that was started again is the session of a turn
// that it continues: what people remembered and denied there counts in its later requests too.
func (c *Conversation) Rename(ctx context.Context, session string) *intercept.Error {
	name := c.Info().Session
	if c.Request.Session != "" || name == "" || name == session {
		return nil
	}
	who := Identity{Principal: c.Request.Principal}
	return c.put(ctx, who.renamedKey(name), renamedID, []byte(session))
}

// resumeName finds the session that the agent has given another name.
func (c *Conversation) resumeName(ctx context.Context) *intercept.Error {
	if c.Request.Session != "" || !c.recorded.any() || c.Request.renames() == noRenames {
		return nil
	}
	name := c.Info().Session
	if name == "" {
		return nil
	}
	who := Identity{Principal: c.Request.Principal}
	kept, refusal := c.records(ctx, who.renamedKey(name))
	if len(kept) > 0 {
		c.info.Session = string(kept[0])
	}
	return refusal
}
