package hooks

import (
	"cmp"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// blocked is the exit code with which clients do not run a call.
const blocked = 2

// noReason is the reason of a denial that has none: some clients run a call that was denied without one.
const noReason = "heldcall did not allow this call. It has not run."

// Body returns the answer to an event as the body of an answer over HTTP. A denial needs no event: nil is one that could
// not be read.
func (f *Form) Body(e *Event, a Answer) []byte { return f.answer(e, a).body }

// Output returns the answer to an event as the output of a command. A denial needs no event: nil is one that could not be
// read.
func (f *Form) Output(e *Event, a Answer) Output { return f.answer(e, a).Output }

func (f *Form) answer(e *Event, a Answer) output {
	if a.Allow && e == nil {
		a = Answer{Reason: noReason}
	}
	if a.Allow && a.Arguments != "" {
		if reason := e.unchangeable(f, a.Arguments); reason != "" {
			a = Answer{Reason: reason}
		}
	}
	if !a.Allow {
		a = Answer{Reason: cmp.Or(a.Reason, noReason)}
	}
	return f.render(e, a)
}

// unchangeable returns why the client cannot run the call with other arguments, "" if it can.
func (e *Event) unchangeable(f *Form, arguments string) string {
	reason := fmt.Sprintf("The arguments of this call of %s were changed, and %s cannot take the change from a hook. It has not run. Call it again with exactly these arguments: %s", e.Call.Name, f.Client, arguments)
	var before, after map[string]jsontext.Value
	if e.patched {
		return ""
	}
	if json.Unmarshal(e.input, &before) != nil || json.Unmarshal([]byte(arguments), &after) != nil || after == nil {
		return reason
	}
	if f.Client != "gemini" { // the others replace all arguments
		return ""
	}
	for name, value := range before {
		if changed, stays := after[name]; !stays || (value.Kind() == '{' && string(changed) != string(value)) {
			return reason // Gemini CLI merges the two
		}
	}
	return ""
}

// updated returns the arguments in the form of the client's input.
func (e *Event) updated(arguments string) jsontext.Value {
	if !e.patched {
		return jsontext.Value(arguments)
	}
	text, err := json.Marshal(map[string]string{patchField: arguments})
	if err != nil { // it has invalid UTF-8
		return e.input
	}
	return text
}

// encoded encodes a value that consists of texts and valid JSON.
func encoded(v any) []byte {
	text, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		panic("internal error: the answer to a hook cannot be encoded: " + err.Error())
	}
	return append(text, '\n')
}

// printed is an answer that is JSON on standard output, in all cases.
func printed(v any) output {
	body := encoded(v)
	return output{body, Output{Stdout: body}}
}

// members are those of a JSON object.
type members = map[string]any

func (e *Event) claudeCode(a Answer) output {
	decision := members{"hookEventName": "PreToolUse", "permissionDecision": "deny"}
	if a.Allow {
		decision["permissionDecision"] = "allow"
		if a.Arguments != "" {
			decision["updatedInput"] = e.updated(a.Arguments)
		}
	} else {
		decision["permissionDecisionReason"] = a.Reason
	}
	o := printed(members{"hookSpecificOutput": decision})
	if e == nil { // perhaps of another event, which only the exit code blocks
		o.Output = Output{Stderr: []byte(a.Reason + "\n"), Exit: blocked}
	}
	return o
}

// codex takes nothing for an allowed call, and runs a call after an output that it does not understand.
func (e *Event) codex(a Answer) output {
	decision := members{"hookEventName": "PreToolUse"}
	switch {
	case !a.Allow:
		decision["permissionDecision"], decision["permissionDecisionReason"] = "deny", a.Reason
		return output{encoded(members{"hookSpecificOutput": decision}), Output{Stderr: []byte(a.Reason + "\n"), Exit: blocked}}
	case a.Arguments == "":
		return output{}
	}
	decision["permissionDecision"], decision["updatedInput"] = "allow", e.updated(a.Arguments)
	return printed(members{"hookSpecificOutput": decision})
}

func (e *Event) copilot(a Answer) output {
	switch {
	case !a.Allow:
		return printed(members{"permissionDecision": "deny", "permissionDecisionReason": a.Reason})
	case a.Arguments == "":
		return printed(members{"permissionDecision": "allow"})
	}
	return printed(members{"permissionDecision": "allow", "modifiedArgs": e.updated(a.Arguments)})
}

func (e *Event) cursor(a Answer) output {
	switch {
	case !a.Allow:
		return printed(members{"permission": "deny", "user_message": a.Reason, "agent_message": a.Reason})
	case a.Arguments == "":
		return printed(members{"permission": "allow"})
	}
	return printed(members{"permission": "allow", "updated_input": e.updated(a.Arguments)})
}

func (e *Event) gemini(a Answer) output {
	switch {
	case !a.Allow:
		return printed(members{"decision": "deny", "reason": a.Reason})
	case a.Arguments == "":
		return printed(members{"decision": "allow"})
	}
	return printed(members{"decision": "allow", "hookSpecificOutput": members{"hookEventName": "BeforeTool", "tool_input": e.updated(a.Arguments)}})
}
