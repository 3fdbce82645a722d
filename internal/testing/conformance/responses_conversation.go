package conformance

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// CheckConversation judges a request whose input is all that the model is shown:
// what the server remembers has been put into it, see [Memory]. Every call is
// answered once, after the turn that made it and before anybody else speaks, and
// reasoning is followed by what it led to.
func (responses) CheckConversation(body []byte) error {
	if !gjson.ValidBytes(body) {
		return fmt.Errorf("the body is not JSON")
	}
	check := inputCheck{open: make(map[string]string), custom: make(map[string]bool), seen: make(map[string]bool)}
	items := inputOf(body)
	for i, item := range items {
		if err := check.item(item); err != nil {
			return fmt.Errorf("input[%d]: %w", i, err)
		}
		if err := followed(item, items[i+1:]); err != nil {
			return fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	if len(check.waiting()) > 0 {
		return fmt.Errorf("calls %v have no output at the end", check.waiting())
	}
	return nil
}

// inputOf are the items of a request's input, of which a text is one.
func inputOf(body []byte) []gjson.Result {
	input := gjson.GetBytes(body, "input")
	if input.Type == gjson.String {
		return []gjson.Result{gjson.Parse(`{"type":"message","role":"user","content":` + input.Raw + `}`)}
	}
	return input.Array()
}

type inputCheck struct {
	open     map[string]string // types of calls without an output yet, by call id
	custom   map[string]bool   // ids of answered custom calls, which may go on telling
	seen     map[string]bool   // ids of items
	answered bool              // an output came, and some calls are still open
}

func (c *inputCheck) item(item gjson.Result) error {
	kind, id := item.Get("type").String(), callID(item)
	if own := item.Get("id").String(); own != "" && !isOutput(item) {
		if c.seen[own] {
			return fmt.Errorf("the item %s is there twice", own)
		}
		c.seen[own] = true
	}
	switch {
	case c.custom[id] && kind == "custom_tool_call_output":
	case isOutput(item) && c.open[id] == "":
		return fmt.Errorf("%s for %q, which is no open call", kind, id)
	case isOutput(item):
		if want := callTypes[c.open[id]].output; want != kind && (kind != "function_call_output" || c.open[id] != "local_shell_call") {
			return fmt.Errorf("%s for the %s %q", kind, c.open[id], id)
		}
		c.custom[id] = c.open[id] == "custom_tool_call"
		delete(c.open, id)
		c.answered = len(c.waiting()) > 0
	case isCall(item):
		if c.open[id] != "" {
			return fmt.Errorf("two calls have the id %q", id)
		}
		if id == "" {
			return fmt.Errorf("a %s without an id that could be answered", kind)
		}
		c.open[id] = kind
	case kind == "reasoning":
	case kind == "message" || kind == "":
		return c.message(item)
	}
	return nil
}

func (c *inputCheck) message(item gjson.Result) error {
	switch role := item.Get("role").String(); role {
	case "assistant":
		if c.answered {
			return fmt.Errorf("the assistant goes on while calls %v have no output", c.waiting())
		}
	case "user", "system", "developer":
		if len(c.waiting()) > 0 {
			return fmt.Errorf("calls %v have no output before it", c.waiting())
		}
	default:
		return fmt.Errorf("unknown role %q", role)
	}
	return nil
}

// waiting are the calls that need an output and have none. What asks for an
// approval can be left alone.
func (c *inputCheck) waiting() []string {
	var ids []string
	for id, kind := range c.open {
		if kind != "mcp_approval_request" {
			ids = append(ids, id)
		}
	}
	return ids
}

// followed returns an error unless reasoning is followed by another item of the same turn.
func followed(item gjson.Result, rest []gjson.Result) error {
	if item.Get("type").String() != "reasoning" {
		return nil
	}
	for _, next := range rest {
		role := next.Get("role").String()
		switch {
		case next.Get("type").String() == "reasoning":
			continue
		case !isOutput(next) && (role == "" || role == "assistant"):
			return nil
		}
		break
	}
	return fmt.Errorf("the reasoning %s is not followed by what it led to", item.Get("id"))
}

func (responses) CheckPrefix(original, body []byte) error {
	whole := func(body []byte) []byte {
		return []byte(`{"input":[` + strings.Join(raws(inputOf(body)), ",") + `]}`)
	}
	return checkPrefix("input", whole(original), whole(body))
}

func raws(items []gjson.Result) []string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = item.Raw
	}
	return all
}

// Told are the calls of the last turn that has any. A turn ends where somebody
// else speaks, or where calls follow after outputs to all earlier calls.
func (responses) Told(body []byte) []Told {
	var told []Told
	closed := false
	for _, item := range inputOf(body) {
		role := item.Get("role").String()
		switch {
		case isCall(item):
			if closed {
				told, closed = nil, false
			}
			told = append(told, Told{Call: *callOf(item)})
		case isOutput(item):
			open := false
			for i := range told {
				if told[i].Call.ID == callID(item) {
					told[i].Result = outputOf(item)
				}
				open = open || told[i].Result == ""
			}
			closed = !open
		case role != "" && role != "assistant":
			closed = true
		}
	}
	return told
}

// CheckThoughts returns an error unless the reasoning items of the answer are in the input
// unchanged, each before the items that it led to, and no such item is there without it. If
// nothing is stored, only encrypted reasoning can be sent back.
func (responses) CheckThoughts(answer, body []byte) error {
	input := inputOf(body)
	at := func(item gjson.Result) int {
		for i, other := range input {
			if same := item.Get("id").String(); same != "" && other.Get("id").String() == same {
				return i
			}
		}
		return -1
	}
	thought := gjson.Result{}
	for _, raw := range Responses.Fold(answer).First().Items {
		item := gjson.Parse(raw)
		place := at(item)
		if item.Get("type").String() == "reasoning" {
			thought = item
			if gjson.GetBytes(body, "store").Type == gjson.False && item.Get("encrypted_content").String() == "" {
				thought = gjson.Result{}
			}
			if place >= 0 && !sameThought(item, input[place], answer) {
				return fmt.Errorf("the reasoning %s became %s", item.Raw, input[place].Raw)
			}
			continue
		}
		if place < 0 || !thought.Exists() {
			continue
		}
		if before := at(thought); before < 0 || before > place {
			return fmt.Errorf("%s is there without the reasoning %s before it", item.Get("id"), thought.Get("id"))
		}
	}
	return nil
}

// sameThought compares reasoning with what was answered. Its encrypted content is
// another one in every event; any of them will do.
func sameThought(was, is gjson.Result, answer []byte) bool {
	encrypted := is.Get("encrypted_content")
	if was.Get("encrypted_content").Type == gjson.String && (encrypted.Type != gjson.String || !strings.Contains(string(answer), string(quoted(encrypted.Str)))) {
		return false
	}
	return sameValue(was.Get("summary"), is.Get("summary")) && sameValue(was.Get("content"), is.Get("content"))
}
