package chat

import (
	"cmp"
	"iter"
	"strconv"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/outline"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// request is an agent's request. It implements [intercept.Request].
type request struct {
	intercept.ParsedRequest
}

var requestSchema = intercept.RequestSchema{
	API: "Chat Completions", Array: "messages",
	Fields:  append([]string{"messages", "model", "stream", "n", "tools", "functions", "tool_choice", "function_call", "metadata", "user", "safety_identifier", "prompt_cache_key"}, intercept.HostedFields...),
	History: "messages", Key: fingerprint,
	Outline: outline.Schema{
		Beginning: []string{"system", "developer"}, ToolTypes: []string{"function", "custom"},
		Members: []string{"tool_call_id", "name"}, Result: resultOf,
	},
}

// parseRequest reads a request strictly.
func parseRequest(e intercept.Envelope) (*request, error) {
	r := new(request)
	return r, r.Accept(&requestSchema, e)
}

// Codec implements [intercept.Request].
func (r *request) Codec(limits intercept.Limits) intercept.Codec { return newAnswer(r, limits) }

// messages are those of the request.
func (r *request) messages() gjson.Result { return r.Value("messages") }

// items yields the items of a field.
func (r *request) items(field string) iter.Seq[gjson.Result] {
	return func(yield func(gjson.Result) bool) {
		r.Value(field).ForEach(func(_, item gjson.Result) bool { return yield(item) })
	}
}

// Info implements [intercept.Request].
func (r *request) Info() intercept.Info {
	info := intercept.Info{
		Model:    r.Text("model"),
		Streamed: string(r.Field("stream")) == "true",
		Session:  r.session(),
		Users:    r.Authors.Users,
	}
	return info
}

// session returns the id of the conversation, from the fields in which agents send one.
func (r *request) session() string {
	return cmp.Or(r.MetadataSession(), r.CacheSession())
}

// Task implements [intercept.Request].
func (r *request) Task(before int) intercept.UserText {
	return intercept.UserText{Prefix: strconv.Itoa(before+r.Authors.Users) + "\n", Content: r.Authors.Last}
}

// Made implements [intercept.Request].
func (r *request) Made() string {
	var calls []intercept.CallFingerprint
	for m := range r.items("messages") {
		m.Get("tool_calls").ForEach(func(_, c gjson.Result) bool {
			name := c.Get("function.name").Str + c.Get("custom.name").Str
			calls = append(calls, intercept.CallFingerprint{ID: c.Get("id").Str, Name: name})
			return true
		})
	}
	return intercept.MadeBy(calls)
}

// several reports whether the request asks for more than one choice.
func (r *request) several() bool { return r.Value("n").Int() > 1 }

// extend returns the request with messages appended, and with a tool choice that leaves the model another way: see
// [intercept.RelaxedChoice]. All other bytes stay.
func (r *request) extend(messages []string, free bool) (intercept.Envelope, error) {
	span, _ := r.At("messages")
	p := strictjson.Patch{JSON: string(strictjson.Replace(r.Envelope().Body, span, strictjson.AppendItems(r.Field("messages"), messages...)))}
	if choice, relaxed := intercept.RelaxedChoice(r.Value("tool_choice"), "allowed_tools.mode", free); relaxed {
		p.Set("tool_choice", choice)
	}
	return r.With([]byte(p.JSON)), p.Err
}
