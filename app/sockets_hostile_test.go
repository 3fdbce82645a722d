package app_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
	"golang.org/x/sync/errgroup"
)

// hostileSockets is how many connections TestPromise1_NoLeak_HostileWebSockets opens.
const hostileSockets = 500

// A model API that breaks every rule of the wire brings no call past the gate.
func TestPromise1_NoLeak_HostileWebSockets(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		if _, _, err := conn.Read(r.Context()); err != nil {
			return
		}
		var seed uint64
		_, _ = fmt.Sscan(r.Header.Get("X-Seed"), &seed)
		for _, m := range hostileAnswer(rand.New(rand.NewPCG(seed, 1))) {
			kind := websocket.MessageText
			if m.binary {
				kind = websocket.MessageBinary
			}
			if conn.Write(r.Context(), kind, []byte(m.text)) != nil {
				return
			}
		}
	}))
	t.Cleanup(api.Close)
	w := &socketWorld{world: build(t, askAll, func(*fakemodel.Request) fakemodel.Reply { return fakemodel.Reply{} }, func(c *app.Config) {
		c.Proxy.Upstreams[0].URL = api.URL + "/v1"
	})}
	var running errgroup.Group
	running.SetLimit(16)
	for seed := range hostileSockets {
		running.Go(func() error {
			a := w.connect("X-Seed", fmt.Sprint(seed))
			defer a.conn.CloseNow()
			a.create(userInput(fmt.Sprintf("do it %d", seed)), "")
			for _, m := range a.drain(200 * time.Millisecond) {
				if strings.Contains(m, "sesame") || strings.Contains(m, `\u0065same`) {
					return fmt.Errorf("seed %d: a call has left: %s", seed, m)
				}
			}
			return nil
		})
	}
	if err := running.Wait(); err != nil {
		t.Error(err)
	}
	if page, err := w.console.Requests(t.Context(), approvals.Filter{}); err != nil || len(page.Items) == 0 {
		t.Errorf("people were asked about no call (%v)", err)
	}
}

// drain reads for some time, or until the answer or the connection ends.
func (a *socketAgent) drain(within time.Duration) (messages []string) {
	ctx, cancel := context.WithTimeout(a.t.Context(), within)
	defer cancel()
	for {
		_, m, err := a.conn.Read(ctx)
		if err != nil {
			return messages
		}
		messages = append(messages, string(m))
		switch gjson.GetBytes(m, "type").Str {
		case "response.completed", "response.failed", "response.incomplete", "error":
			return messages
		}
	}
}

type hostileMessage struct {
	text   string
	binary bool
}

// hostileAnswer is an answer with a call whose messages are broken in some way.
func hostileAnswer(random *rand.Rand) (answer []hostileMessage) {
	for i, event := range fakemodelEvents() {
		m := hostileMessage{text: event}
		switch random.IntN(60) {
		case 0: // a name twice
			m.text = strings.Replace(m.text, `"type":`, `"type":"response.created","type":`, 1)
		case 1:
			m.text = strings.TrimSuffix(m.text, "}") + `,"stream_id":"other"}`
		case 2:
			m.text = strings.TrimSuffix(m.text, "}") + `,"stream_id":"","stream_id":"other"}`
		case 3:
			m.binary = true
		case 4:
			m.text = m.text + "\n" + m.text
		case 5:
			m.text = "data: " + m.text + "\n\n"
		case 6:
			m.text = m.text[:random.IntN(len(m.text))]
		case 7:
			m.text = strings.Replace(m.text, "sesame", `s\u0065same`, 1)
		case 8:
			m.text = strings.Replace(m.text, `"function_call"`, `"function_cal\u006c"`, 1)
		case 9:
			m.text = strings.ReplaceAll(m.text, ",", ",\r\n\r\n")
		case 10: // another order
			if i > 0 {
				m.text, answer[i-1].text = answer[i-1].text, m.text
			}
		}
		answer = append(answer, m)
	}
	return answer
}

// fakemodelEvents are the events of an answer with a call.
func fakemodelEvents() (events []string) {
	stream := list("call_sesame1Xk9Vr3", sesame).ResponsesStream([]byte(`{"model":"m","stream":true,"input":"x"}`))
	for line := range strings.Lines(string(stream.Bytes())) {
		if data, found := strings.CutPrefix(strings.TrimSpace(line), "data: "); found {
			events = append(events, data)
		}
	}
	return events
}
