package chat

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

// summary renders the parts of a chunk that decide about calls.
func summary(c *chunk) string {
	var b strings.Builder
	for i := range c.choices {
		d := &c.choices[i]
		fmt.Fprintf(&b, "%d", d.index)
		for _, f := range []struct {
			name string
			is   bool
		}{{"role", d.role}, {"carries", d.carries}, {"contents", d.contents}, {"repeated", d.repeated}} {
			if f.is {
				b.WriteString(" " + f.name)
			}
		}
		if d.finish != "" {
			b.WriteString(" finish=" + d.finish)
		}
		if d.audio != "" {
			b.WriteString(" audio=" + d.audio)
		}
		for _, t := range d.texts {
			fmt.Fprintf(&b, " %d.%s=%s", t.place, t.field, t.value.Raw)
		}
		for _, f := range d.calls {
			fmt.Fprintf(&b, " call(%d %d", f.place, f.kind)
			if f.hasIndex {
				fmt.Fprintf(&b, " #%d", f.index)
			}
			if f.hasID {
				b.WriteString(" id=" + f.id)
			}
			fmt.Fprintf(&b, " %s%s", f.name, f.args)
			if f.object {
				b.WriteString(" object")
			}
			if f.own != nil || f.inner != nil {
				fmt.Fprint(&b, " ", f.own, f.inner)
			}
			b.WriteString(")")
		}
		b.WriteString(";")
	}
	if c.failed {
		b.WriteString("failed;")
	}
	if c.usage != "" {
		b.WriteString("usage=" + c.usage + ";")
	}
	return b.String()
}

func choiceOf(fields string) string { return `{"choices":[{` + fields + `}]}` }

func deltaOf(fields string) string { return choiceOf(`"index":0,"delta":{` + fields + `}`) }

func TestDecode(t *testing.T) {
	for _, tt := range []struct{ name, payload, want string }{
		{"no object", `"data"`, ""},
		{"no choices", `{"id":"a"}`, ""},
		{"null choices", `{"choices":null}`, ""},
		{"null delta", choiceOf(`"delta":null`), "0;"},
		{"null index: the place counts", `{"choices":[{"index":null},{}]}`, "0;1;"},
		{"usage", `{"choices":[],"usage":{"total_tokens":1}}`, `usage={"total_tokens":1};`},
		{"null usage", `{"choices":[],"usage":null}`, ""},
		{"error", `{"error":{"message":"m"}}`, "failed;"},
		{"null error", `{"error":null}`, ""},

		{"role", deltaOf(`"role":"assistant","content":""`), "0 role;"},
		{"null role", deltaOf(`"role":null`), "0;"},
		{"foreign role", deltaOf(`"role":"tool"`), "0 role;"},
		{"foreign role of a message", choiceOf(`"message":{"role":"tool"}`), "0 role repeated;"},
		{"text", deltaOf(`"content":"a","refusal":null`), `0 carries contents 0.content="a";`},
		{"reasoning", deltaOf(`"reasoning":"r"`), `0 carries 0.reasoning="r";`},
		{"audio", deltaOf(`"audio":{"id":"s","data":"AA"}`), `0 carries contents audio="s" 0.audio={"id":"s","data":"AA"};`},
		{"message beside delta", choiceOf(`"index":2,"delta":{"content":"a"},"message":{"content":"a"}`), `2 carries contents repeated 0.content="a" 1.content="a";`},
		{"finish", choiceOf(`"delta":{},"finish_reason":"stop"`), "0 finish=stop;"},

		{"call", deltaOf(`"tool_calls":[{"index":1,"id":"a","type":"function","function":{"name":"f","arguments":"{"}}]`), "0 call(0 0 #1 id=a f{);"},
		{"null calls", deltaOf(`"tool_calls":null,"function_call":null`), "0;"},
		{"null fields of a call", deltaOf(`"tool_calls":[{"index":null,"id":null,"type":null,"function":null}]`), "0 call(0 0 );"},
		{"arguments as an object", deltaOf(`"tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]`), `0 call(0 0 f{"a":1} object);`},
		{"custom call", deltaOf(`"tool_calls":[{"type":"custom","custom":{"name":"c","input":"x"}}]`), "0 call(0 1 cx);"},
		{"custom call without its type", deltaOf(`"tool_calls":[{"custom":{"name":"c"}}]`), "0 call(0 1 c);"},
		{"other fields of a call", deltaOf(`"tool_calls":[{"signature":"s","x":null,"function":{"name":"f","y":1}}]`), `0 call(0 0 f ["signature":"s"] ["y":1]);`},
		{"legacy call", deltaOf(`"function_call":{"name":"f","arguments":"{}"}`), "0 call(0 2 f{});"},
		{"empty legacy call", deltaOf(`"function_call":{"name":"","arguments":null,"x":""}`), "0;"},
		{"legacy call with another field only", deltaOf(`"function_call":{"x":"y"}`), `0 call(0 2  [] ["x":"y"]);`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := decodeChunk(tt.payload)
			if err != nil {
				t.Fatal(err)
			}
			if got := summary(c); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	many := strings.Repeat("{},", maxChoices) + "{}"
	for name, payload := range map[string]string{
		"two choices of one index":      `{"choices":[{"index":1},{"index":1}]}`,
		"choices that are an object":    `{"choices":{}}`,
		"too many choices":              `{"choices":[` + many + `]}`,
		"a choice that is a string":     `{"choices":["x"]}`,
		"a choice that is a call":       `{"choices":[{"name":"f","arguments":"{}"}]}`,
		"a negative index":              choiceOf(`"index":-1`),
		"a fractional index":            choiceOf(`"index":1.0`),
		"a finish reason of a number":   choiceOf(`"finish_reason":1`),
		"a delta that is a string":      choiceOf(`"delta":"x"`),
		"a delta that is a call":        deltaOf(`"name":"f","arguments":"{}"`),
		"misspelt choices":              `{"Choices":[]}`,
		"misspelt calls":                deltaOf(`"Tool_Calls":[]`),
		"misspelt name":                 deltaOf(`"tool_calls":[{"function":{"Name":"f"}}]`),
		"an unknown call field":         deltaOf(`"call":{"name":"f"}`),
		"calls that are an object":      deltaOf(`"tool_calls":{}`),
		"a call that is a string":       deltaOf(`"tool_calls":["x"]`),
		"a call with its name outside":  deltaOf(`"tool_calls":[{"name":"f","arguments":"{}"}]`),
		"a call of an unknown type":     deltaOf(`"tool_calls":[{"type":"mcp","function":{"name":"f"}}]`),
		"a call of two kinds":           deltaOf(`"tool_calls":[{"function":{"name":"f"},"custom":{"name":"c"}}]`),
		"a function that is a string":   deltaOf(`"tool_calls":[{"function":"f"}]`),
		"a legacy call that is a list":  deltaOf(`"function_call":[]`),
		"an id that is a number":        deltaOf(`"tool_calls":[{"id":1}]`),
		"arguments that are a list":     deltaOf(`"tool_calls":[{"function":{"name":"f","arguments":[]}}]`),
		"half a surrogate in a name":    deltaOf(`"tool_calls":[{"function":{"name":"\ud800"}}]`),
		"an event of another API":       `{"type":"response.function_call_arguments.delta"}`,
		"an item of another API":        `[{"type":"tool_use"}]`,
		"a call in place of the answer": `{"name":"f","arguments":"{}"}`,
	} {
		c, err := decodeChunk(payload)
		if refused := (*intercept.Error)(nil); !errors.As(err, &refused) || refused.Code != intercept.CodeAnswerNotUnderstood {
			t.Errorf("%s: got %v, %v", name, c, err)
		}
	}
}

// In a whole answer that repeats an index clients go by the place.
func TestDecodeWholeNumbersByPlace(t *testing.T) {
	for payload, want := range map[string]string{
		`{"choices":[{"index":1},{"index":1}]}`: "0;1;",
		`{"choices":[{"index":5},{"index":2}]}`: "5;2;",
	} {
		c, err := decodeWhole(payload)
		if err != nil {
			t.Fatal(err)
		}
		if got := summary(c); got != want {
			t.Errorf("%s: got %s, want %s", payload, got, want)
		}
	}
}

func TestAnnounces(t *testing.T) {
	for finish, want := range map[string]bool{"tool_calls": true, "function_call": true, "stop": false, "": false} {
		c, err := decodeChunk(choiceOf(`"finish_reason":"` + finish + `"`))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.choices[0].announces(); got != want {
			t.Errorf("%q: %t", finish, got)
		}
	}
}

// Log probabilities with more tokens than the text may name a call.
func TestUnspoken(t *testing.T) {
	const long = `{"token":"a token of thirty-two bytes. ...","bytes":null}`
	for _, tt := range []struct {
		name, fields string
		want         bool
	}{
		{"none", `"delta":{"content":"a"}`, false},
		{"null", `"delta":{"content":"a"},"logprobs":null`, false},
		{"those of the text", `"delta":{"content":"a"},"logprobs":{"content":[{"token":"a"}]}`, false},
		{"with a marker", `"delta":{"content":"a"},"logprobs":{"content":[{"token":"________a"}]}`, false},
		{"with more than a marker", `"delta":{"content":"a"},"logprobs":{"content":[{"token":"_________a"}]}`, true},
		{"without text", `"delta":{},"logprobs":{"content":[{"token":"a"}]}`, true},
		{"by bytes", `"delta":{},"logprobs":{"content":[{"token":"","bytes":[97]}]}`, true},
		{"no tokens without text", `"delta":{},"logprobs":{"content":[]}`, false},
		{"of a refusal", `"delta":{"refusal":"no"},"logprobs":{"refusal":[` + long + `]}`, true},
		{"in two lists", `"delta":{"content":"abc"},"logprobs":{"content":[{"token":"abcdef"}],"refusal":[{"token":"abcdef"}]}`, true},
	} {
		c, err := decodeChunk(choiceOf(tt.fields))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := c.choices[0].unspoken(); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}
