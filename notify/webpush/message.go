package webpush

import (
	"strings"
	"time"
	"unicode"

	"github.com/SherClockHolmes/webpush-go"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/notify"
)

// Limits of texts, in letters.
const (
	maxName    = 60
	maxPreview = 160
)

type message struct {
	ID      string         `json:"id"`    // of the request that is opened; the first, where there are several
	Count   int            `json:"count"` // of requests
	Kind    approvals.Kind `json:"kind"`  // of the requests; "": of several kinds
	Tool    string         `json:"tool"`
	Agent   string         `json:"agent"`
	Risk    approvals.Risk `json:"risk"`              // the highest
	Heading string         `json:"heading,omitempty"` // what the calls do
	Preview string         `json:"preview,omitempty"`
	Ended   string         `json:"ended,omitempty"` // how; "": it waits
	By      string         `json:"by,omitempty"`    // who decided
}

type push struct {
	message message
	ttl     time.Duration
	urgency webpush.Urgency
}

func newMessage(requests []*approvals.Request, preview bool) message {
	first := requests[0]
	m := message{ID: first.ID, Count: len(requests), Kind: kindOf(requests), Tool: plain(first.ToolName, maxName), Agent: plain(first.Principal.Agent, maxName), Risk: notify.HighestRisk(requests)}
	m.Heading = plain(approvals.NoticeHeading(requests), maxPreview)
	if preview && len(requests) == 1 && !first.MayHoldSecrets() {
		title := first.RuleTitle() + " "
		if first.Asks() {
			title = "" // the notification has one
		}
		m.Preview = plain(strings.TrimSpace(title+first.ArgsPreview), maxPreview)
	}
	return m
}

func kindOf(requests []*approvals.Request) approvals.Kind {
	for _, r := range requests {
		if r.Kind != requests[0].Kind {
			return ""
		}
	}
	return requests[0].Kind
}

func endedMessage(requests []approvals.Request) message {
	all := make([]*approvals.Request, len(requests))
	m := message{}
	for i := range requests {
		r := &requests[i]
		all[i] = r
		how, by := string(r.Status), ""
		if d, decided := r.FinalDecision(); decided {
			by = plain(d.ReviewerID, maxName)
		}
		if i == 0 {
			m.Ended, m.By = how, by
		}
		if m.Ended != how {
			m.Ended = "ended"
		}
		if m.By != by {
			m.By = ""
		}
	}
	ended := newMessage(all, false)
	ended.Ended, ended.By, ended.Heading = m.Ended, m.By, ""
	return ended
}

func urgencyOf(risk approvals.Risk) webpush.Urgency {
	if risk == approvals.RiskLow {
		return webpush.UrgencyNormal
	}
	return webpush.UrgencyHigh
}

// plain returns a text on one line, with a mark for each invisible or bidirectional
// character, cut to a number of letters.
func plain(text string, limit int) string {
	var out strings.Builder
	letters := 0
	for _, r := range text {
		if letters == limit {
			out.WriteRune('…')
			break
		}
		letters++
		switch {
		case sanitize.Rune(r):
			out.WriteRune(r)
		case r == '\n', r == '\t':
			out.WriteRune(' ')
		default:
			out.WriteRune(unicode.ReplacementChar)
		}
	}
	return out.String()
}
