package intercept

import (
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Wrapped returns the calls that a call of the wrapper multi_tool_use.parallel
// stands for. Models make such a call up, some servers pass it on, and some
// clients take it apart; so it is judged by what it wraps. It is false for every
// other call. A wrapper that clients may read in different ways wraps nothing that
// can be told; so does a call of another tool that looks like one.
func (c Call) Wrapped() (calls []Call, ok bool) {
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

// wrapperName reports whether a tool's name is one under which the wrapper has
// been seen: its dot is one that many APIs do not take, so servers and models
// write others.
func wrapperName(name string) bool {
	name = strings.TrimPrefix(fold(name), "functions")
	switch name {
	case "parallel", "tooluses", "paralleltooluse", "paralleltooluses", "paralleltoolcalls":
		return true
	}
	return strings.Contains(name, "multitooluse")
}

// fold is text in small letters without what is neither letter nor digit.
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

// wrappedUses looks for the array of calls among a wrapper's arguments. It is
// readable if it is spelt as all clients know it and alone.
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

// wrappedCall reads one call of a wrapper: a recipient, which clients that take
// off the namespace in different ways all read alike, its parameters, and nothing
// else.
func wrappedCall(use gjson.Result) (c Call, readable bool) {
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

// plainName reports a name as the APIs ask for: letters, digits, _ and -.
func plainName(name string) bool {
	odd := func(r rune) bool { return r != '_' && r != '-' && fold(string(r)) == "" }
	return name != "" && !strings.ContainsFunc(name, odd)
}
