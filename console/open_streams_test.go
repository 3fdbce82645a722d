package console

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/problem"
)

// The sockets of one reviewer are bounded, and do not count for others; one that ends
// makes room.
func TestSocketsOfAReviewerAreBounded(t *testing.T) {
	url, tokens := startStaffed(t, &scriptedGate{events: make(chan approvals.Event)})
	vic := []string{"Authorization", "Bearer " + tokens[reviewers.RoleViewer]}
	var last wire
	for range socketsOfOne {
		last = open(t, url, "", vic...)
	}
	refused(t, url, http.StatusTooManyRequests, problem.CodeTooManySockets, vic...)
	open(t, url, "", "Authorization", "Bearer "+tokens[reviewers.RoleReviewer]).want(live.TypeReady, "")
	last.want(live.TypeReady, "")
	if err := last.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		conn, response, err := dialSocket(t, url, "", vic...)
		if err == nil {
			conn.CloseNow()
			return
		}
		if response != nil {
			response.Body.Close()
		}
		if time.Now().After(deadline) {
			t.Fatalf("one has ended, and another is refused: %v", err)
		}
	}
}

func TestSocketsInAllAreBounded(t *testing.T) {
	s := newOpenStreams()
	for i := range mostSockets {
		if _, err := s.enter(fmt.Sprint(i / socketsOfOne)); err != nil {
			t.Fatalf("socket %d: %v", i, err)
		}
	}
	if _, err := s.enter("ann"); !errors.Is(err, errTooMany) {
		t.Errorf("one more: %v", err)
	}
	s.leave("0")
	if _, err := s.enter("ann"); err != nil {
		t.Errorf("one has left: %v", err)
	}
	for i := 1; i < mostSockets; i++ {
		s.leave(fmt.Sprint(i / socketsOfOne))
	}
	s.leave("ann")
	if s.open != 0 || len(s.of) != 0 {
		t.Errorf("all have left, and there are %d of %d reviewers", s.open, len(s.of))
	}
}

// A status query reads all pending requests, so its rate is limited for each reviewer,
// over all sockets.
func TestStatusIsReadOnlySoOften(t *testing.T) {
	url := start(t, &scriptedGate{events: make(chan approvals.Event)}, nil)
	first, second := open(t, url, ""), open(t, url, "")
	first.want(live.TypeReady, "")
	second.want(live.TypeReady, "")
	began := time.Now()
	for range statusesAtOnce {
		first.send(`{"type":"get_agent_status"}`)
		first.want(live.TypeStatus, "")
	}
	second.send(`{"type":"get_agent_status"}`)
	second.want(live.TypeStatus, "")
	if took := time.Since(began); took < statusEvery {
		t.Errorf("%d were answered in %s", statusesAtOnce+1, took)
	}
}
