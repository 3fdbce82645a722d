package app_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/problem"
)

// watch opens a WebSocket as one of the team.
func (w *world) watch(token, lastEventID string) *client.Live {
	w.t.Helper()
	socket, err := w.as(token).Live(w.t.Context(), lastEventID)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(socket.Close)
	return socket
}

// told reads messages of a WebSocket until one is of a type.
func (w *world) told(socket *client.Live, typ live.Type) client.Update {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), soon)
	defer cancel()
	for {
		update, err := socket.Next(ctx)
		if err != nil {
			w.t.Fatalf("waiting for %s: %v", typ, err)
		}
		if update.Type == typ {
			return update
		}
	}
}

// A held call reaches two reviewers, one of them releases it, and the other gets the name
// of the first.
func TestWebSocketFromHoldToRelease(t *testing.T) {
	t.Parallel()
	w, m := staffed(t, askAll, callThenText)
	ann, bob, vic := w.watch(m["ann"], ""), w.watch(m["bob"], ""), w.watch(m["vic"], "")
	if ready := w.told(ann, live.TypeReady).Ready; len(ready.Pending) != 0 {
		t.Errorf("before anything was asked %q waits", ready.Pending)
	}
	agent := w.post("/v1/chat/completions", streamedRequest)
	held := w.told(ann, live.TypeRequest).Request
	if held.ToolName != "bash" || held.ToolCallID != lsCall.ID || held.Status != approvals.StatusPending {
		t.Fatalf("ann gets %+v", held)
	}
	late := w.watch(m["ada"], "")
	if ready := w.told(late, live.TypeReady).Ready; len(ready.Pending) != 1 || ready.Pending[0] != held.ID {
		t.Errorf("a later client gets %q as pending", ready.Pending)
	}
	status, err := ann.Status(t.Context(), live.StatusQuery{})
	if err != nil || len(status.Sessions) != 1 || status.Sessions[0].Runs[0].Waiting[0].RequestID != held.ID {
		t.Errorf("the status is %+v, %v", status, err)
	}
	w.told(vic, live.TypeRequest)
	_, err = vic.Decide(t.Context(), approve(held.ID))
	wantCode(t, err, problem.CodeForbidden)

	r, err := ann.Decide(t.Context(), approvals.Decision{RequestID: held.ID, Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"ls <here> && pwd"}`), ReviewerID: "ada"})
	if err != nil || r.Status != approvals.StatusApproved || r.Decisions[0].ReviewerID != "ann" || r.Decisions[0].Channel != "websocket" {
		t.Fatalf("ann's decision is %+v, %v", r.Decisions, err)
	}
	if answer := agent.rest(); !strings.Contains(answer, `ls <here> && pwd`) || !strings.Contains(answer, lsCall.ID) {
		t.Errorf("the agent got %q", answer)
	}
	for name, socket := range map[string]*client.Live{"bob": bob, "vic": vic, "ada": late} {
		update := w.told(socket, live.TypeUpdate)
		if d, ok := update.Request.FinalDecision(); !ok || d.ReviewerID != "ann" || update.EventID == "" {
			t.Errorf("%s gets %+v after %q", name, update.Request.Decisions, update.EventID)
		}
	}
	decided := (*approvals.DecidedError)(nil)
	if _, err := bob.Decide(t.Context(), approve(held.ID)); !errors.As(err, &decided) {
		t.Errorf("the slower gets %v", err)
	}
}

// Who was away learns how it ended meanwhile.
func TestWebSocketResumes(t *testing.T) {
	t.Parallel()
	w, m := staffed(t, askAll, callThenText)
	agent := w.post("/v1/chat/completions", streamedRequest)
	id := w.pending(1)[0].ID
	bob := w.watch(m["bob"], "")
	last := w.told(bob, live.TypeReady).EventID
	bob.Close()
	if _, err := bob.Next(t.Context()); err == nil {
		t.Error("a closed WebSocket continues")
	}
	w.decide(id, approvals.Decision{Action: approvals.ActionDeny, Note: "no"})
	agent.rest()
	back := w.watch(m["bob"], last)
	if ready := w.told(back, live.TypeReady).Ready; !ready.Resumed || len(ready.Pending) != 0 {
		t.Errorf("bob comes back to %+v", ready)
	}
	if update := w.told(back, live.TypeUpdate); update.Request.ID != id || update.Request.Status != approvals.StatusDenied {
		t.Errorf("bob gets %s, %s", update.Request.ID, update.Request.Status)
	}
}

// A stop of heldcall closes the WebSockets with a reason.
func TestWebSocketEndsWithHeldcall(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, callThenText)
	socket := w.watch("", "")
	w.told(socket, live.TypeReady)
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	_, err := socket.Next(t.Context())
	if unreachable := (*client.UnreachableError)(nil); !errors.As(err, &unreachable) || websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("it ends with %v", err)
	}
}

// A client without a token gets no WebSocket.
func TestWebSocketAsksWhoItIs(t *testing.T) {
	t.Parallel()
	w, m := staffed(t, askAll, callThenText)
	_, err := w.as("").Live(t.Context(), "")
	wantCode(t, err, problem.CodeUnauthenticated)
	_, err = w.as("heldcall_GUESSED").Live(t.Context(), "")
	wantCode(t, err, problem.CodeWrongToken)
	_, err = w.as(m["vic"]).Live(t.Context(), "x")
	wantCode(t, err, problem.CodeBadRequest)
}

// A WebSocket follows the conversation in docs/websocket.md: lines that begin with > are
// sent, those with < are read, and … matches anything.
func TestDocumentedWebSocket(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/websocket.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```\n([<>] \\{.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("docs/websocket.md shows no conversation")
	}
	w := build(t, askAll, callThenText)
	agent := w.post("/v1/chat/completions", streamedRequest)
	held := w.pending(1)[0]
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, w.app.ConsoleURL()+"/api/v1/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	directions := map[string]int{}
	var read []string // and not in the page so far: an answer and an event come in either order
	for line := range strings.Lines(strings.TrimSpace(string(block[1]))) {
		direction, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		directions[direction]++
		text = strings.ReplaceAll(text, "01KAM5Q2V4Z8C1X9R3T7YBDHEN", held.ID)
		if direction == ">" {
			if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		said := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(text), "…", ".*") + "$").MatchString
		for !slices.ContainsFunc(read, said) {
			_, got, err := conn.Read(ctx)
			if err != nil {
				t.Fatalf("it does not send %s: %v\nbut %q", text, err, read)
			}
			read = append(read, string(got))
		}
		read = slices.DeleteFunc(read, said)
	}
	if directions["<"] < 5 || directions[">"] < 3 || directions["<"]+directions[">"] != strings.Count(string(block[1]), "\n") {
		t.Errorf("the page shows %v", directions)
	}
	if answer := agent.rest(); !strings.Contains(answer, lsCall.ID) {
		t.Errorf("the agent got %q", answer)
	}
}
