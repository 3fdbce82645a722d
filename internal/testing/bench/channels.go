package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/heldcall/heldcall/internal/testing/fakeslack"
)

// Calls that wait while channels are timed, and those that are asked about then, one at a time.
const (
	channelWaiting  = 500
	channelRequests = 200
	channelPace     = 25 * time.Millisecond // between two of them
	slackGathers    = 2 * time.Second       // calls of a run for one card: docs/channels.md
)

// channelResult is how long it takes from the creation of a request until it is on a channel's wire, the time that the
// channel gathers calls left out.
type channelResult struct {
	Channel string
	Waiting int
	Took    latency
}

// receivers are the services that heldcall notifies: a program by webhook, and Slack. Each sends the ids of new requests.
type receivers struct {
	slack   *fakeslack.Server
	webhook *httptest.Server
	posted  chan time.Time // messages in Slack
	hooked  chan hooked
}

// hooked is a message to the program.
type hooked struct{ created, came time.Time }

func newReceivers() *receivers {
	room := 2 * (channelWaiting + channelRequests) // for all requests: a full channel would delay the benchmark
	r := &receivers{slack: fakeslack.New(), posted: make(chan time.Time, room), hooked: make(chan hooked, room)}
	r.slack.Answers(func(method string) fakeslack.Answer {
		if method == "chat.postMessage" {
			r.posted <- time.Now()
		}
		return fakeslack.Answer{}
	})
	r.webhook = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		came := time.Now()
		var m struct {
			Type string
			Data struct {
				Request struct {
					CreatedAt time.Time `json:"created_at"`
				}
			}
		}
		if json.NewDecoder(req.Body).Decode(&m) == nil && m.Type == "approval_required" {
			r.hooked <- hooked{m.Data.Request.CreatedAt, came}
		}
	}))
	return r
}

func (r *receivers) close() {
	r.slack.Close()
	r.webhook.Close()
}

// configuration is the part of heldcall's that names them. Slack's cards are not put together: each request is timed.
func (r *receivers) configuration() string {
	return fmt.Sprintf(`notify:
  slack: [{bot_token: xoxb-bench, channel: C1, api_url: "%s", group: {cards: -1}}]
  webhooks: [{url: "%s", secrets: [whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=]}]
`, r.slack.URL(), r.webhook.URL)
}

// next waits for n more requests at both, and returns the time that each took since its creation. Messages of Slack
// have no time of their request: both are paired in their order.
func (r *receivers) next(n int) (slack, webhook []int64, err error) {
	const silence = 30 * time.Second // after which no more is expected: each message costs writes to the disk
	var created, posted []time.Time
	for len(created) < n || len(posted) < n {
		select {
		case m := <-r.hooked:
			created, webhook = append(created, m.created), append(webhook, int64(m.came.Sub(m.created)))
		case at := <-r.posted:
			posted = append(posted, at)
		case <-time.After(silence):
			return nil, nil, fmt.Errorf("of %d requests %d were at the webhook and %d in Slack, and none came for %s", n, len(created), len(posted), silence)
		}
	}
	slices.SortFunc(created, time.Time.Compare)
	slices.SortFunc(posted, time.Time.Compare)
	for i := range n {
		slack = append(slack, int64(posted[i].Sub(created[i])-slackGathers))
	}
	return slack, webhook, nil
}

// channels measures from the creation of a request to the wires of Slack and a webhook, while many wait. None may be lost.
func (s *suite) channels() error {
	if !s.has(hopHeldcall) {
		return nil
	}
	r := newReceivers()
	defer r.close()
	o := heldcallOptions{policy: "ask", keepalive: defaultKeepalive, more: r.configuration(), cold: true} // each request is timed
	return s.fresh(hopHeldcall, o, func(h *hop) error {
		var agents []*agent
		defer func() { closeAgents(agents) }()
		hold := func(n int) error {
			more, err := holdStreams(h, chat, n)
			agents = append(agents, more...)
			return err
		}
		if err := hold(channelWaiting); err != nil {
			return err
		}
		if _, _, err := r.next(channelWaiting); err != nil {
			return err
		}
		for range channelRequests {
			if err := hold(1); err != nil {
				return err
			}
			time.Sleep(channelPace)
		}
		slack, webhook, err := r.next(channelRequests)
		if err != nil {
			return err
		}
		s.results.Channels = []channelResult{{"Slack", channelWaiting, newLatency(slack)}, {"webhook", channelWaiting, newLatency(webhook)}}
		return nil
	})
}

func channelTable(all []channelResult) table {
	t := table{
		title:  fmt.Sprintf("From the creation of a request to a channel's wire, without the %s for which Slack gathers calls; %d waiting", slackGathers, channelWaiting),
		header: []string{"channel", "times", "p50 ms", "p99 ms", "max ms"},
	}
	for _, c := range all {
		t.rows = append(t.rows, append([]string{c.Channel}, latencyCells(c.Took)...))
	}
	return t
}
