package intercept

import "github.com/tidwall/gjson"

// MadeBy is the result of [Request.Made] for a history with these calls, of which only ID
// and Name count, and for a request that continues an answer or conversation with one of
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

// ForcedBy is the result of [Request.Forced] for a tool choice in the form of any of the
// APIs and for a number of tools.
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
