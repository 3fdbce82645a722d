// Package fakesocket is a scripted model API with Responses over WebSocket. Each message response.create is a
// request to a [fakemodel.Server]; its events go out as text messages. With store: false a connection keeps its
// own responses, and knows none of others.
package fakesocket

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// Server is a model API. Its methods are safe for concurrent use.
type Server struct {
	// Refuse answers the handshake in place of a WebSocket. Set it before the first request; nil: none is refused.
	Refuse http.HandlerFunc

	model  string // URL of the model behind
	server *httptest.Server

	mu       sync.Mutex
	sockets  []*websocket.Conn
	messages []string // of agents
	sent     []string // to agents
	heads    []http.Header
}

// Start starts a server for a model at a base URL that ends in /v1.
func Start(model string) (*Server, error) {
	s := &Server{model: model}
	base, err := url.Parse(strings.TrimSuffix(model, "/v1"))
	if err != nil {
		return nil, fmt.Errorf("the address of the model: %w", err)
	}
	pass := httputil.NewSingleHostReverseProxy(base)
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Upgrade") == "":
			pass.ServeHTTP(w, r)
		case s.Refuse != nil:
			s.Refuse(w, r)
		default:
			s.serve(w, r)
		}
	}))
	return s, nil
}

// URL is the base URL, which ends in /v1.
func (s *Server) URL() string { return s.server.URL + "/v1" }

// Close ends all connections.
func (s *Server) Close() {
	s.CutAll()
	s.server.Close()
}

// CutAll ends the WebSockets that are open.
func (s *Server) CutAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sockets {
		_ = c.CloseNow()
	}
	s.sockets = nil
}

// Messages are those that arrived, in their order.
func (s *Server) Messages() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.messages...)
}

// Sent are the messages to agents, in their order.
func (s *Server) Sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.sent...)
}

// Heads are the headers of the handshakes, in their order.
func (s *Server) Heads() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]http.Header(nil), s.heads...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Models-Etag", "etag-1")
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, Subprotocols: []string{"openai-beta.responses.v1"}})
	if err != nil {
		return
	}
	conn.SetReadLimit(64 << 20)
	s.mu.Lock()
	s.sockets, s.heads = append(s.sockets, conn), append(s.heads, r.Header)
	s.mu.Unlock()
	c := &connection{server: s, conn: conn, header: r.Header, known: map[string]bool{}, warm: map[string]string{}, lanes: map[string]chan string{}}
	c.run(r.Context())
}

// connection is one WebSocket.
type connection struct {
	server *Server
	conn   *websocket.Conn
	header http.Header

	mu    sync.Mutex
	known map[string]bool   // responses of the connection
	warm  map[string]string // the inputs of those that the model was not to answer (generate: false)
	lanes map[string]chan string
}

func (c *connection) run(ctx context.Context) {
	var running sync.WaitGroup
	defer func() {
		for _, lane := range c.lanes {
			close(lane)
		}
		running.Wait()
		_ = c.conn.CloseNow()
	}()
	for {
		_, raw, err := c.conn.Read(ctx)
		if err != nil {
			return
		}
		message := string(raw)
		c.server.mu.Lock()
		c.server.messages = append(c.server.messages, message)
		c.server.mu.Unlock()
		id := gjson.Get(message, "stream_id").Str
		lane, found := c.lanes[id]
		if !found {
			lane = make(chan string, 100)
			c.lanes[id] = lane
			running.Go(func() {
				for message := range lane {
					c.answer(ctx, id, message)
				}
			})
		}
		lane <- message
	}
}

// answer answers a message with the events of the model's answer.
func (c *connection) answer(ctx context.Context, lane, message string) {
	previous := gjson.Get(message, "previous_response_id").Str
	unstored := gjson.Get(message, "store").Raw == "false"
	c.mu.Lock()
	known := c.known[previous]
	c.mu.Unlock()
	if unstored && previous != "" && !known {
		c.send(ctx, lane, fmt.Sprintf(`{"type":"error","status":400,"error":{"type":"invalid_request_error","code":"previous_response_not_found","message":"Previous response with id '%s' not found.","param":"previous_response_id"}}`, previous))
		return
	}
	if gjson.Get(message, "generate").Raw == "false" {
		c.warmUp(ctx, lane, message)
		return
	}
	body := c.afterWarmUp(message)
	for _, name := range []string{"type", "stream_id", "store"} {
		body, _ = sjson.Delete(body, name)
	}
	body, _ = sjson.Set(body, "stream", true)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server.model+"/responses", strings.NewReader(body))
	if err != nil {
		return
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", c.header.Get("Authorization"))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		refusal, _ := io.ReadAll(answer.Body)
		c.send(ctx, lane, fmt.Sprintf(`{"type":"error","status":%d,"error":%s}`, answer.StatusCode, gjson.GetBytes(refusal, "error").Raw))
		return
	}
	lines := bufio.NewReader(answer.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if data, found := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: ")); found {
			if id := gjson.GetBytes(data, "response.id").Str; id != "" {
				c.mu.Lock()
				c.known[id] = true
				c.mu.Unlock()
			}
			event := string(data)
			if unstored && gjson.Get(event, "response.store").Exists() {
				event, _ = sjson.Set(event, "response.store", false)
			}
			c.send(ctx, lane, event)
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			_ = c.conn.CloseNow()
			return
		}
	}
}

// warmUp keeps an input for the next request, without an answer of the model.
func (c *connection) warmUp(ctx context.Context, lane, message string) {
	c.mu.Lock()
	id := fmt.Sprintf("resp_warm_%d", len(c.warm))
	c.known[id], c.warm[id] = true, gjson.Get(message, "input").Raw
	c.mu.Unlock()
	for i, kind := range []string{"response.created", "response.completed"} {
		status := []string{"in_progress", "completed"}[i]
		c.send(ctx, lane, fmt.Sprintf(`{"type":%q,"sequence_number":%d,"response":{"id":%q,"object":"response","created_at":1763712000,"status":%q,"error":null,"incomplete_details":null,"model":"m","output":[],"store":false,"usage":null}}`, kind, i, id, status))
	}
}

// afterWarmUp is a request with the input that was kept for it.
func (c *connection) afterWarmUp(message string) string {
	c.mu.Lock()
	before, found := c.warm[gjson.Get(message, "previous_response_id").Str]
	c.mu.Unlock()
	if !found {
		return message
	}
	var items []string
	for _, list := range []string{before, gjson.Get(message, "input").Raw} {
		for _, item := range gjson.Parse(list).Array() {
			items = append(items, item.Raw)
		}
	}
	input := "[" + strings.Join(items, ",") + "]"
	message, _ = sjson.SetRaw(message, "input", input)
	message, _ = sjson.Delete(message, "previous_response_id")
	return message
}

func (c *connection) send(ctx context.Context, lane, event string) {
	if lane != "" {
		event, _ = sjson.Set(event, "stream_id", lane)
	}
	c.server.mu.Lock()
	c.server.sent = append(c.server.sent, event)
	c.server.mu.Unlock()
	_ = c.conn.Write(ctx, websocket.MessageText, []byte(event))
}
