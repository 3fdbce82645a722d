package wrapped

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// parallelCalls returns the calls in a call of the wrapper multi_tool_use.parallel. Models
// invent it, some servers pass it on, and some clients run the calls in it; so these are
// judged. Ok is false for every other call. The calls are unknown if clients may read the
// wrapper in different ways, or if a call of another tool looks like a wrapper.
func parallelCalls(c intercept.Call) (calls []intercept.Call, ok bool) {
	named := wrapperName(c.Name)
	if !named && !strings.Contains(c.Arguments, "tool_uses") {
		return nil, false
	}
	if strictjson.Strict([]byte(c.Arguments)) != nil {
		return nil, named
	}
	uses, found, readable := wrappedUses(gjson.Parse(c.Arguments))
	switch {
	case !found:
		return nil, strings.Contains(fold(c.Name), "multitooluse") // another tool may well be called parallel
	case !named || !readable:
		return nil, true
	}
	for _, use := range uses.Array() {
		inner, readable := wrappedCall(use)
		if !readable {
			return nil, true
		}
		inner.Ambiguous, inner.Flags = c.Ambiguous, c.Flags
		calls = append(calls, inner)
	}
	return calls, true
}

// wrapperName reports whether a tool's name is one of the names of the wrapper. Many APIs
// refuse its dot, so servers and models use others.
func wrapperName(name string) bool {
	name = strings.TrimPrefix(fold(name), "functions")
	switch name {
	case "parallel", "tooluses", "paralleltooluse", "paralleltooluses", "paralleltoolcalls":
		return true
	}
	return strings.Contains(name, "multitooluse")
}

// fold is the letters and digits of a text, in lower case.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, text)
}

// wrappedUses finds the array of calls in a wrapper's arguments. It is readable if it has
// the name that all clients know, and is the only field.
func wrappedUses(args gjson.Result) (uses gjson.Result, found, readable bool) {
	readable = true
	args.ForEach(func(k, v gjson.Result) bool {
		found = found || strings.HasPrefix(fold(k.Str), "tooluse")
		readable = readable && k.Str == "tool_uses" && v.IsArray()
		uses = v
		return true
	})
	return uses, found, readable
}

// wrappedCall reads one call of a wrapper: its parameters and a recipient whose namespace
// all clients remove alike, and nothing else.
func wrappedCall(use gjson.Result) (c intercept.Call, readable bool) {
	readable = use.IsObject()
	use.ForEach(func(k, v gjson.Result) bool {
		switch {
		case k.Str == "recipient_name" && v.Type == gjson.String:
			c.Name = strings.TrimPrefix(v.Str, "functions.")
		case k.Str == "parameters" && v.IsObject():
			c.Arguments = v.Raw
		default:
			readable = false
		}
		return true
	})
	return c, readable && plainName(c.Name) && c.Arguments != "" && !wrapperName(c.Name)
}

// plainName reports whether a name has letters, digits, _ and - only, as the APIs require.
func plainName(name string) bool {
	odd := func(r rune) bool { return r != '_' && r != '-' && fold(string(r)) == "" }
	return name != "" && !strings.ContainsFunc(name, odd)
}
