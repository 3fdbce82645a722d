package responses

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/history"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// continuable reports whether heldcall goes on by itself: the agent gets no call
// of the turn, and the model can be told of all of them.
func (s *resolution) continuable() bool {
	over := s.plan.Aborted != nil || s.failed || s.object == nil
	if over || s.req.Verb == history.Cancel || s.req.Verb.Beside() || !s.allDenied() || s.exhausted() {
		return false
	}
	for _, it := range s.calls() {
		if !it.answerable() {
			return false
		}
	}
	return true
}

func (s *resolution) exhausted() bool {
	return s.plan.UserMessage != "" || (s.denies() && s.denials >= s.limits.MaxContinuations) || s.continuations >= maxContinuations
}

// answers are the outputs of the calls that the agent does not get, by call.
func (s *resolution) answers() (outputs []string) {
	for _, it := range s.calls() {
		if s.reaches(it) || !it.answerable() {
			continue
		}
		r := it.ruling()
		if s.plan.Aborted != nil {
			r = intercept.Ruling{ModelMessage: s.plan.Aborted.ModelMessage}
		}
		outputs = append(outputs, it.outputs(r)...)
	}
	return outputs
}

// proceed tells the model what became of its calls and lets it go on.
func (s *resolution) proceed() (intercept.Resolution, error) {
	outputs := s.answers()
	next, err := s.continuation(outputs)
	if err != nil {
		return intercept.Resolution{}, fmt.Errorf("continue after a denial: %w", err)
	}
	if err := s.goOn(outputs); err != nil {
		return intercept.Resolution{}, err
	}
	s.sends = *next
	settled, err := s.settled(s.interim())
	settled.Next = next
	return settled, err
}

// goOn remembers the turn as one that the agent does not see all of.
func (s *resolution) goOn(outputs []string) error {
	r := s.round(outputs)
	for _, it := range s.items {
		if it.call == nil {
			s.output = append(s.output, it.entry.Raw)
		}
	}
	for _, raw := range append(s.turnItems(), outputs...) {
		if err := s.plan.Store(len(raw)); err != nil {
			return err
		}
	}
	s.rounds = append(s.rounds, r)
	s.text += s.said()
	s.priorUsage = strictjson.AddUsage(s.priorUsage, []byte(s.object.Usage))
	s.chain = append(s.chain, s.responseID())
	s.continuations++
	if s.denies() {
		s.denials++
	}
	return nil
}

// responseID is upstream's id of the current response.
func (a *answer) responseID() string {
	if a.object == nil {
		return ""
	}
	return gjson.Parse(a.object.Head.ID).Str
}

// continuation is the request by which the model goes on. Where upstream keeps
// the response it names it and brings the outputs only; else it repeats the
// whole history.
func (s *resolution) continuation(outputs []string) (*intercept.Envelope, error) {
	if next := s.fetch(); next != nil {
		return next, nil
	}
	next := s.sends
	if next.Method == http.MethodGet {
		next = s.restate()
	}
	body, err := history.Relax(next.Body)
	if err != nil {
		return nil, err
	}
	id := s.responseID()
	switch {
	case s.object.Conversation != "" || s.req.Conversation() != "":
		body, err = strictjson.SetField(body, "input", list(outputs))
	case (s.keeps() && id != "") || s.sends.Method == http.MethodGet:
		if body, err = strictjson.SetField(body, "previous_response_id", []byte(strictjson.Quote(id))); err == nil {
			body, err = strictjson.SetField(body, "input", list(outputs))
		}
	default:
		body, err = history.Extend(body, append(s.turnItems(), outputs...))
	}
	next.Body = body
	return &next, err
}

func list(items []string) []byte { return []byte("[" + strings.Join(items, ",") + "]") }

// fetch is the request for the response that goes on from this one, where an
// earlier request for the same response has made it.
func (s *resolution) fetch() *intercept.Envelope {
	next := s.req.Known.Following(s.responseID())
	if s.sends.Method != http.MethodGet || next == "" {
		return nil
	}
	e := s.sends
	e.Path = e.Path[:strings.LastIndexByte(e.Path, '/')+1] + url.PathEscape(next)
	return &e
}

// echoed are the fields of a response that repeat its request, and that a request
// may have.
var echoed = []string{
	"model", "instructions", "tools", "tool_choice", "text", "temperature", "top_p", "top_logprobs", "max_output_tokens", "max_tool_calls",
	"parallel_tool_calls", "metadata", "truncation", "service_tier", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "background", "store",
}

// restate is the request that the response was made by, as far as the response
// repeats it.
func (s *resolution) restate() intercept.Envelope {
	e := s.sends
	e.Method = http.MethodPost
	if head, id, ok := history.Identified(e.Path); ok {
		e.Path = head[:len(head)-len(id)-1]
	}
	query, include := splitQuery(e.Query)
	e.Query = query
	object := gjson.Parse(s.object.Raw)
	var fields []string
	add := func(name, raw string) { fields = append(fields, strictjson.Quote(name)+":"+raw) }
	for _, name := range echoed {
		v := object.Get(name)
		standard := (name == "temperature" || name == "top_p") && v.Num == 1 // some models take no other, and not this one either
		if v.Type != gjson.Null && !standard {
			add(name, v.Raw)
		}
	}
	var reasoning []string
	for _, name := range []string{"effort", "summary"} {
		if v := object.Get("reasoning." + name); v.Type == gjson.String {
			reasoning = append(reasoning, strictjson.Quote(name)+":"+v.Raw)
		}
	}
	if reasoning != nil {
		add("reasoning", "{"+strings.Join(reasoning, ",")+"}")
	}
	if include != nil {
		add("include", string(list(include)))
	}
	if !s.whole {
		add("stream", "true")
	}
	e.Body = []byte("{" + strings.Join(fields, ",") + "}")
	return e
}

// splitQuery takes what only a request for a response has out of a query: what is
// left goes with any request (the version of an API). What was to be included
// belongs into the body.
func splitQuery(query string) (rest string, include []string) {
	var parts []string
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		name, _ = url.QueryUnescape(name)
		switch strings.TrimSuffix(name, "[]") {
		case "":
		case "stream", "include_obfuscation":
		case "include":
			if value, err := url.QueryUnescape(value); err == nil {
				include = append(include, strictjson.Quote(value))
			}
		default:
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "&"), include
}
