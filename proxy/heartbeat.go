package proxy

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
)

// Heartbeat is the form of the heartbeats in a stream. A whole answer has
// one form only, blanks before the JSON.
type Heartbeat string

// The forms of a heartbeat.
const (
	HeartbeatAuto    Heartbeat = "auto" // by [ClientHeartbeats]
	HeartbeatComment Heartbeat = "comment"
	HeartbeatEvent   Heartbeat = "event"
	HeartbeatDelta   Heartbeat = "delta" // an event with an empty delta, on chat
	HeartbeatOff     Heartbeat = "off"
)

// ClientHeartbeat is the form that some clients of a dialect get.
type ClientHeartbeat struct {
	Dialect   string
	UserAgent string // prefix of the header; "" fits every client
	Form      Heartbeat
	Why       string
}

// ClientHeartbeats is the one table of what clients need. The first row that fits
// counts. make clients proves every row with the real client.
func ClientHeartbeats() []ClientHeartbeat { return clientHeartbeats }

var clientHeartbeats = []ClientHeartbeat{
	{
		"chat", "AsyncOpenAI/Python", HeartbeatDelta,
		"LangChain for Python, which names itself so, gives a stream up after 120 s without an event; " +
			"programs written with the SDK itself read choices[0] of every event",
	},
	{
		"chat", "", HeartbeatComment,
		"comments count as bytes for every SDK and as an event for none, so that none trips over one",
	},
	{
		"responses", "OpenAI/JS 6.45.0", HeartbeatComment,
		"the stream helper of this one version throws at an event that it does not know",
	},
	{
		"responses", "", HeartbeatEvent,
		"OpenAI itself sends the event keepalive; Codex gives a stream up after 300 s without an event",
	},
	{
		"messages", "", HeartbeatEvent,
		"Anthropic itself sends the event ping",
	},
}

var wireHeartbeats = map[Heartbeat]intercept.Heartbeat{
	HeartbeatComment: intercept.HeartbeatComment, HeartbeatEvent: intercept.HeartbeatEvent, HeartbeatDelta: intercept.HeartbeatDelta,
}

// heartbeat is the form of heartbeats for a client, as configured or by the table.
func (p *Proxy) heartbeat(dialect string, userAgent []byte) intercept.Heartbeat {
	if p.options.Heartbeat != HeartbeatAuto {
		return wireHeartbeats[p.options.Heartbeat]
	}
	for _, row := range clientHeartbeats {
		if row.Dialect == dialect && strings.HasPrefix(string(userAgent), row.UserAgent) {
			return wireHeartbeats[row.Form]
		}
	}
	return intercept.HeartbeatComment
}
