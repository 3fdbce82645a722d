// Package wrapped finds the calls of tools in a call of another tool: in the wrapper
// multi_tool_use.parallel (parallel.go), in dispatchers, which carry the name and the arguments of
// another call (dispatcher.go), and in the code mode of Codex, whose tool exec runs JavaScript
// (script.go, tokens.go). Readers are strict: they know the calls with certainty, or none of them.
package wrapped

import (
	"slices"

	"github.com/heldcall/heldcall/intercept"
)

// Kind is how a call wraps others.
type Kind int

// The kinds.
const (
	None     Kind = iota
	Parallel      // the call is nothing but the calls in it
	Carrier       // a tool of its own, which a policy may know; calls that are unknown are its matter
)

// Calls returns the calls in a call. There are none if they are not certain.
func Calls(c intercept.Call) ([]intercept.Call, Kind) {
	if calls, ok := parallelCalls(c); ok {
		return calls, Parallel
	}
	var calls []intercept.Call
	var ok bool
	switch {
	case c.Name == codeTool && (c.FreeText || c.Arguments == ""):
		calls, ok = scriptCalls(c.Arguments)
	case dispatchers[c.Name] != nil:
		calls, ok = dispatchers[c.Name].calls(c.Arguments)
	default:
		return nil, None
	}
	if !ok || slices.ContainsFunc(calls, wraps) {
		return nil, Carrier
	}
	for i := range calls {
		calls[i].Ambiguous, calls[i].Flags = c.Ambiguous, c.Flags
	}
	return calls, Carrier
}

// wraps reports whether a call is one of a wrapper itself.
func wraps(c intercept.Call) bool {
	return wrapperName(c.Name) || c.Name == codeTool || dispatchers[c.Name] != nil
}
