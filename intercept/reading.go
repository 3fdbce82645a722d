package intercept

import (
	"strconv"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Reading reads one payload until its first mistake. Then its methods return false, which
// ends gjson's ForEach. The zero value is ready for use.
type Reading struct {
	strictjson.Abridged // the payload, if it is abridged
	// Quiet reports that [strictjson.NamesCall] is false for the payload: no part of it is suspect.
	Quiet bool

	reason string
}

// Fail records why the payload is not released, and returns false. The reason must not
// quote the payload.
func (r *Reading) Fail(reason string) bool {
	if r.reason == "" {
		r.reason = reason
	}
	return false
}

// OK reports whether nothing was refused.
func (r *Reading) OK() bool { return r.reason == "" }

// Err is the error, an [*Error], nil if nothing was refused.
func (r *Reading) Err() error {
	if r.reason == "" {
		return nil
	}
	return NotUnderstood("%s", r.reason)
}

// Unknown reads a field that the dialect does not know. Known are the names that it knows
// in the same object.
func (r *Reading) Unknown(key string, v gjson.Result, known ...string) bool {
	if strictjson.Misspelt(key, known...) {
		return r.Fail("a known field is spelt in another letter case")
	}
	if r.Quiet {
		return true
	}
	if reason := strictjson.Suspect(key, v); reason != "" {
		return r.Fail(reason)
	}
	return true
}

// NamedInput reports whether an object of the payload has both a name and an input, as every
// form of a call has.
func (r *Reading) NamedInput(v gjson.Result) bool { return !r.Quiet && strictjson.NamedInput(v) }

// Number reads an index. All clients read whole numbers without a sign alike.
func (r *Reading) Number(into *int, v gjson.Result, what string) bool {
	n, err := strconv.ParseUint(v.Raw, 10, 31)
	if err != nil {
		return r.Fail(what + " is not a whole number")
	}
	*into = int(n)
	return true
}

// Text reads a string; null is an empty one.
func (r *Reading) Text(into *string, v gjson.Result, what string) bool {
	if strictjson.HasHalf(v) {
		return r.Fail(what + " has half of a surrogate pair")
	}
	return r.Fragment(into, v, what)
}

// Fragment reads a string as [Fragment] does; null is an empty one.
func (r *Reading) Fragment(into *string, v gjson.Result, what string) bool {
	if v.Type != gjson.String && v.Type != gjson.Null {
		return r.Fail(what + " is not a string")
	}
	*into = strictjson.Fragment(v)
	return true
}
