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

// Opening implements [intercept.Request].
func (r *request) Opening() intercept.UserText {
	if r.Authors.First == nil {
		return intercept.UserText{}
	}
	return intercept.UserText{Prefix: r.UserNames("user", "safety_identifier"), Content: r.Authors.First}
}

// LastUser implements [intercept.Request].
func (r *request) LastUser() string { return intercept.UserText{Content: r.Authors.Last}.String() }

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

// extend returns the request with messages appended. A tool choice that forces a certain call
// becomes "auto", and with free one that forces any call, so that the model may take another
// way. All other bytes stay.
func (r *request) extend(messages []string, free bool) (intercept.Envelope, error) {
	span, _ := r.At("messages")
	p := strictjson.Patch{JSON: string(strictjson.Replace(r.Envelope().Body, span, strictjson.AppendItems(r.Field("messages"), messages...)))}
	field, choice := "tool_choice", r.Value("tool_choice")
	if mode := choice.Get("allowed_tools.mode"); mode.Exists() { // the choice of tools stays
		field, choice = field+".allowed_tools.mode", mode
	}
	if choice.IsObject() || (free && (choice.Str == "required" || choice.Str == "any")) {
		p.Set(field, `"auto"`)
	}
	return r.With([]byte(p.JSON)), p.Err
}
