package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

const (
	maxRounds = 10       // answers to one question
	maxEvent  = 16 << 20 // bytes
)

// Agent talks to the model at a base URL, as any agent does, and runs the calls
// it gets. It knows nothing of heldcall. It is used by one goroutine.
type Agent struct {
	// History is the conversation as the agent knows it.
	History []fakemodel.Message
	// Replies are the answers as the agent received them.
	Replies []Reply

	base    string
	session string
	tools   *toolbox
	tell    Tell
	http    *http.Client
}

// Reply is one answer as the agent received it.
type Reply struct {
	IDs      []string // of the completion, each that occurs once
	Roles    int      // number of times the role was sent
	Finishes []string // every finish reason
	Text     string
	Calls    []fakemodel.Call
	Raw      []byte
}

// NewAgent makes an agent with a project of its own. session names the
// conversation. The agent passes what it receives and does to tell.
func (s *Stage) NewAgent(session string, tell Tell) (*Agent, error) {
	folder, err := os.MkdirTemp(s.Folder, "project-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the agent: %w", err)
	}
	tools, err := newToolbox(folder)
	if err != nil {
		return nil, err
	}
	return &Agent{base: s.Proxy, session: session, tools: tools, tell: tell, http: &http.Client{Transport: &http.Transport{}}}, nil
}

// Folder is where the agent's tools work.
func (a *Agent) Folder() string { return a.tools.root.Name() }

// Files are the files in the agent's folder.
func (a *Agent) Files() []string { return a.tools.files() }

// Close ends the agent's connections.
func (a *Agent) Close() error {
	a.http.CloseIdleConnections()
	return a.tools.root.Close()
}

// Ask sends the model a user message and runs its calls until it makes none.
func (a *Agent) Ask(ctx context.Context, text string) error {
	a.tell(Line{User, text})
	a.History = append(a.History, fakemodel.Message{Role: "user", Content: text})
	for range maxRounds {
		reply, err := a.complete(ctx)
		if err != nil {
			return fmt.Errorf("the agent asked the model: %w", err)
		}
		a.Replies = append(a.Replies, reply)
		a.History = append(a.History, fakemodel.Message{Role: "assistant", Content: reply.Text, Calls: reply.Calls})
		if len(reply.Calls) == 0 {
			return nil
		}
		for _, call := range reply.Calls {
			result := a.tools.run(call.Name, call.Arguments)
			a.tell(Line{AgentRuns, describe(call)})
			a.tell(Line{ToolResult, result})
			a.History = append(a.History, fakemodel.Message{Role: "tool", ToolCallID: call.ID, Content: result})
		}
	}
	return fmt.Errorf("the model made calls %d times in a row", maxRounds)
}

// complete sends the conversation and reads the streamed answer.
func (a *Agent) complete(ctx context.Context) (Reply, error) {
	body, err := json.Marshal(map[string]any{
		"model": "scripted", "stream": true, "tools": json.RawMessage(toolDefinitions), "messages": wireMessages(a.History),
	})
	if err != nil {
		return Reply{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return Reply{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Heldcall-Session", a.session)
	response, err := a.http.Do(request)
	if err != nil {
		return Reply{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
		return Reply{}, fmt.Errorf("%s: %s", response.Status, text)
	}
	return a.read(response.Body)
}

// read follows a streamed answer to its end.
func (a *Agent) read(body io.Reader) (Reply, error) {
	var reply Reply
	splitter := sse.Splitter{Max: maxEvent}
	block := make([]byte, 4<<10)
	for {
		n, readErr := body.Read(block)
		reply.Raw = append(reply.Raw, block[:n]...)
		splitter.Write(block[:n])
		for {
			part, ok, err := splitter.Next()
			if err != nil {
				return reply, err
			}
			if !ok {
				break
			}
			event := sse.Parse(part)
			switch data := event.Joined(); {
			case len(data) == 0: // a comment
			case string(data) == "[DONE]":
				return reply, nil
			default:
				if err := reply.add(data, a.tell); err != nil {
					return reply, err
				}
			}
		}
		if errors.Is(readErr, io.EOF) {
			return reply, io.ErrUnexpectedEOF
		}
		if readErr != nil {
			return reply, readErr
		}
	}
}

// chunk is one event of a streamed answer.
type chunk struct {
	ID      string `json:"id"`
	Choices []struct {
		Delta struct {
			Role      string `json:"role"`
			Content   string `json:"content"`
			ToolCalls []struct {
				Index    int    `json:"index"`
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// add adds one event to the reply. It passes each complete line of text to tell at once.
func (r *Reply) add(data []byte, tell Tell) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("an event that is no chunk: %w", err)
	}
	if c.Error != nil {
		return errors.New(c.Error.Message)
	}
	if !slices.Contains(r.IDs, c.ID) {
		r.IDs = append(r.IDs, c.ID)
	}
	for _, choice := range c.Choices {
		if choice.Delta.Role != "" {
			r.Roles++
		}
		if choice.FinishReason != "" {
			r.Finishes = append(r.Finishes, choice.FinishReason)
		}
		r.addText(choice.Delta.Content, tell)
		for _, d := range choice.Delta.ToolCalls {
			if d.Index == len(r.Calls) {
				r.Calls = append(r.Calls, fakemodel.Call{ID: d.ID, Name: d.Function.Name})
			}
			if d.Index < 0 || d.Index >= len(r.Calls) {
				return fmt.Errorf("call number %d comes when there are %d", d.Index, len(r.Calls))
			}
			r.Calls[d.Index].Arguments += d.Function.Arguments
		}
	}
	return nil
}

func (r *Reply) addText(text string, tell Tell) {
	begin := strings.LastIndexByte(r.Text, '\n') + 1
	r.Text += text
	for {
		line, _, complete := strings.Cut(r.Text[begin:], "\n")
		if !complete {
			return
		}
		if line != "" {
			tell(Line{Model, line})
		}
		begin += len(line) + 1
	}
}

// wireMessages writes a conversation as Chat Completions has it.
func wireMessages(messages []fakemodel.Message) (wire []map[string]any) {
	for _, m := range messages {
		w := map[string]any{"role": m.Role, "content": m.Content}
		var calls []any
		for _, c := range m.Calls {
			calls = append(calls, map[string]any{
				"id": c.ID, "type": "function",
				"function": map[string]any{"name": c.Name, "arguments": c.Arguments},
			})
		}
		if calls != nil {
			w["tool_calls"] = calls
		}
		if m.ToolCallID != "" {
			w["tool_call_id"] = m.ToolCallID
		}
		wire = append(wire, w)
	}
	return wire
}
