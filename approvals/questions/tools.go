// Package questions is the tools by which a model asks people: their definitions, the
// questions in the arguments of their calls, the answers of people, and what the model
// gets in place of a result. It also reads the question tools of well-known agents.
//
// Read tools.go (the definitions), read.go and foreign.go (arguments become questions),
// check.go (which answers are valid) and result.go (texts for the model).
package questions

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/heldcall/heldcall/internal/toolname"
)

// Tool is a tool that heldcall offers models.
type Tool struct {
	Name        string
	Offer       string // its name in a policy
	Kind        approvals.Kind
	Description string
	Parameters  string // JSON Schema
	Strict      string // the same for providers whose strict schemas require each property
}

// Tools returns the tools in the order in which they are offered.
func Tools() []Tool { return slices.Clone(tools) }

// Offers are the names of the tools in a policy.
func Offers() []string {
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Offer
	}
	return names
}

// OfferOf returns the name in a policy of one of [Tools], "" for other tools.
func OfferOf(tool string) string {
	if t := find(tool); t != nil {
		return t.Offer
	}
	return ""
}

// Defined reports whether a definition is that of one of [Tools], as a provider repeats it: with another
// description, or other parameters, it is still the tool.
func Defined(name, description, parameters string) bool {
	t := find(name)
	return t != nil && (t.Description == description || slices.Equal(properties(t.Parameters), properties(parameters)))
}

// properties are the names of the properties of a schema, sorted.
func properties(schema string) (names []string) {
	gjson.Get(schema, "properties").ForEach(func(name, _ gjson.Result) bool {
		names = append(names, name.Str)
		return true
	})
	slices.Sort(names)
	return names
}

// Canonical returns the name of the one of [Tools] that a model means by a name, as agents mend names; "" if it
// means none.
func Canonical(name string) string {
	if find(name) != nil {
		return name
	}
	keys := toolname.AllKeys(name)
	for i := range tools {
		if slices.Contains(keys, toolname.Key(tools[i].Name)) {
			return tools[i].Name
		}
	}
	return ""
}

func find(name string) *Tool {
	i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &tools[i]
}

var tools = []Tool{
	newTool("request_clarification", "clarification", approvals.KindClarification,
		"Ask the people who supervise you a question when the task is unclear: its scope, the approach, something that is missing, or a priority. The result has their answer. Ask only if you cannot find the answer yourself and a wrong guess would cost much.",
		append([]parameter{text("question", "The question, with all that people need to know to answer it.").needed()}, clarification...)),
	newTool("request_decision", "decision", approvals.KindDecision,
		"Let the people who supervise you decide between options that you describe. The result has the ids of the selected options. Use it before a choice that is hard to undo or that is not yours.",
		append([]parameter{text("question", "What is to be decided, and why.").needed()}, decision...)),
	newTool("request_env_var", "env_var", approvals.KindEnvVar,
		"Ask the people who supervise you for values that you need and do not have, such as a password, a token, an address or an account name. The result has the values by name; of a secret it has a handle, secret://NAME. Write the handle where the value belongs in the arguments of a tool call: the tool gets the value. You never see it. Never ask for a value in plain text in your answer instead.",
		envVar),
	newTool("request_input", "input", approvals.KindCombined,
		"Ask the people who supervise you several questions at once: clarifications, decisions and values. The result has an entry for each question by its id.",
		[]parameter{list("questions", "The questions.", combined).needed()}),
}

func newTool(name, offer string, kind approvals.Kind, description string, of []parameter) Tool {
	return Tool{Name: name, Offer: offer, Kind: kind, Description: description, Parameters: object(of, false), Strict: object(of, true)}
}

var (
	clarificationTypes = []string{"scope", "approach", "prerequisite", "priority", "confirmation", typeCustom}
	decisionTypes      = []string{"branch", "method", typeConfirmation, "risk", "single_choice", typeMultiChoice, typeCustom}
	inputTypes         = []string{"text", "password", "url", "api_key", "file_path"}
	risks              = []string{string(approvals.RiskLow), string(approvals.RiskMedium), string(approvals.RiskHigh), string(approvals.RiskCritical)}
)

const (
	typeConfirmation = "confirmation"
	typeMultiChoice  = "multi_choice"
	typeCustom       = "custom"
)

var (
	ofType      = func(types []string) parameter { return one("type", "The kind of question.", types) }
	freeText    = truth("allow_free_text", "Whether people may answer in their own words. Default: true for a clarification, false for a decision.")
	byDefault   = text("default", "The answer if nobody answers in time: the id of an option or, where free text is allowed, a text.")
	basicOption = []parameter{
		text("id", "A short id, unique among the options.").needed(), text("label", "The option in a few words.").needed(),
		text("description", "What the option means."), truth("recommended", "Whether you recommend it."),
	}
	ratedOption = []parameter{
		one("risk_level", "How much harm it can do.", risks), text("estimated_time", "How long it takes, such as 20 min."),
		text("estimated_cost", "What it costs."),
		{name: "risks", kind: "strings", note: "What can go wrong."},
	}
	selections    = parameter{name: "max_selections", kind: "integer", note: "How many options may be selected. Default: 1, or all for multi_choice."}
	clarification = []parameter{ofType(clarificationTypes), list("options", "Answers to choose from, if there are likely ones.", basicOption), freeText, byDefault}
	decision      = []parameter{ofType(decisionTypes), list("options", "The options.", slices.Concat(basicOption, ratedOption)), selections, byDefault, freeText}
	envVar        = []parameter{
		text("tool", "The tool or program that needs the values."), list("fields", "The values.", fields).needed(), text("message", "Why you need them."),
	}
	fields = []parameter{
		text("name", "Name of the value, like that of an environment variable.").needed(), text("label", "What people know it as."),
		text("description", "Where people find it, and what it is used for."), truth("required", "Whether you cannot go on without it."),
		truth("secret", "Whether it is a secret. Default: true."), one("input_type", "What it is.", inputTypes), text("default", "The value if people give none."),
		text("placeholder", "An example."), text("pattern", "Regular expression that the whole value matches."),
	}
	combined = []parameter{
		text("id", "A short id, unique among the questions.").needed(),
		one("kind", "What the question asks for.", []string{string(approvals.KindClarification), string(approvals.KindDecision), string(approvals.KindEnvVar)}).needed(),
		text("question", "The question. Not for env_var."), ofType(slices.Compact(slices.Sorted(slices.Values(slices.Concat(clarificationTypes, decisionTypes))))),
		list("options", "Options of a clarification or a decision.", slices.Concat(basicOption, ratedOption)), selections, freeText, byDefault,
		text("tool", "For env_var: the tool or program that needs the values."), list("fields", "For env_var: the values.", fields), text("message", "For env_var: why you need them."),
	}
)

// parameter is a property in the schema of a tool.
type parameter struct {
	name, kind, note string
	values           []string    // of an enumeration
	items            []parameter // of a list of objects
	required         bool
}

func text(name, note string) parameter { return parameter{name: name, kind: "string", note: note} }
func truth(name, note string) parameter {
	return parameter{name: name, kind: "boolean", note: note}
}

func one(name, note string, values []string) parameter {
	return parameter{name: name, kind: "string", note: note, values: values}
}

func list(name, note string, items []parameter) parameter {
	return parameter{name: name, kind: "objects", note: note, items: items}
}

func (p parameter) needed() parameter {
	p.required = true
	return p
}

// object renders the schema of an object. In a strict schema each property is required, and
// those that may be left out may be null.
func object(of []parameter, strict bool) string {
	var properties, required []string
	for _, p := range of {
		properties = append(properties, strictjson.Quote(p.name)+":"+p.schema(strict))
		if p.required || strict {
			required = append(required, strictjson.Quote(p.name))
		}
	}
	schema := `{"type":"object","properties":{` + strings.Join(properties, ",") + "}"
	if len(required) > 0 {
		schema += `,"required":[` + strings.Join(required, ",") + "]"
	}
	return schema + `,"additionalProperties":false}`
}

func (p parameter) schema(strict bool) string {
	kind, rest := p.kind, ""
	switch p.kind {
	case "strings":
		kind, rest = "array", `,"items":{"type":"string"}`
	case "objects":
		kind, rest = "array", `,"items":`+object(p.items, strict)
	}
	kind = strictjson.Quote(kind)
	nullable := strict && !p.required
	if nullable {
		kind = "[" + kind + `,"null"]`
	}
	if p.values != nil {
		values := make([]string, 0, len(p.values)+1)
		for _, value := range p.values {
			values = append(values, strictjson.Quote(value))
		}
		if nullable {
			values = append(values, "null")
		}
		rest = `,"enum":[` + strings.Join(values, ",") + "]"
	}
	return `{"type":` + kind + `,"description":` + strictjson.Quote(p.note) + rest + "}"
}
