package main

import "fmt"

// dialect is how one wire API writes the requests and answers of the benchmark.
type dialect struct {
	name     string
	path     string
	headers  string // of a request, besides those that all have
	callMark string // what the first bytes of a tool call in an answer contain
	held     int    // events of a held stream: some text and a call

	// stream renders the events of an answer of about the given number of events. An open one ends after its text.
	stream func(events int, calls, open bool) []string
	whole  func(call bool) string
	// conversation is the request's body between its first fields and its history, turn one call of the agent with the file of
	// about n bytes that it read, and tail the text after the history.
	conversation string
	turn         func(i, n int) string
	tail         string
}

var (
	chat        = chatDialect()
	responses   = responsesDialect()
	messages    = messagesDialect()
	allDialects = []*dialect{chat, responses, messages}
)

// gated are the dialects that heldcall knows, and so is measured in.
var gated = []*dialect{chat, responses, messages}

// dialectNamed finds a dialect.
func dialectNamed(name string) (*dialect, error) {
	for _, d := range allDialects {
		if d.name == name {
			return d, nil
		}
	}
	return nil, fmt.Errorf("no dialect is called %q", name)
}

// toolSchema is the JSON Schema of the one argument of a tool.
func toolSchema(argument string) string {
	return fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string","description":"What to work on."},"timeout":{"type":"integer",`+
		`"description":"Seconds until it is given up."}},"required":[%q],"additionalProperties":false}`, argument, argument)
}

const (
	toolText   = `"description":"Use this when the task needs it. Returns text."`
	systemText = "You are a careful coding agent. Use the tools."
	userText   = "Task " + sessionField + ": find out why the build fails."
	fileLine   = `func handler(w http.ResponseWriter, r *http.Request) {\n\tio.WriteString(w, \"ok\")\n}\n`
)
