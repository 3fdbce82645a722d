package conversation

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// Taint is what a conversation knows of texts that the policy does not trust. It belongs to the session and its
// run: it stays when the agent shortens its history and when the user writes. Agents that the conversation has started
// share it both ways: they begin with what it knows, and it reads their results.

// Taint returns the cause if the conversation is tainted, else "".
func (h *JudgedResults) Taint() string { return h.taint }

// LoadTaint reads whether an earlier request has tainted the conversation. Cause is the result of this
// request that taints it, "" for none; it is recorded if it is the first.
func (h *JudgedResults) LoadTaint(ctx context.Context, cause string) *intercept.Error {
	c := h.conversation
	if cause == "" && !c.recorded.any() {
		return nil
	}
	own, refusal := h.taintKeys(ctx)
	if refusal != nil {
		return refusal
	}
	var clean []string
	for _, key := range own {
		kept, refusal := c.records(ctx, key)
		switch {
		case refusal != nil:
			return refusal
		case len(kept) == 0:
			clean = append(clean, key)
		case h.taint == "":
			h.taint = string(kept[0])
		}
	}
	if h.taint == "" {
		h.taint = cause
	}
	if h.taint == "" {
		return nil
	}
	for _, key := range clean {
		if refusal := c.put(ctx, key, onceID, []byte(h.taint)); refusal != nil {
			return refusal
		}
	}
	return nil
}

// taintKeys returns the keys under which the taint of the conversation is recorded: of its session, its run, the
// threads that headers of the agent name, those of the answer that it continues, and the session whose call has
// started it.
func (h *JudgedResults) taintKeys(ctx context.Context) ([]string, *intercept.Error) {
	c := h.conversation
	who := c.Identity()
	opening := c.Parsed.Opening()
	opening.Prefix, opening.Reminder = "", intercept.ReminderMark // the agent has its own instructions and reminders
	sessions := []string{who.Session}
	if c.continued.Session != "" && c.continued.Session != who.Session {
		sessions = append(sessions, c.continued.Session)
	}
	starters, refusal := c.records(ctx, c.startedKey(c.shared.Digests.hex(opening, 16)))
	if refusal != nil {
		return nil, refusal
	}
	for _, starter := range starters {
		if !slices.Contains(sessions, string(starter)) {
			sessions = append(sessions, string(starter))
		}
	}
	var keys []string
	for _, session := range sessions {
		keys = append(keys, who.Key("tainted session", session))
	}
	keys = append(keys, who.Key("tainted run", who.Run))
	if run := c.continued.Run; run != "" && run != who.Run {
		keys = append(keys, who.Key("tainted run", run))
	}
	for _, header := range c.Request.sessionHeaders() {
		if slices.Contains(threadHeaders, header.Name) {
			keys = append(keys, who.Key("tainted thread", header.Digest))
		}
	}
	return keys, nil
}

// TaintKeys returns the keys of the records that a conversation is tainted, by the names that its agent and heldcall have
// for it.
func TaintKeys(who approvals.Principal, names ...string) (keys []string) {
	for _, name := range names {
		keys = append(keys, PrincipalKey(who, "tainted session", name), PrincipalKey(who, "tainted thread", DigestHeader([]byte(name))))
	}
	return keys
}

// threadHeaders are headers in which agents name a thread or the one that has started it. Codex and opencode give
// each subagent a thread of its own.
var threadHeaders = []string{"thread-id", "thread_id", "x-codex-parent-thread-id", "x-session-id", "x-opencode-session", "x-parent-session-id"}

// startedKey is the key of the record of a call that starts an agent, by the digest of its first message.
func (c *Conversation) startedKey(message string) string {
	return c.sessionIdentity().Key("started agent", message)
}

// Starts records that a released call starts an agent with a message, before the call leaves: the agent may
// send its first request at once.
func (h *JudgedResults) Starts(ctx context.Context, message string) *intercept.Error {
	c := h.conversation
	text, err := json.Marshal(message, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return intercept.Refusal(err)
	}
	session := c.sessionIdentity().Session
	return c.put(ctx, c.startedKey(c.shared.Digests.hex(intercept.UserText{Content: text}, 16)), session, []byte(session))
}
