package fakemodel

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// checkInput judges the items that a request is made of as OpenAI does: known
// types, every call answered once and after it was made, no item twice, reasoning
// as it was made and with what it goes with.
func (m *memory) checkInput(before, input []gjson.Result) *refusal {
	check := inputCheck{memory: m, types: itemTypes(), seen: make(map[string]bool), kinds: make(map[string]string)}
	for _, item := range before {
		check.seen[item.Get("id").String()] = true
		if failed := check.call(item); failed != nil {
			return failed
		}
	}
	for i, item := range input {
		for _, judge := range []func(gjson.Result) *refusal{check.known, check.twice, check.call, check.reasoned} {
			if failed := judge(item); failed != nil {
				return failed
			}
		}
		if failed := check.followed(item, input[i+1:]); failed != nil {
			return failed
		}
	}
	for _, id := range check.open {
		if kind := check.kinds[id]; kind != "mcp_approval_request" {
			return invalid("input", fmt.Sprintf("No tool output found for %s %s.", strings.ReplaceAll(kind, "_", " "), id))
		}
	}
	return nil
}

type inputCheck struct {
	memory *memory
	types  map[string]itemType
	seen   map[string]bool   // item ids
	kinds  map[string]string // types of the calls so far, by call id
	open   []string          // call ids without an output yet
}

// known refuses types that there are not. An item without one is a message.
func (c *inputCheck) known(item gjson.Result) *refusal {
	kind := item.Get("type").String()
	_, ok := c.types[kind]
	switch {
	case !ok && kind != "" && !isOutput(kind):
		f := invalid("input", fmt.Sprintf("Invalid value: '%s'.", kind))
		f.code = "invalid_value"
		return f
	case kind == "" && !item.Get("role").Exists():
		return invalid("input", "Missing required parameter: 'input[].role'.")
	}
	return nil
}

func (c *inputCheck) twice(item gjson.Result) *refusal {
	id := item.Get("id").String()
	if id == "" || isOutput(item.Get("type").String()) {
		return nil
	}
	if c.seen[id] {
		return invalid("input", fmt.Sprintf("Duplicate item found with id %s. Remove duplicate items from your input and try again.", id))
	}
	c.seen[id] = true
	return nil
}

// call follows which calls are open.
func (c *inputCheck) call(item gjson.Result) *refusal {
	kind, id := item.Get("type").String(), callID(item)
	switch {
	case hosted(item):
		c.kinds[id] = "" // the provider answers it itself
	case c.types[kind].output != "":
		c.kinds[id] = kind
		c.open = append(c.open, id)
	case isOutput(kind) && id != "":
		for i, open := range c.open {
			if open == id && answers(kind, c.kinds[id], c.types) {
				c.open = append(c.open[:i:i], c.open[i+1:]...)
				return nil
			}
		}
		if call, ok := c.kinds[id]; ok && (call == "" || (call == "custom_tool_call" && kind == "custom_tool_call_output")) {
			return nil // a custom tool may go on telling
		}
		if kind == "mcp_approval_response" {
			return invalid("input", fmt.Sprintf("No approval request found with id '%s'.", id))
		}
		return invalid("input", fmt.Sprintf("No tool call found for %s with call_id %s.", outputWords(kind), id))
	}
	return nil
}

// answers reports whether an output of one type may answer a call of another.
func answers(output, call string, types map[string]itemType) bool {
	return types[call].output == output || (output == "function_call_output" && call == "local_shell_call") // as Codex does
}

func outputWords(kind string) string { return strings.ReplaceAll(kind, "_", " ") }

// reasoned refuses reasoning that was altered or is not known any more, and items
// without the reasoning they were made with.
func (c *inputCheck) reasoned(item gjson.Result) *refusal {
	id, kind := item.Get("id").String(), item.Get("type").String()
	made, known := c.memory.items[id]
	if kind != "reasoning" {
		if known && made.needs != "" && !c.seen[made.needs] {
			return invalid("input", fmt.Sprintf("Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", id, kind, made.needs))
		}
		return nil
	}
	switch encrypted := item.Get("encrypted_content"); {
	case encrypted.Type == gjson.String && !unsealed(item):
		f := invalid("", "The encrypted content "+shortened(encrypted.Str)+" could not be verified. Reason: Encrypted content could not be decrypted or parsed.")
		f.code = "invalid_encrypted_content"
		return f
	case encrypted.Type != gjson.String && (!known || !made.stored):
		return notPersisted(id)
	}
	return nil
}

// followed refuses reasoning without an item of the assistant's right after it.
func (c *inputCheck) followed(item gjson.Result, rest []gjson.Result) *refusal {
	if item.Get("type").String() != "reasoning" {
		return nil
	}
	for _, next := range rest {
		kind, role := next.Get("type").String(), next.Get("role").String()
		switch {
		case kind == "reasoning":
			continue
		case isOutput(kind) || (role != "" && role != "assistant"):
		default:
			return nil
		}
		break
	}
	return invalid("input", fmt.Sprintf("Item '%s' of type 'reasoning' was provided without its required following item.", item.Get("id").String()))
}

func shortened(text string) string {
	if len(text) <= 8 {
		return text
	}
	return text[:4] + "..." + text[len(text)-4:]
}
