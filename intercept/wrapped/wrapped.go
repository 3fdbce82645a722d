// Package wrapped finds the calls of tools in a call of another tool: in the wrapper
// multi_tool_use.parallel (parallel.go), in dispatchers, which carry the name and the arguments of
// another call (dispatcher.go), and in the code mode of Codex, whose tool exec runs JavaScript
// (script.go, tokens.go). Readers are strict: they know the calls with certainty, or none of them. For denials there
// are also the calls that agents may find all the same (possible.go).
package wrapped

import (
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/toolname"
)

// Kind is how a call wraps others.
type Kind int

// The kinds.
const (
	None     Kind = iota
	Parallel      // the call is nothing but the calls in it
	Carrier       // a tool of its own, which a policy may know; calls that are unknown are its matter
)

// Reading is the result of reading the calls in a call.
type Reading struct {
	Kind  Kind
	Calls []intercept.Call // none if they are not certain
	// Possible are, if they are not certain, calls that agents may find all the same.
	Possible []intercept.Call
	// Doubts are reasons, a sentence each, why agents may read the call in another way.
	Doubts []string
}

// Read reads the calls in a call. A carrier is read only if the offer has the tool in the form that its reader is for;
// nil is an unknown offer, with which every form counts.
func Read(c intercept.Call, offer *intercept.Offer) Reading {
	r := read(c, offer)
	if len(r.Calls) == 0 {
		var all bool
		if r.Possible, all = possibleCalls(c); !all {
			r.Doubts = append(r.Doubts, "It wraps too many calls to judge each of them.")
		}
	}
	for _, list := range [][]intercept.Call{r.Calls, r.Possible} {
		for i := range list {
			list[i].Subagent = c.Subagent
		}
	}
	return r
}

func read(c intercept.Call, offer *intercept.Offer) Reading {
	if calls, ok := parallelCalls(c); ok {
		r := Reading{Kind: Parallel, Calls: calls}
		if len(calls) == 0 {
			r.Doubts = []string{"It wraps other calls in a way that cannot be read with certainty."}
		}
		return r
	}
	var calls []intercept.Call
	var ok, inForm bool
	switch d := dispatchers[c.Name]; {
	case (c.Name == codeTool || c.Name == codeNamespace+codeTool) && (c.FreeText || c.Arguments == ""):
		calls, ok = scriptCalls(c.Arguments)
		inForm = inOffer(offer, c.Name, runsScripts)
	case d != nil:
		calls, ok = d.calls(c.Arguments)
		inForm = inOffer(offer, c.Name, d.describedBy)
	default:
		return Reading{}
	}
	if ok && slices.ContainsFunc(calls, func(c intercept.Call) bool { return Wraps(c.Name) }) {
		return Reading{Kind: Carrier}
	}
	switch {
	case ok && !inForm:
		return Reading{Doubts: []string{"It looks like a call that carries others, but the request does not offer " + c.Name + " in the form that heldcall can read."}}
	case !inForm:
		return Reading{}
	case !ok:
		return Reading{Kind: Carrier}
	}
	for i := range calls {
		calls[i].Ambiguous, calls[i].Flags = slices.Concat(calls[i].Ambiguous, c.Ambiguous), c.Flags
	}
	return Reading{Kind: Carrier, Calls: calls}
}

// inOffer reports whether an offer has a tool in a form.
func inOffer(offer *intercept.Offer, name string, form func(intercept.Tool) bool) bool {
	if offer == nil {
		return true
	}
	tool, offered := offer.Tool(name)
	return offered && form(tool)
}

// Wraps reports whether a name, as agents mend it, is that of a tool whose calls may carry others.
func Wraps(name string) bool {
	return wrapperName(name) || slices.ContainsFunc(toolname.Keys(name), func(key string) bool { return carriers[key] })
}

// carriers are the keys of the names of carriers.
var carriers = func() map[string]bool {
	keys := map[string]bool{toolname.Key(codeTool): true}
	for name := range dispatchers {
		keys[toolname.Key(name)] = true
	}
	return keys
}()

// Names returns the names of the tools that a call may carry calls of, also where the calls are not certain. It is
// nil for a call whose name is not that of a wrapper, as agents mend names.
func Names(c intercept.Call) (names []string) {
	switch {
	case !Wraps(c.Name):
		return nil
	case c.FreeText:
		return scriptNames(c.Arguments)
	}
	var read func(v gjson.Result, depth int)
	read = func(v gjson.Result, depth int) {
		v.ForEach(func(key, value gjson.Result) bool {
			if key.Type == gjson.String {
				names = append(names, key.Str)
			}
			switch {
			case value.Type == gjson.String:
				names = append(names, value.Str)
			case depth < maxDepth:
				read(value, depth+1)
			}
			return true
		})
	}
	read(gjson.Parse(c.Arguments), 0)
	return names
}

// maxDepth bounds the search for names.
const maxDepth = 6

// scriptNames are the words of a script that follow the name of its object of tools.
func scriptNames(script string) (names []string) {
	words := strings.FieldsFunc(script, func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, word := range words {
		if i > 0 && words[i-1] == "tools" {
			names = append(names, word)
		}
	}
	return names
}
