package responses

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// continues reports whether heldcall continues the answer itself: the agent gets no call
// of the turn, and all of them have an output.
func (s *resolution) continues() bool {
	over := s.plan.Aborted != nil || s.body.failed || s.body.object == nil
	if over || s.req.operation == opCancel || s.req.operation.isAuxiliary() || !s.allDenied() || s.exhausted() {
		return false
	}
	return !slices.ContainsFunc(s.body.calls(), func(it *item) bool { return !it.answerable() })
}

// exhausted reports whether the answer must not be continued again.
func (s *resolution) exhausted() bool {
	return !s.plan.MayContinue(s.answer.units(), len(s.prior.rounds), s.prior.denials, s.answer.limits.MaxContinuations)
}

// outputs are the outputs of the calls that the agent does not get.
func (s *resolution) outputs() (list []string) {
	for _, it := range s.body.calls() {
		if s.reaches(it) || !it.answerable() {
			continue
		}
		r := it.ruling()
		if s.plan.Aborted != nil {
			r = intercept.Ruling{ModelMessage: s.plan.Aborted.ModelMessage}
		}
		list = append(list, it.outputs(r)...)
	}
	return list
}

// proceed sends the model the outputs of its calls, and remembers the turn.
func (s *resolution) proceed() (intercept.Resolution, error) {
	outputs := s.outputs()
	next, err := s.continuation(outputs)
	if err != nil {
		return intercept.Resolution{}, fmt.Errorf("continue after a denial: %w", err)
	}
	for _, raw := range append(s.body.history(), outputs...) {
		if err := s.plan.Store(len(raw)); err != nil {
			return intercept.Resolution{}, err
		}
	}
	prior := *s.prior
	prior.add(s.body, s.round(outputs), s.denies())
	s.answer.next = &following{prior, *next}
	resolved, err := s.resolved(s.interimRecord(prior.chain))
	resolved.Next = next
	return resolved, err
}

// continuation is the request by which the model continues. Where upstream keeps the
// response the request names it and brings only the outputs, else it repeats the whole
// history.
func (s *resolution) continuation(outputs []string) (*intercept.Envelope, error) {
	if next := s.fetch(); next != nil {
		return next, nil
	}
	next := s.answer.sends
	fetched := next.Method == http.MethodGet
	if fetched {
		next = s.restate()
	}
	body, err := relaxRequest(next.Body, !s.answers() || intercept.Frees(s.answer.units()))
	if err != nil {
		return nil, err
	}
	id := s.body.responseID()
	switch {
	case s.body.object.conversation != "" || s.req.conversation() != "":
		body, err = strictjson.SetField(body, "input", list(outputs))
	case (s.body.stored() && id != "" && !s.repeats()) || fetched:
		if body, err = strictjson.SetField(body, "previous_response_id", []byte(strictjson.Quote(id))); err == nil {
			body, err = strictjson.SetField(body, "input", list(outputs))
		}
	default:
		body, err = extendRequest(body, append(s.body.history(), outputs...))
	}
	next.Body = body
	return &next, err
}

// repeats reports whether the continuation has the whole conversation although the connection keeps the answer: the
// connection may have ended while people decided, and the agent's request has the conversation too.
func (s *resolution) repeats() bool {
	return s.req.outgoing.Connected && !s.body.object.stored && s.req.previous() == ""
}

// fetch is the request for the response that continues this one, where an earlier
// request for the same response has made it.
func (s *resolution) fetch() *intercept.Envelope {
	e := s.answer.sends
	next := s.req.memory.following(s.body.responseID())
	if e.Method != http.MethodGet || next == "" {
		return nil
	}
	e.Path = e.Path[:strings.LastIndexByte(e.Path, '/')+1] + url.PathEscape(next)
	return &e
}

// echoed are the fields of a response that repeat its request, and that a request
// may have.
var echoed = []string{
	"model", "instructions", "tools", "tool_choice", "text", "temperature", "top_p", "top_logprobs", "max_output_tokens", "max_tool_calls",
	"parallel_tool_calls", "metadata", "truncation", "service_tier", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "background", "store",
}

// restate is the request that made the response, as far as the response repeats it.
func (s *resolution) restate() intercept.Envelope {
	e := s.answer.sends
	e.Method = http.MethodPost
	if head, id, ok := identifiedRoute(e.Path); ok {
		e.Path = head[:len(head)-len(id)-1]
	}
	query, include := splitQuery(e.Query)
	e.Query = query
	object := gjson.Parse(s.body.object.raw)
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
	if !s.answer.whole {
		add("stream", "true")
	}
	e.Body = []byte("{" + strings.Join(fields, ",") + "}")
	return e
}

// splitQuery removes the parameters of a request for a response from a query. Others,
// such as the version of an API, fit any request. The values of include belong into the
// body.
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
