// Package hooks hides the forms in which clients ask their own hooks about a call that they are about to run, and in
// which they take the answer: one table, with a row for each client. It does no I/O. What a client does when its hook
// fails differs, and most run the call: so each form has a denial that the client cannot take for anything else.
//
// Read forms.go (the table), hooks.go (the event), then answer.go (the answers as bodies of HTTP, and as the output of a
// command), decision.go (the answer to heldcall's own command) and wire.go.
package hooks

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/intercept"
)

// MaxBody is the largest event that is read, in bytes.
const MaxBody = 8 << 20

// maxName bounds the names of a session, a call and a tool.
const maxName = 512

// Form is how one client asks and is answered.
type Form struct {
	Client string
	// Agents are the profiles with the names of the client's tools, and Tools those that its hooks name otherwise.
	Agents, Tools []string
	// Patience is how long the client waits for a hook whose time-out is not set.
	Patience time.Duration
	// Event is the only event that is answered, as the client names it.
	Event  string
	render func(*Event, Answer) output
}

// Answer is what a client is to do with a call.
type Answer struct {
	Allow     bool
	Arguments string // with which it runs, "" for those that it has
	Reason    string // for the model, where it does not run
}

// Output is what a command writes, and how it ends.
type Output struct {
	Stdout, Stderr []byte
	Exit           int
}

// output is an answer as a client takes it.
type output struct {
	body []byte // on standard output, or as the body of HTTP
	Output
}

// margin is how long before the client's own end the answer is there.
const margin = 10 * time.Second

// Timeout returns after how long a hook answers that is not told how long its client waits.
func (f *Form) Timeout() time.Duration { return f.Patience - margin }

// Event is a call that a client is about to run.
type Event struct {
	Session string // as the client names it
	Call    intercept.Call
	Model   string // "" where the client does not name it

	patched bool // Call.Arguments is the patch in the field command of the input
	input   jsontext.Value
}

// payload has the fields that are read, of all clients. Clients add others.
type payload struct {
	Event        string         `json:"hook_event_name"`
	Session      string         `json:"session_id"`
	Conversation string         `json:"conversation_id"` // of Cursor
	Tool         string         `json:"tool_name"`
	Input        jsontext.Value `json:"tool_input"`
	ID           string         `json:"tool_use_id"`
	Model        string         `json:"model"`

	CopilotSession string         `json:"sessionId"`
	CopilotTool    string         `json:"toolName"`
	CopilotInput   jsontext.Value `json:"toolArgs"`
}

// Read reads the event of a client. It fails if the client, or another reader, could read the event in another way, and
// for an event that is not about a call before it runs.
func (f *Form) Read(body []byte) (*Event, error) {
	if len(body) > MaxBody {
		return nil, fmt.Errorf("the hook's input has more than %d bytes", MaxBody)
	}
	var p payload
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, fmt.Errorf("the hook's input is not the JSON of %s: %w", f.Client, cut(err))
	}
	if f.Client == "copilot" && p.Event == "" && p.CopilotTool != "" {
		p.Event, p.Session, p.Tool, p.Input = f.Event, p.CopilotSession, p.CopilotTool, p.CopilotInput
	}
	if p.Event != f.Event {
		return nil, fmt.Errorf("the hook's input is about the event %q; this hook answers %s only, so configure it there", shown(p.Event), f.Event)
	}
	if f.Client == "cursor" {
		p.Session = cmp.Or(p.Session, p.Conversation)
	}
	e := &Event{Session: p.Session, Model: p.Model, Call: intercept.Call{ID: p.ID, Name: p.Tool}}
	if err := errors.Join(named("session", p.Session), named("tool", p.Tool)); err != nil {
		return nil, err
	}
	if p.ID != "" {
		if err := named("call", p.ID); err != nil {
			return nil, err
		}
	}
	return e, e.read(f, p.Input)
}

// cut is an error whose text quotes no long part of the input.
func cut(err error) error { return errors.New(shown(err.Error())) }

func shown(text string) string {
	text = strings.ToValidUTF8(text, "")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return text
}

// named checks a name in an event.
func named(of, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the hook's input names no %s", of)
	case len(name) > maxName, strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("the hook's input has a name of the %s that is longer than %d bytes or has control characters", of, maxName)
	}
	return nil
}

// read reads the arguments of the call.
func (e *Event) read(f *Form, input jsontext.Value) error {
	if f.Client == "copilot" && input.Kind() == '"' { // the object as a text
		text, err := jsontext.AppendUnquote(nil, input)
		if err != nil {
			return fmt.Errorf("read the arguments of %s: %w", e.Call.Name, cut(err))
		}
		input = text
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(input, &members); err != nil || members == nil {
		return fmt.Errorf("the arguments of %s are not a JSON object", shown(e.Call.Name))
	}
	e.input, e.Call.Arguments = input, string(input)
	if patch := members[patchField]; f.Client == "codex" && e.Call.Name == patchTool && len(members) == 1 && patch.Kind() == '"' { // as on the wire
		text, err := jsontext.AppendUnquote(nil, patch)
		if err != nil {
			return fmt.Errorf("read the patch: %w", cut(err))
		}
		e.Call.Arguments, e.Call.FreeText, e.patched = string(text), true, true
	}
	return nil
}

// patchTool is the tool of Codex whose input on the wire is a patch, and in a hook an object with it.
const (
	patchTool  = "apply_patch"
	patchField = "command"
)
