package intercept

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/outline"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// RequestSchema describes the requests of a dialect.
type RequestSchema struct {
	API    string   // its name, for errors
	Array  string   // the field that must be an array, "" for none
	Fields []string // the fields that are read, Array too
	// Marks are names or values, of letters and underscores, for [ParsedRequest.May].
	Marks []string
	// History is the field of the history.
	History string
	// Key identifies an item of the history, in whatever form the agent shows it; "" for an item that agents insert at
	// other places in each request. Nil: the dialect hides nothing.
	Key func(item gjson.Result) string
	// AgentItem reports whether the agent itself made an item of the history, so that the id of
	// the item is the agent's. Nil: items have no ids.
	AgentItem func(item gjson.Result) bool
	// Outline is for the summaries of the history and of the field tools.
	Outline outline.Schema
}

// ParsedRequest is an agent's request. Its fields alias the body.
type ParsedRequest struct {
	envelope Envelope
	form     *RequestSchema
	fields   strictjson.Fields
	Authors  outline.Authors // of the history, if it is an array
	Tools    outline.Tools   // in the field tools
	placed   []Placement
	sent     []byte // the history before another body, nil if there was none
	ending   string // see Ending
}

// Accept reads a body, which every parser must read alike, in place of any before. The error is an
// [*Error].
func (a *ParsedRequest) Accept(f *RequestSchema, e Envelope) error {
	*a = ParsedRequest{envelope: e, form: f, Authors: outline.NewAuthors(&f.Outline), Tools: outline.NewTools(&f.Outline)}
	var err error
	history, tools := strictjson.List{Field: f.History, Items: &a.Authors}, strictjson.List{Field: "tools", Items: &a.Tools}
	if a.fields, err = strictjson.ScanFields(e.Body, f.Fields, f.Marks, history, tools); err == nil && f.Array != "" {
		if array := a.fields.Raw(f.Array); len(array) == 0 || array[0] != '[' {
			err = fmt.Errorf("it has no %s array", f.Array)
		}
	}
	if err != nil {
		return &Error{Code: CodeBadRequest, Reason: "the request body is not a " + f.API + " request: " + err.Error()}
	}
	if tools := a.Field("tools"); len(tools) > 0 && tools[0] != '[' && string(tools) != "null" {
		a.Tools.Others = true
	}
	return nil
}

// May reports whether a mark of the schema may be anywhere below the top level of the
// body, as a name or as a value. False is certain.
func (a *ParsedRequest) May(mark string) bool {
	i := slices.Index(a.form.Marks, mark)
	return i < 0 || a.fields.MayHave(i)
}

// HistoryField implements [Request].
func (a *ParsedRequest) HistoryField() string { return a.form.History }

// AgentItem implements [Request].
func (a *ParsedRequest) AgentItem(item []byte) bool {
	return a.form.AgentItem != nil && a.form.AgentItem(gjson.ParseBytes(item))
}

// ResultIDs implements [Request].
func (a *ParsedRequest) ResultIDs() (ids []string) {
	for _, id := range a.Authors.Results {
		ids = append(ids, gjson.ParseBytes(id).Str)
	}
	return ids
}

// Field is the value of a field, nil if it is absent. It aliases the body.
func (a *ParsedRequest) Field(name string) []byte { return a.fields.Raw(name) }

// Value is the value of a field, parsed.
func (a *ParsedRequest) Value(name string) gjson.Result { return gjson.ParseBytes(a.Field(name)) }

// Text is the value of a field that is a string.
func (a *ParsedRequest) Text(name string) string { return a.Value(name).String() }

// MetadataSession is the id of the conversation in the metadata, from the members in which
// agents send one; "" for none.
func (a *ParsedRequest) MetadataSession() string {
	metadata := a.Value("metadata")
	for _, name := range []string{"session_id", "conversation_id", "thread_id"} {
		if id := metadata.Get(name); id.Type == gjson.String && id.Str != "" {
			return id.Str
		}
	}
	return ""
}

// UserNames are the names of the user in fields of the body and in the metadata, each on a line: several
// users of an application may begin with the same words.
func (a *ParsedRequest) UserNames(fields ...string) string {
	names := a.Value("metadata").Get("user_id").String()
	for _, field := range fields {
		if name := a.Text(field); name != "" && names != "" {
			names += "\n" + name
		} else {
			names += name
		}
	}
	return names + "\n"
}

// CacheSession is the session named by the key of the prompt cache, "" for none. An application may send
// one key for all its users: with names of the user it is a session of that user.
func (a *ParsedRequest) CacheSession() string {
	key, names := a.Text("prompt_cache_key"), strings.TrimSpace(a.UserNames("user", "safety_identifier"))
	if key == "" || names == "" {
		return key
	}
	return key + "-" + Fingerprint(names)[:8]
}

// At returns the place of the value of a field in the body.
func (a *ParsedRequest) At(name string) (at strictjson.Span, ok bool) { return a.fields.At(name) }

// Envelope is the request as it goes upstream.
func (a *ParsedRequest) Envelope() Envelope { return a.envelope }

// OneTimeApprovals implements [Request] for the dialects without such approvals.
func (a *ParsedRequest) OneTimeApprovals() []OneTimeApproval { return nil }

// Before implements [Request] for the dialects without such requests.
func (a *ParsedRequest) Before() []Envelope { return nil }

// Continued implements [Request] for the dialects without stored answers.
func (a *ParsedRequest) Continued(string) bool { return false }

// Closing implements [Request] for the dialects whose requests have the conversation.
func (a *ParsedRequest) Closing(bool) []byte { return nil }

// Begins implements [Request] for the dialects whose requests have the whole history.
func (a *ParsedRequest) Begins() bool { return !a.Authors.Others }

// RequireApproval implements [Request] for the dialects that have no field for it.
func (a *ParsedRequest) RequireApproval() (changed int) { return 0 }

// Opening implements [Request] for the dialects of OpenAI.
func (a *ParsedRequest) Opening() UserText {
	if a.Authors.First == nil {
		return UserText{}
	}
	return UserText{Prefix: a.UserNames("user", "safety_identifier"), Content: a.Authors.First}
}

// LastUser implements [Request] for the dialects whose messages of the user have no reminders.
func (a *ParsedRequest) LastUser() string { return UserText{Content: a.Authors.Last}.String() }

// ForcedTools implements [Request].
func (a *ParsedRequest) ForcedTools() []string {
	return ForcedBy(a.Value("tool_choice"), a.Value("tools"))
}

// Placements implements [Request].
func (a *ParsedRequest) Placements() []Placement { return a.placed }

// Spliced adds the answers that were found in the history, and returns how many there are.
func (a *ParsedRequest) Spliced(h *History) int {
	a.placed = append(a.placed, h.placed...)
	return len(h.placed)
}

// With returns the envelope with another body.
func (a *ParsedRequest) With(body []byte) Envelope {
	e := a.envelope
	e.Body = body
	return e
}

// SetBody implements [Request].
func (a *ParsedRequest) SetBody(body []byte) error {
	var next ParsedRequest
	err := next.Accept(a.form, a.With(body))
	if err == nil {
		next.placed, next.sent, next.ending = a.placed, a.AsSent(), a.ending
		*a = next
	}
	return err
}

// Ending is the key of the item with which the history ends, as the agent sent it; "" for none.
func (a *ParsedRequest) Ending() string {
	if a.ending == "" {
		h := a.historyOf(a.AsSent())
		a.ending = h.before(len(h.Items))
	}
	return a.ending
}

// History is the history of the request, which is an array.
func (a *ParsedRequest) History() *History { return a.historyOf(a.Field(a.form.History)) }

func (a *ParsedRequest) historyOf(raw []byte) *History {
	return &History{Items: gjson.ParseBytes(raw).Array(), Raw: raw, key: a.form.Key}
}

// AsSent is the history as the agent sent it, before [ParsedRequest.SetBody].
func (a *ParsedRequest) AsSent() []byte {
	if a.sent != nil {
		return a.sent
	}
	return a.Field(a.form.History)
}

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

// ForcedBy is the result of [Request.ForcedTools] for a tool choice in the form of any of the
// APIs and for lists of tools.
func ForcedBy(choice gjson.Result, lists ...gjson.Result) []string {
	mode := choice.Str
	if choice.IsObject() {
		mode = choice.Get("type").Str
	}
	if mode == "allowed_tools" {
		allowed := choice
		if inner := choice.Get("allowed_tools"); inner.IsObject() {
			allowed = inner
		}
		mode, lists = allowed.Get("mode").Str, []gjson.Result{allowed.Get("tools")}
	}
	if mode == "required" || mode == "any" {
		var names []string
		for _, list := range lists {
			for _, tool := range list.Array() {
				names = append(names, toolName(tool))
			}
		}
		return names
	}
	if name := toolName(choice); name != "" {
		return []string{name}
	}
	return nil
}

// RelaxedChoice is a tool choice of OpenAI's APIs with which the model may take another way: one that forces a certain
// call becomes "auto", and with free one that forces any call. A choice of some tools stays one of these; mode is its
// member that forces a call. Changed reports whether the choice differs.
func RelaxedChoice(choice gjson.Result, mode string, free bool) (relaxed string, changed bool) {
	switch {
	case choice.Get(mode).Exists():
		if !free {
			return choice.Raw, false
		}
		p := strictjson.Patch{JSON: choice.Raw}
		p.Set(mode, `"auto"`)
		return p.JSON, p.Err == nil
	case choice.IsObject(), free && (choice.Str == "required" || choice.Str == "any"):
		return `"auto"`, true
	}
	return choice.Raw, false
}

// toolName is the name of a tool in a list, or in a tool choice.
func toolName(tool gjson.Result) string {
	return cmp.Or(tool.Get("name").Str, tool.Get("function.name").Str, tool.Get("custom.name").Str)
}
