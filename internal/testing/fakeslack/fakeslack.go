// Package fakeslack is a Slack for bots in tests: the methods of the Web API
// that heldcall calls, with their limits and errors, Socket Mode, and signed
// interactions. Tests and the bench post to it, look at what people would see, and
// press buttons as they would.
package fakeslack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Answer is how the server answers a call out of turn; the zero value: as Slack does.
type Answer struct {
	Status     int           // of HTTP, without a body; 0: 200
	RetryAfter time.Duration // with Status 429
	Error      string        // Slack's own word, with status 200
	Hang       bool          // until the caller gives up
	Lose       bool          // do the request, then break the connection
}

// Server is a workspace with one app.
type Server struct {
	http *httptest.Server

	mu         sync.Mutex
	messages   []*Message
	ephemerals []Ephemeral
	views      []View
	users      map[string]User
	calls      []Call
	clock      int64
	answer     func(method string) Answer
	sockets    []*socket
	answered   map[string]chan json.RawMessage // by envelope
	done       chan struct{}
}

// Message is a message in a conversation.
type Message struct {
	Channel, TS, ThreadTS string
	Broadcast             bool
	Text                  string
	Blocks                json.RawMessage
	Metadata              json.RawMessage
	Edits                 int
}

// Ephemeral is a message to one person alone.
type Ephemeral struct{ Channel, User, Text string }

// View is a modal that was opened for somebody.
type View struct {
	Trigger string
	View    json.RawMessage
}

// User is an account.
type User struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
	IsBot   bool   `json:"is_bot"`
}

// Call is one call of the Web API.
type Call struct {
	Method string
	At     time.Time
	Body   string
}

// New starts a workspace in which there is every user, active, until [Server.SetUser].
func New() *Server {
	s := &Server{users: map[string]User{}, answered: map[string]chan json.RawMessage{}, done: make(chan struct{}), clock: time.Now().Unix()}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/{method}", s.call)
	mux.HandleFunc("GET /socket", s.connect)
	s.http = httptest.NewServer(mux)
	return s
}

// Close ends the workspace and every connection to it.
func (s *Server) Close() {
	close(s.done)
	s.disconnect()
	s.http.CloseClientConnections()
	s.http.Close()
}

// URL is where the Web API is.
func (s *Server) URL() string { return s.http.URL + "/api/" }

// Answers sets how calls are answered from now on; nil: as Slack does.
func (s *Server) Answers(answer func(method string) Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// SetUser changes an account.
func (s *Server) SetUser(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[u.ID] = u
}

// Messages are all messages of conversations, oldest first.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Message, len(s.messages))
	for i, m := range s.messages {
		all[i] = *m
	}
	return all
}

// Ephemerals are the messages to single people.
func (s *Server) Ephemerals() []Ephemeral {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Ephemeral(nil), s.ephemerals...)
}

// Views are the modals that were opened.
func (s *Server) Views() []View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]View(nil), s.views...)
}

// Calls are all calls of the Web API, those that were refused included.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Bodies are the bodies of all calls.
func (s *Server) Bodies() []string {
	calls := s.Calls()
	bodies := make([]string, len(calls))
	for i := range calls {
		bodies[i] = calls[i].Body
	}
	return bodies
}

// call answers one call of the Web API. Bodies are forms, or JSON.
func (s *Server) call(w http.ResponseWriter, r *http.Request) {
	method := r.PathValue("method")
	fields, body, err := fieldsOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.calls = append(s.calls, Call{method, time.Now(), body})
	var a Answer
	if s.answer != nil {
		a = s.answer(method)
	}
	s.mu.Unlock()
	switch {
	case a.Hang:
		select {
		case <-r.Context().Done():
		case <-s.done:
		}
		return
	case a.Status != 0:
		if a.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(a.RetryAfter/time.Second)))
		}
		w.WriteHeader(a.Status)
		return
	}
	answer := map[string]any{"ok": false, "error": a.Error}
	if a.Error == "" {
		answer = s.do(method, r, fields)
	}
	if a.Lose {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(answer) // fails only if the caller is gone
}

// fieldsOf are the arguments of a call.
func fieldsOf(r *http.Request) (fields map[string]string, body string, err error) {
	fields = map[string]string{}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		var values map[string]json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&values); err != nil && !errors.Is(err, io.EOF) {
			return nil, "", err
		}
		for name, value := range values {
			var text string
			if json.Unmarshal(value, &text) != nil {
				text = string(value)
			}
			fields[name] = text
			body += name + "=" + text + "\n"
		}
		return fields, body, nil
	}
	if err := r.ParseForm(); err != nil {
		return nil, "", err
	}
	for name := range r.PostForm {
		fields[name] = r.PostForm.Get(name)
		body += name + "=" + fields[name] + "\n"
	}
	return fields, body, nil
}

// refused is an answer with Slack's word for an error.
func refused(why string) map[string]any { return map[string]any{"ok": false, "error": why} }

// do is what the methods do.
func (s *Server) do(method string, r *http.Request, fields map[string]string) map[string]any {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if token == "" {
		token = fields["token"]
	}
	wants := "xoxb-"
	if method == "apps.connections.open" {
		wants = "xapp-"
	}
	if !strings.HasPrefix(token, wants) {
		return refused("invalid_auth")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch method {
	case "auth.test":
		return map[string]any{"ok": true, "team_id": "T1", "user_id": "UBOT", "bot_id": "BBOT"}
	case "chat.postMessage":
		return s.post(fields)
	case "chat.update":
		return s.update(fields)
	case "chat.postEphemeral":
		s.ephemerals = append(s.ephemerals, Ephemeral{fields["channel"], fields["user"], fields["text"]})
		return map[string]any{"ok": true, "message_ts": s.tick()}
	case "conversations.history":
		return s.history(fields)
	case "users.info":
		u, known := s.users[fields["user"]]
		if !known {
			u = User{ID: fields["user"]}
		}
		return map[string]any{"ok": true, "user": u}
	case "views.open":
		if fields["trigger_id"] == "" {
			return refused("invalid_trigger_id")
		}
		view := View{fields["trigger_id"], json.RawMessage(fields["view"])}
		if !view.fits() {
			return refused("invalid_arguments")
		}
		s.views = append(s.views, view)
		return map[string]any{"ok": true, "view": json.RawMessage(fields["view"])}
	case "apps.connections.open":
		return map[string]any{"ok": true, "url": "ws" + strings.TrimPrefix(s.http.URL, "http") + "/socket"}
	}
	return refused("unknown_method")
}

// tick makes the name of a message. The caller holds s.mu.
func (s *Server) tick() string {
	s.clock++
	return fmt.Sprintf("%d.%06d", time.Now().Unix(), s.clock%1_000_000)
}

// post is chat.postMessage. A name of a conversation is answered with its id.
func (s *Server) post(fields map[string]string) map[string]any {
	if why := wrong(fields); why != "" {
		return refused(why)
	}
	m := &Message{
		Channel: strings.ToUpper(strings.TrimPrefix(fields["channel"], "#")), TS: s.tick(), ThreadTS: fields["thread_ts"],
		Broadcast: fields["reply_broadcast"] == "true", Text: fields["text"],
		Blocks: json.RawMessage(fields["blocks"]), Metadata: json.RawMessage(fields["metadata"]),
	}
	s.messages = append(s.messages, m)
	return map[string]any{"ok": true, "channel": m.Channel, "ts": m.TS}
}

// update is chat.update.
func (s *Server) update(fields map[string]string) map[string]any {
	if why := wrong(fields); why != "" {
		return refused(why)
	}
	for _, m := range s.messages {
		if m.Channel == fields["channel"] && m.TS == fields["ts"] {
			m.Text, m.Blocks = fields["text"], json.RawMessage(fields["blocks"])
			m.Edits++
			return map[string]any{"ok": true, "channel": m.Channel, "ts": m.TS, "text": m.Text}
		}
	}
	return refused("message_not_found")
}

// history is conversations.history: the messages of a conversation itself.
func (s *Server) history(fields map[string]string) map[string]any {
	oldest, _ := strconv.ParseFloat(fields["oldest"], 64)
	found := []map[string]any{}
	for _, m := range s.messages {
		at, _ := strconv.ParseFloat(m.TS, 64)
		if m.Channel != fields["channel"] || at < oldest || (m.ThreadTS != "" && !m.Broadcast) {
			continue
		}
		one := map[string]any{"type": "message", "ts": m.TS, "text": m.Text}
		if len(m.Metadata) > 0 && fields["include_all_metadata"] != "" {
			one["metadata"] = m.Metadata
		}
		found = append(found, one)
	}
	return map[string]any{"ok": true, "messages": found, "has_more": false}
}
