package conformance

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// callKeys are the keys of an answer that contain calls.
var callKeys = []string{"tool_calls", "function_call"}

func (chat) StructuredCalls(body []byte) int {
	n := 0
	each(body, func(data gjson.Result) {
		for _, choice := range data.Get("choices").Array() {
			n += callsIn(choice.Get("delta")) + callsIn(choice.Get("message"))
		}
	})
	return n
}

func callsIn(part gjson.Result) int {
	n := 0
	for _, key := range callKeys {
		if entries := part.Get(key); entries.IsArray() {
			n += len(entries.Array())
		} else if entries.IsObject() {
			n++
		}
	}
	return n
}

func (chat) Others(body []byte) []byte { return rest(body, withoutCalls) }

func withoutCalls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range callKeys {
			delete(v, key)
		}
		for key := range v {
			v[key] = withoutCalls(v[key])
		}
	case []any:
		for i := range v {
			v[i] = withoutCalls(v[i])
		}
	}
	return value
}

// CheckAnswer finds calls whose indexes leave a gap: some clients throw, others
// see an empty call in it.
func (chat) CheckAnswer(body []byte) []Problem {
	var found problems
	a := Chat.Fold(body)
	if len(a.Malformed) > 0 {
		found.add("not JSON", "%q", a.Malformed)
	}
	if a.Late {
		found.add("late", "something follows [DONE]")
	}
	if a.Done > 1 {
		found.add("done twice", "[DONE] came %d times", a.Done)
	}
	for _, c := range a.Choices {
		for i, call := range c.Calls {
			if call.Index != -1 && call.Index != int64(i) {
				found.add("index", "call %d of choice %d has the index %d", i, c.Index, call.Index)
			}
		}
	}
	return found
}

// CheckThoughts looks for the reasoning of an answer beside its calls.
func (chat) CheckThoughts(answer, body []byte) error {
	said := Chat.Fold(answer).First()
	if said.Reasoning == "" || len(said.Calls) == 0 {
		return nil
	}
	message, _ := ToldOf(body)
	for _, key := range []string{"reasoning_content", "reasoning"} {
		if message.Get(key).String() == said.Reasoning {
			return nil
		}
	}
	return fmt.Errorf("the message with the calls has not the reasoning %q: %s", said.Reasoning, message.Raw)
}
