package questions

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// readForeign reads the arguments of an agent's own question tool: a question, or a list
// of questions, with options that are texts or objects with a label. Their ids are
// numbers. People may always answer in their own words. Other arguments are one question.
func readForeign(args string) (approvals.Kind, []approvals.Question) {
	var list []approvals.Question
	if strictjson.Strict([]byte(args)) == nil {
		all := gjson.Parse(args)
		if several := all.Get("questions"); several.IsArray() {
			for _, one := range several.Array() {
				list = append(list, foreignQuestion(one))
			}
		} else if all.IsObject() {
			list = append(list, foreignQuestion(all))
		}
	}
	readable := len(list) > 0 && len(list) <= maxQuestions
	for _, q := range list {
		readable = readable && q.Question != "" && len(q.Options) <= maxOptions
	}
	if !readable {
		return approvals.KindClarification, []approvals.Question{{Kind: approvals.KindClarification, Type: typeCustom, Question: args, AllowFreeText: true}}
	}
	if len(list) == 1 {
		return list[0].Kind, list
	}
	taken := make(map[string]bool)
	for i := range list {
		if id := list[i].ID; id == "" || len(id) > maxID || taken[id] {
			list[i].ID = strconv.Itoa(i + 1)
		}
		taken[list[i].ID] = true
	}
	return approvals.KindCombined, list
}

func foreignQuestion(v gjson.Result) approvals.Question {
	q := approvals.Question{Kind: approvals.KindClarification, Type: typeCustom, AllowFreeText: true, ID: v.Get("id").String()}
	q.Question = first(v, "question", "text", "prompt", "header")
	options := v.Get("options")
	if !options.IsArray() {
		options = v.Get("follow_up")
	}
	if !options.IsArray() {
		return q
	}
	for i, o := range options.Array() {
		label := first(o, "label", "text", "value", "name")
		if o.Type == gjson.String {
			label = o.Str
		}
		q.Options = append(q.Options, approvals.Option{
			ID: strconv.Itoa(i + 1), Label: label, Description: o.Get("description").String(), Recommended: strings.HasSuffix(label, "(Recommended)"),
		})
	}
	if len(q.Options) == 0 {
		return q
	}
	q.Kind, q.Type, q.MaxSelections = approvals.KindDecision, "single_choice", 1
	for _, name := range []string{"multiSelect", "multiple", "multi_select"} {
		if v.Get(name).Bool() {
			q.Type, q.MaxSelections = typeMultiChoice, len(q.Options)
		}
	}
	return q
}

// first returns the first of some members that is a text.
func first(v gjson.Result, names ...string) string {
	for _, name := range names {
		if text := v.Get(name); text.Type == gjson.String && strings.TrimSpace(text.Str) != "" {
			return text.Str
		}
	}
	return ""
}
