package fakeslack

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// answerTimeout is how long Slack waits for the answer to an interaction. The real one
// waits for three seconds; a busy machine is no reason to fail here.
const answerTimeout = 30 * time.Second

// socket is one Socket Mode connection.
type socket struct {
	conn  *websocket.Conn
	write sync.Mutex
}

// connect is the far end of Socket Mode.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }} // apps give Slack as their origin
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	one := &socket{conn: conn}
	if err := one.send(map[string]any{"type": "hello", "num_connections": 1}); err != nil {
		return
	}
	s.mu.Lock()
	s.sockets = append(s.sockets, one)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sockets = slices.DeleteFunc(s.sockets, func(other *socket) bool { return other == one })
	}()
	for {
		var ack struct {
			EnvelopeID string          `json:"envelope_id"`
			Payload    json.RawMessage `json:"payload"`
		}
		if err := conn.ReadJSON(&ack); err != nil {
			return
		}
		s.mu.Lock()
		waiting := s.answered[ack.EnvelopeID]
		s.mu.Unlock()
		if waiting != nil {
			waiting <- ack.Payload
		}
	}
}

func (s *socket) send(v any) error {
	s.write.Lock()
	defer s.write.Unlock()
	return s.conn.WriteJSON(v)
}

// Connected reports whether the app is connected over Socket Mode.
func (s *Server) Connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets) > 0
}

// disconnect breaks every connection of Socket Mode.
func (s *Server) disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sockets {
		_ = one.conn.Close()
	}
	s.sockets = nil
}

// Disconnect makes the app connect again, as Slack does every few hours.
func (s *Server) Disconnect() { s.disconnect() }

// Press is the interaction of a user who presses a button of a message.
func Press(user string, m Message, action, value string) map[string]any {
	return map[string]any{
		"type": "block_actions", "team": map[string]any{"id": "T1"}, "user": map[string]any{"id": user, "team_id": "T1"},
		"api_app_id": "A1", "trigger_id": "trigger." + rand.Text(), "channel": map[string]any{"id": m.Channel},
		"container": map[string]any{"type": "message", "message_ts": m.TS, "channel_id": m.Channel},
		"message":   map[string]any{"type": "message", "ts": m.TS, "thread_ts": m.ThreadTS, "text": m.Text},
		"actions":   []any{map[string]any{"type": "button", "action_id": action, "block_id": "b", "value": value, "action_ts": m.TS}},
	}
}

// Submit is the interaction of a user who sends a form, with the value of each of its
// parts. Commas separate the selected options of a part with several.
func Submit(user string, v View, values map[string]string) (map[string]any, error) {
	var view map[string]any
	if err := json.Unmarshal(v.View, &view); err != nil {
		return nil, err
	}
	state := map[string]any{}
	for part, value := range values {
		several := []any{}
		for _, one := range strings.Split(value, ",") {
			several = append(several, map[string]any{"value": one})
		}
		input := map[string]any{"type": "plain_text_input", "value": value}
		switch {
		case strings.HasPrefix(v.element(part), "multi_"):
			input = map[string]any{"type": "multi_static_select", "selected_options": several}
		case v.element(part) != "plain_text_input":
			input = map[string]any{"type": v.element(part), "selected_option": several[0]}
		}
		state[part] = map[string]any{"value": input}
	}
	view["id"], view["state"] = "V1", map[string]any{"values": state}
	return map[string]any{
		"type": "view_submission", "team": map[string]any{"id": "T1"}, "user": map[string]any{"id": user, "team_id": "T1"},
		"api_app_id": "A1", "view": view,
	}, nil
}

// OverSocket hands an interaction to the app over Socket Mode, and returns what it
// answers.
func (s *Server) OverSocket(interaction map[string]any) (json.RawMessage, error) {
	envelope := rand.Text()
	answer := make(chan json.RawMessage, 1)
	s.mu.Lock()
	if len(s.sockets) == 0 {
		s.mu.Unlock()
		return nil, errors.New("the app is not connected")
	}
	one := s.sockets[len(s.sockets)-1]
	s.answered[envelope] = answer
	s.mu.Unlock()
	err := one.send(map[string]any{"type": "interactive", "envelope_id": envelope, "accepts_response_payload": true, "payload": interaction})
	if err != nil {
		return nil, err
	}
	select {
	case payload := <-answer:
		return payload, nil
	case <-time.After(answerTimeout):
		return nil, errors.New("the app does not answer")
	}
}

// Signed is an interaction as Slack posts it, signed at a time.
func Signed(target, secret string, interaction map[string]any, at time.Time) (*http.Request, error) {
	payload, err := json.Marshal(interaction)
	if err != nil {
		return nil, err
	}
	body := url.Values{"payload": {string(payload)}}.Encode()
	req, err := http.NewRequest(http.MethodPost, target, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "v0:%s:%s", stamp, body)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("X-Slack-Request-Timestamp", stamp)
	req.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	return req, nil
}

// OverHTTP posts an interaction to the app, signed now, and returns what it answers.
func OverHTTP(target, secret string, interaction map[string]any) (status int, body json.RawMessage, err error) {
	req, err := Signed(target, secret, interaction, time.Now())
	if err != nil {
		return 0, nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// Buttons are the buttons of a message for a request, by action.
func (m Message) Buttons(request string) []string {
	var blocks []block
	if json.Unmarshal(m.Blocks, &blocks) != nil {
		return nil
	}
	var actions []string
	for _, b := range blocks {
		for _, e := range b.Elements {
			if e.Type == "button" && e.Value == request {
				actions = append(actions, e.ActionID)
			}
		}
	}
	return actions
}

// Shown is all the text that a message shows.
func (m Message) Shown() string {
	var blocks []block
	if json.Unmarshal(m.Blocks, &blocks) != nil {
		return m.Text
	}
	all := m.Text
	for _, b := range blocks {
		if b.Text != nil {
			all += "\n" + b.Text.Text
		}
		for _, e := range b.Elements {
			var plain string
			if json.Unmarshal(e.Text, &plain) == nil {
				all += "\n" + plain
			}
		}
	}
	return all
}
