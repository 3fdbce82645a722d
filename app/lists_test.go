package app_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

var largeTurns = flag.Int("large", 1, "turns with eight calls of 0.9 MB each; make load sets 10")

// Finding 24: calls of 0.9 MB are pending, and no list and no message on a stream exceeds
// 1 MiB. A call is complete by its id, and as it is published.
func TestListsOfLargeRequestsHavePreviews(t *testing.T) {
	const calls, size, bound = 8, 900_000, 1 << 20
	turns := *largeTurns
	arguments := `{"path":"notes.txt","content":"` + strings.Repeat("many words ", size/11) + `the end"}`
	w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		answer := fakemodel.Answer{Fragment: 1 << 20}
		for i := range calls {
			answer.Calls = append(answer.Calls, fakemodel.Call{ID: fmt.Sprintf("call_%d_%d", len(r.Body), i), Name: "write_file", Arguments: arguments})
		}
		return answer.Reply(r)
	}, func(c *app.Config) { c.Proxy.Memory = 4 << 30 }, embedded)
	bot := connect(t, "nats://"+w.app.NATSAddr())
	published := bot.listen("heldcall.v1.requests.>")
	var ids []string
	for i := range turns * calls {
		if turn := i / calls; i%calls == 0 {
			go func() { // the answer comes when heldcall ends
				_, _ = w.tryPost("/v1/chat/completions", wholeRequest+strings.Repeat(" ", turn), "X-Heldcall-Session", fmt.Sprint("session-", turn))
			}()
		}
		m, err := published.NextMsg(soon)
		if err != nil {
			t.Fatal(err)
		}
		var r approvals.Request
		if err := json.Unmarshal(m.Data, &r); err != nil || string(r.Arguments) != arguments || r.Details.Abridged {
			t.Fatalf("published with %d bytes of arguments, want %d (%v)", len(r.Arguments), len(arguments), err)
		}
		ids = append(ids, r.ID)
	}

	check := func(where string, text []byte, r approvals.Request) {
		t.Helper()
		if len(text) > bound || !r.Details.Abridged || string(r.Arguments) != "null" || r.ArgsPreview != "notes.txt" {
			t.Errorf("%s: %d bytes, %+v, arguments of %d bytes, preview %q", where, len(text), r.Details, len(r.Arguments), r.ArgsPreview)
		}
	}
	pages := func(where string, read func(cursor string) []byte) {
		t.Helper()
		seen, cursor := map[string]bool{}, ""
		for len(seen) < len(ids) {
			text := read(cursor)
			var page approvals.Page
			if err := json.Unmarshal(text, &page); err != nil || len(page.Items) == 0 {
				t.Fatalf("%s: %v: %.300s", where, err, text)
			}
			for _, r := range page.Items {
				seen[r.ID] = true
				check(where, text, r)
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		if len(seen) != len(ids) {
			t.Errorf("%s has %d requests, want %d", where, len(seen), len(ids))
		}
	}
	pages("GET /api/v1/requests", func(cursor string) []byte {
		return []byte(w.get(w.app.ConsoleURL() + "/api/v1/requests?status=pending&limit=500&cursor=" + cursor))
	})
	pages("requests.list", func(cursor string) []byte {
		reply, err := bot.Request("heldcall.v1.svc.requests.list", fmt.Appendf(nil, `{"status":"pending","limit":500,"cursor":%q}`, cursor), soon)
		if err != nil {
			t.Fatal(err)
		}
		return reply.Data
	})
	for range 3 {
		r, err := w.console.Request(t.Context(), ids[0])
		if err != nil || string(r.Arguments) != arguments || r.Details.Abridged {
			t.Fatalf("by its id: %d bytes of arguments, want %d (%v)", len(r.Arguments), len(arguments), err)
		}
	}
	if got := bot.ask("heldcall.v1.svc.requests.get", fmt.Sprintf(`{"id":%q}`, ids[1])); got["arguments"] == nil {
		t.Errorf("requests.get has no arguments: %.300v", got)
	}
	w.streamsAreAbridged(len(ids), check)
}

// streamsAreAbridged reads the requests that the event stream and a WebSocket bring, and
// the answers to decisions on the way.
func (w *world) streamsAreAbridged(requests int, check func(where string, text []byte, r approvals.Request)) {
	w.t.Helper()
	socket, _, err := websocket.Dial(w.t.Context(), w.app.ConsoleURL()+"/api/v1/ws", &websocket.DialOptions{Subprotocols: []string{live.Subprotocol}})
	if err != nil {
		w.t.Fatal(err)
	}
	defer socket.CloseNow()
	socket.SetReadLimit(-1)
	next := func() live.Message[live.RequestData] {
		w.t.Helper()
		_, text, err := socket.Read(w.t.Context())
		var m live.Message[live.RequestData]
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		if m.Type == live.TypeRequest || m.Type == live.TypeUpdate {
			check("WebSocket", text, m.Data.Request)
			if string(m.Data.Parameters) != "null" {
				w.t.Errorf("parameters of %d bytes", len(m.Data.Parameters))
			}
		}
		return m
	}
	first := next().Data.ID
	for range requests - 1 {
		next()
	}
	if m := next(); m.Type != live.TypeReady {
		w.t.Fatalf("%d requests and then %s", requests, m.Type)
	}
	decision := fmt.Sprintf(`{"type":"agent_tool_permission_response","id":"1","data":{"request_id":%q,"action":"modify_args","modified_args":{"path":"x"},"note":"n"}}`, first)
	if err := socket.Write(w.t.Context(), websocket.MessageText, []byte(decision)); err != nil {
		w.t.Fatal(err)
	}
	for {
		if m := next(); m.Type == live.TypeUpdate && m.ID == "1" {
			if m.Data.Status != approvals.StatusApproved || m.Data.Decisions[0].ModifiedArgs != nil {
				w.t.Errorf("decided: %s, %+v", m.Data.Status, m.Data.Decisions)
			}
			break
		}
	}
	w.batchIsAbridged(first, check)

	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.app.ConsoleURL()+"/api/v1/events?requests=true", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("Last-Event-ID", "0")
	stream, err := http.DefaultClient.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer stream.Body.Close()
	if stream.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(stream.Body)
		w.t.Fatalf("%s: %s", stream.Status, text)
	}
	lines := bufio.NewReader(stream.Body)
	seen, name, last := map[string]bool{}, "", ""
	for len(seen) < requests {
		line, err := lines.ReadString('\n')
		if err != nil {
			w.t.Fatalf("after %d requests: %v, the last event is %s\n%s", len(seen), err, last, w.log.String())
		}
		if rest, ok := strings.CutPrefix(line, "event: "); ok {
			name = strings.TrimSpace(rest)
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if ok {
			last = name + " " + data[:min(len(data), 300)]
		}
		if !ok || name != "request" {
			continue
		}
		var r approvals.Request
		if err := json.Unmarshal([]byte(data), &r); err != nil {
			w.t.Fatal(err)
		}
		check("event stream", []byte(data), r)
		seen[r.ID] = true
	}
}

// batchIsAbridged decides a request again in a batch. The error has the current request.
func (w *world) batchIsAbridged(id string, check func(where string, text []byte, r approvals.Request)) {
	w.t.Helper()
	resp, err := http.Post(w.app.ConsoleURL()+"/api/v1/decisions", "application/json", strings.NewReader(fmt.Sprintf(`{"decisions":[{"request_id":%q,"action":"deny"}]}`, id)))
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	var batch struct {
		Items []struct {
			Problem struct{ Request approvals.Request }
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &batch)
	}
	if err != nil || len(batch.Items) != 1 {
		w.t.Fatalf("%v: %.300s", err, text)
	}
	check("batch", text, batch.Items[0].Problem.Request)
}
