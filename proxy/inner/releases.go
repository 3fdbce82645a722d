package inner

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/hooks"
	"github.com/heldcall/heldcall/internal/recent"
	"github.com/heldcall/heldcall/proxy/conversation"
)

const (
	// coveredFor is how long after its release a call of the wire may be run without asking.
	coveredFor = time.Hour
	// maxReleased bounds the calls of one name of a conversation, maxNames the names of one generation of the memory, and
	// maxCalls their calls.
	maxReleased = 256
	maxNames    = 4096
	maxCalls    = 16_384
)

// Releases are the calls that were released on the wire, by the names of their conversations, and what the wire knows of
// these: so that nobody is asked twice about one call. A release covers one inner call, once, of the same principal,
// conversation, tool and arguments; an inner call with an id only that of the same id, if the wire has one. They are in
// memory: after a restart, and on another replica, people are asked. They are safe for concurrent use.
type Releases struct {
	mu    sync.Mutex
	named *recent.Map[name, *wireConversation]
}

// NewReleases returns releases that know no call yet.
func NewReleases() *Releases {
	return &Releases{named: recent.New[name, *wireConversation](maxNames, maxCalls)}
}

// name is that of a conversation, by a digest.
type name struct {
	principal approvals.Principal
	digest    string
}

// wireConversation is what the wire knows under a name.
type wireConversation struct {
	of    Conversation
	calls []*releasedCall
}

// Conversation is that of a call on the wire.
type Conversation struct {
	Session, Run string
	Tainted      bool
}

// releasedCall is a call that was released on the wire.
type releasedCall struct {
	turn, id   string
	key, shown string // of the call as the agent got it, and as the hook of its client shows it: see [judge.Key]; shown is "" if it is the same
	at         time.Time
	used       bool // an inner call was covered
}

func newReleased(turn string, c intercept.Call, now time.Time) *releasedCall {
	r := &releasedCall{turn: strings.Clone(turn), id: strings.Clone(c.ID), key: judge.Key(c), at: now}
	if shown, differs := hooks.AsShown(c); differs {
		r.shown = judge.Key(shown)
	}
	return r
}

// Released adds calls, as the agent gets them, before they leave.
func (x *Releases) Released(c *conversation.Conversation, calls []intercept.Call) {
	if len(calls) == 0 {
		return
	}
	digests := c.NameDigests()
	if len(digests) == 0 {
		return
	}
	who, now := c.Identity(), time.Now()
	added := make([]*releasedCall, len(calls))
	for i, call := range calls {
		added[i] = newReleased(c.Request.Turn, call, now)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, digest := range digests {
		w := x.known(name{who.Principal, digest})
		if w == nil {
			w = &wireConversation{}
		}
		x.named.Put(name{who.Principal, digest}, w, len(added))
		w.of = Conversation{Session: who.Session, Run: who.Run, Tainted: c.Judged.Taint() != ""}
		w.add(added, now)
	}
}

// add adds calls that the conversation has not, and forgets the oldest.
func (w *wireConversation) add(calls []*releasedCall, now time.Time) {
	w.calls = slices.DeleteFunc(w.calls, func(r *releasedCall) bool { return now.Sub(r.at) > coveredFor })
	for _, call := range calls {
		again := func(r *releasedCall) bool { return r.turn == call.turn && r.id == call.id && r.key == call.key }
		if call.id == "" || !slices.ContainsFunc(w.calls, again) { // else the answer was delivered again
			w.calls = append(w.calls, call)
		}
	}
	if more := len(w.calls) - maxReleased; more > 0 {
		w.calls = slices.Delete(w.calls, 0, more)
	}
}

func (x *Releases) known(n name) *wireConversation {
	w, _ := x.named.Get(n, func(w *wireConversation) int { return len(w.calls) })
	return w
}

// conversation returns what the wire knows of the conversation that an agent names.
func (x *Releases) conversation(who approvals.Principal, session string) (of Conversation, known bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	w := x.known(name{who, conversation.DigestHeader([]byte(session))})
	if w == nil {
		return of, false
	}
	return w.of, true
}

// take reports whether a call was released on the wire, and uses that release.
func (x *Releases) take(c *Call) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	w := x.known(name{c.Principal, conversation.DigestHeader([]byte(c.Session))})
	if w == nil {
		return false
	}
	r := w.release(&c.Call, judge.Key(c.Call))
	if r == nil || time.Since(r.at) > coveredFor {
		return false
	}
	r.used = true
	return true
}

// release returns the release of an inner call that is not used: that of the same id, else one of an equal call if the
// wire has released none of that id.
func (w *wireConversation) release(c *intercept.Call, key string) (equal *releasedCall) {
	named := false
	for _, r := range w.calls {
		byID := c.ID != "" && r.id == c.ID
		named = named || byID
		switch {
		case r.used:
		case byID && (r.key == key || r.shown == key):
			return r
		case r.key == key && equal == nil:
			equal = r
		}
	}
	if named {
		return nil // its arguments were changed since, or it has run
	}
	return equal
}
