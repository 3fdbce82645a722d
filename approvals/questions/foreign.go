package questions

import (
	"fmt"
	"slices"
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
	list, readable := foreignQuestions(args)
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

// foreignQuestions reads questions, and reports whether they and what else is there are within the limits.
func foreignQuestions(args string) (list []approvals.Question, fits bool) {
	all := gjson.Parse(args)
	if strictjson.Strict([]byte(args)) != nil || !all.IsObject() {
		return nil, false
	}
	objects, several := []gjson.Result{all}, all.Get("questions").IsArray()
	if several {
		objects = all.Get("questions").Array()
	}
	if len(objects) == 0 || len(objects) > maxQuestions {
		return nil, false
	}
	for _, object := range objects {
		list = append(list, foreignQuestion(object))
		if !readForeignOther(&list[len(list)-1], object) {
			return nil, false
		}
	}
	return list, !several || addForeignOther(&list[0], "", all, "questions")
}

var (
	questionNames = []string{"question", "text", "prompt", "header"}
	labelNames    = []string{"label", "text", "value", "name"}
	listNames     = []string{"options", "follow_up"}
	severalNames  = []string{"multiSelect", "multiple", "multi_select"}
)

func foreignQuestion(v gjson.Result) approvals.Question {
	q := approvals.Question{Kind: approvals.KindClarification, Type: typeCustom, AllowFreeText: true, ID: v.Get("id").String()}
	_, q.Question = first(v, questionNames)
	_, options := listOf(v)
	if options == nil {
		return q
	}
	for i, o := range options {
		_, label := first(o, labelNames)
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
	for _, name := range severalNames {
		if v.Get(name).Bool() {
			q.Type, q.MaxSelections = typeMultiChoice, len(q.Options)
		}
	}
	return q
}

// readForeignOther adds what foreignQuestion has not read, for people to see, and reports whether it is within the limits.
func readForeignOther(q *approvals.Question, v gjson.Result) bool {
	title, _ := first(v, questionNames)
	list, options := listOf(v)
	if !addForeignOther(q, "", v, append([]string{"id", title, list}, severalNames...)...) {
		return false
	}
	for i, o := range options {
		label, _ := first(o, labelNames)
		if o.IsObject() && !addForeignOther(q, fmt.Sprintf("%s/%d/", list, i), o, label, "description") {
			return false
		}
	}
	return true
}

// addForeignOther adds the members of an object but for some, and reports whether they are within the limits.
func addForeignOther(q *approvals.Question, at string, object gjson.Result, known ...string) bool {
	fits := true
	object.ForEach(func(name, value gjson.Result) bool {
		if value.Type != gjson.Null && !slices.Contains(known, name.Str) {
			fits = addOther(q, at+name.Str, value.String()) == nil
		}
		return fits
	})
	return fits
}

// listOf returns the options of a question, and the name of the member that has them; nil for none.
func listOf(v gjson.Result) (name string, options []gjson.Result) {
	for _, name := range listNames {
		if list := v.Get(name); list.IsArray() {
			return name, list.Array()
		}
	}
	return "", nil
}

// first returns the first of some members that is a text.
func first(v gjson.Result, names []string) (name, value string) {
	for _, name := range names {
		if text := v.Get(name); text.Type == gjson.String && strings.TrimSpace(text.Str) != "" {
			return name, text.Str
		}
	}
	return "", ""
}
