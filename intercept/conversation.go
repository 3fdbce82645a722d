package intercept

import "github.com/tidwall/gjson"

// MadeBy is what [Request.Made] returns for a history with these calls, of which only
// ID and Name count, and for a request that goes on from what upstream keeps under
// these ids.
func MadeBy(calls []CallFingerprint, refers ...string) string {
	var ids []string
	for _, id := range refers {
		if id != "" {
			ids = append(ids, id)
		}
	}
	for _, c := range calls {
		if telling(c.ID, c.Name) {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return Fingerprint(ids...)
}

// ForcedBy is what [Request.Forced] returns for a tool choice in the form of any of the
// APIs and for so many tools.
func ForcedBy(choice gjson.Result, tools int) bool {
	mode := choice.Str
	if choice.IsObject() {
		mode = choice.Get("type").Str
	}
	if mode == "allowed_tools" {
		allowed := choice
		if inner := choice.Get("allowed_tools"); inner.IsObject() {
			allowed = inner
		}
		mode, tools = allowed.Get("mode").Str, len(allowed.Get("tools").Array())
	}
	if mode == "required" || mode == "any" {
		return tools == 1
	}
	for _, name := range []string{"name", "function.name", "custom.name"} {
		if choice.Get(name).Str != "" {
			return true
		}
	}
	return false
}
