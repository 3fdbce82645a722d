package questions

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/mask"
)

// The limits of one call.
const (
	maxQuestions = 10
	maxOptions   = 30
	maxFields    = 20
	maxID        = 64      // bytes of an id
	maxText      = 8 << 10 // bytes of any other text
	maxPattern   = 256     // bytes of a pattern
	maxOther     = 30      // arguments of a question that have no meaning
	maxName      = 128     // bytes of the name of such an argument, with its place
)

// arguments are those of all tools, and of the questions of request_input.
type arguments struct {
	ID            string     `json:"id"`
	Kind          string     `json:"kind"`
	Question      string     `json:"question"`
	Type          string     `json:"type"`
	Options       []option   `json:"options"`
	MaxSelections *int       `json:"max_selections"`
	AllowFreeText *bool      `json:"allow_free_text"`
	Default       string     `json:"default"`
	Tool          string     `json:"tool"`
	Fields        []argField `json:"fields"`
	Message       string     `json:"message"`

	Other jsontext.Value `json:",embed"`
}

type option struct {
	ID            string   `json:"id"`
	Label         string   `json:"label"`
	Description   string   `json:"description"`
	Recommended   bool     `json:"recommended"`
	RiskLevel     string   `json:"risk_level"`
	EstimatedTime string   `json:"estimated_time"`
	EstimatedCost string   `json:"estimated_cost"`
	Risks         []string `json:"risks"`

	Other jsontext.Value `json:",embed"`
}

type argField struct {
	Name        string `json:"name"`
	Label       string `json:"label"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Secret      *bool  `json:"secret"`
	InputType   string `json:"input_type"`
	Default     string `json:"default"`
	Placeholder string `json:"placeholder"`
	Pattern     string `json:"pattern"`

	Other jsontext.Value `json:",embed"`
}

// Read reads the questions in the arguments of a call of one of [Tools], or of an agent's
// own question tool. The error, for the model, names the argument that is not valid. The
// arguments of an agent's tool that are of no known form are one question.
func Read(tool, args string) (approvals.Kind, []approvals.Question, error) {
	t := find(tool)
	if t == nil {
		kind, list := readForeign(args)
		return kind, list, nil
	}
	if t.Kind != approvals.KindCombined {
		var one arguments
		if err := decode(args, &one); err != nil {
			return "", nil, err
		}
		if one.ID != "" || one.Kind != "" {
			return "", nil, errors.New("id and kind: only questions of request_input have them")
		}
		q, err := one.read(t.Kind)
		return t.Kind, []approvals.Question{q}, err
	}
	var all struct {
		Questions []arguments    `json:"questions"`
		Other     jsontext.Value `json:",embed"`
	}
	if err := decode(args, &all); err != nil {
		return "", nil, err
	}
	list, err := readAll(all.Questions)
	if err == nil {
		err = readOther(&list[0], "", all.Other)
	}
	return t.Kind, list, err
}

func readAll(all []arguments) ([]approvals.Question, error) {
	if n := len(all); n == 0 || n > maxQuestions {
		return nil, fmt.Errorf("questions: it has %d, 1 to %d are possible", n, maxQuestions)
	}
	var list []approvals.Question
	for i := range all {
		one := &all[i]
		where := fmt.Sprintf("questions/%d/", i)
		kind := approvals.Kind(one.Kind)
		taken := slices.ContainsFunc(list, func(q approvals.Question) bool { return q.ID == one.ID })
		if err := checkID(one.ID, taken); err != nil {
			return nil, fmt.Errorf("%sid: %w", where, err)
		}
		if kind != approvals.KindClarification && kind != approvals.KindDecision && kind != approvals.KindEnvVar {
			return nil, fmt.Errorf("%skind: it must be clarification, decision or env_var", where)
		}
		q, err := one.read(kind)
		if err != nil {
			return nil, fmt.Errorf("%s%w", where, err)
		}
		q.ID = one.ID
		list = append(list, q)
	}
	return list, nil
}

// decode reads arguments strictly: one JSON object. A name in another spelling, such as allowFreeText, is that argument, and
// not one more, since it has a meaning.
func decode(args string, to any) error {
	err := json.Unmarshal([]byte(args), to, json.MatchCaseInsensitiveNames(true))
	var semantic *json.SemanticError
	switch {
	case err == nil && !strings.HasPrefix(strings.TrimLeft(args, " \t\r\n"), "{"):
		return errors.New("the arguments are not a JSON object")
	case err == nil:
		return nil
	case errors.As(err, &semantic):
		return fmt.Errorf("%s: it has the wrong type of value", strings.TrimPrefix(string(semantic.JSONPointer), "/"))
	case errors.Is(err, jsontext.ErrDuplicateName):
		return errors.New("an argument is there twice")
	}
	return errors.New("the arguments are not strict JSON")
}

// readOther adds the arguments to a question that have no meaning, for people to see. at is the place of their object.
func readOther(q *approvals.Question, at string, object jsontext.Value) error {
	var members map[string]jsontext.Value
	if len(object) > 0 {
		if err := json.Unmarshal(object, &members); err != nil {
			return fmt.Errorf("read the other arguments: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := string(members[name])
		if value == "null" {
			continue
		}
		if members[name].Kind() == jsontext.KindString {
			if err := json.Unmarshal(members[name], &value); err != nil {
				return fmt.Errorf("read the other arguments: %w", err)
			}
		}
		if err := addOther(q, at+name, value); err != nil {
			return err
		}
	}
	return nil
}

func addOther(q *approvals.Question, name, value string) error {
	switch {
	case len(q.Other) == maxOther:
		return fmt.Errorf("%.*s: more than %d arguments are not known", maxName, name, maxOther)
	case len(name) > maxName:
		return fmt.Errorf("%.*s: a name is longer than %d bytes", maxName, name, maxName)
	case len(value) > maxText:
		return fmt.Errorf("%s: it is longer than %d bytes", name, maxText)
	}
	q.Other = append(q.Other, approvals.OtherArgument{Name: name, Value: value})
	return nil
}

// read checks one question of a kind.
func (a *arguments) read(kind approvals.Kind) (approvals.Question, error) {
	q := approvals.Question{Kind: kind, Question: a.Question}
	if err := a.checkMembers(kind); err != nil {
		return q, err
	}
	if err := readOther(&q, "", a.Other); err != nil {
		return q, err
	}
	if kind == approvals.KindEnvVar {
		q.Question, q.Tool = a.Message, a.Tool
		return q, a.readFields(&q)
	}
	if strings.TrimSpace(a.Question) == "" {
		return q, errors.New("question: it is missing")
	}
	types := clarificationTypes
	q.AllowFreeText = true
	if kind == approvals.KindDecision {
		types, q.AllowFreeText = decisionTypes, false
	}
	if a.AllowFreeText != nil {
		q.AllowFreeText = *a.AllowFreeText
	}
	if q.Type = a.Type; q.Type == "" {
		q.Type = typeCustom
	}
	if !slices.Contains(types, q.Type) {
		return q, fmt.Errorf("type: it must be one of %s", strings.Join(types, ", "))
	}
	if err := a.readOptions(&q); err != nil {
		return q, err
	}
	return q, a.readDefault(&q)
}

// checkMembers refuses the arguments of other kinds, and texts that are too long.
func (a *arguments) checkMembers(kind approvals.Kind) error {
	env := kind == approvals.KindEnvVar
	for _, m := range []struct {
		name        string
		given, fits bool
	}{
		{"question", a.Question != "", !env},
		{"type", a.Type != "", !env},
		{"options", a.Options != nil, !env},
		{"default", a.Default != "", !env},
		{"allow_free_text", a.AllowFreeText != nil, !env},
		{"max_selections", a.MaxSelections != nil, kind == approvals.KindDecision},
		{"tool", a.Tool != "", env},
		{"fields", a.Fields != nil, env},
		{"message", a.Message != "", env},
	} {
		if m.given && !m.fits {
			return fmt.Errorf("%s: a question of the kind %s does not have it", m.name, kind)
		}
	}
	return checkTexts(a.Question, a.Default, a.Tool, a.Message)
}

func checkTexts(texts ...string) error {
	if slices.ContainsFunc(texts, func(one string) bool { return len(one) > maxText }) {
		return fmt.Errorf("a text is longer than %d bytes", maxText)
	}
	return nil
}

func checkID(id string, taken bool) error {
	switch {
	case strings.TrimSpace(id) == "":
		return errors.New("it is missing")
	case len(id) > maxID:
		return fmt.Errorf("it is longer than %d bytes", maxID)
	case taken:
		return errors.New("another has the same id")
	}
	return nil
}

func (o *option) check() error {
	switch {
	case strings.TrimSpace(o.Label) == "":
		return errors.New("label: it is missing")
	case o.RiskLevel != "" && !slices.Contains(risks, o.RiskLevel):
		return fmt.Errorf("risk_level: it must be one of %s", strings.Join(risks, ", "))
	case len(o.Risks) > maxOptions:
		return fmt.Errorf("risks: at most %d are possible", maxOptions)
	}
	if err := checkTexts(append(o.Risks, o.Label, o.Description, o.EstimatedTime, o.EstimatedCost)...); err != nil {
		return fmt.Errorf(": %w", err)
	}
	return nil
}

func (a *arguments) readOptions(q *approvals.Question) error {
	if q.Type == typeConfirmation && len(a.Options) == 0 && !q.AllowFreeText {
		a.Options = []option{{ID: "yes", Label: "Yes"}, {ID: "no", Label: "No"}}
	}
	if n := len(a.Options); n > maxOptions || (!q.AllowFreeText && n < 2) {
		return fmt.Errorf("options: it has %d; without free text 2 to %d are possible", n, maxOptions)
	}
	for i := range a.Options {
		o, where := &a.Options[i], fmt.Sprintf("options/%d/", i)
		taken := slices.ContainsFunc(q.Options, func(other approvals.Option) bool { return other.ID == o.ID })
		if err := checkID(o.ID, taken); err != nil {
			return fmt.Errorf("%sid: %w", where, err)
		}
		if err := o.check(); err != nil {
			return fmt.Errorf("%s%w", where, err)
		}
		q.Options = append(q.Options, approvals.Option{
			ID: o.ID, Label: o.Label, Description: o.Description, Recommended: o.Recommended, RiskLevel: approvals.Risk(o.RiskLevel),
			EstimatedTime: o.EstimatedTime, EstimatedCost: o.EstimatedCost, Risks: o.Risks,
		})
		if err := readOther(q, where, o.Other); err != nil {
			return err
		}
	}
	q.MaxSelections = min(1, len(q.Options))
	if q.Type == typeMultiChoice {
		q.MaxSelections = len(q.Options)
	}
	if a.MaxSelections != nil {
		if n := *a.MaxSelections; n < 1 || n > max(1, len(q.Options)) {
			return fmt.Errorf("max_selections: it must be 1 to %d, the number of options", len(q.Options))
		}
		q.MaxSelections = min(*a.MaxSelections, len(q.Options))
	}
	return nil
}

func (a *arguments) readDefault(q *approvals.Question) error {
	known := slices.ContainsFunc(q.Options, func(o approvals.Option) bool { return o.ID == a.Default })
	if q.Default = a.Default; q.Default != "" && !known && !q.AllowFreeText {
		return errors.New("default: it must be the id of an option")
	}
	return nil
}

var fieldName = regexp.MustCompile("^" + mask.Name + "$")

func (a *arguments) readFields(q *approvals.Question) error {
	if n := len(a.Fields); n == 0 || n > maxFields {
		return fmt.Errorf("fields: it has %d, 1 to %d are possible", n, maxFields)
	}
	for i := range a.Fields {
		f, err := a.Fields[i].read()
		if err == nil && slices.ContainsFunc(q.Fields, func(other approvals.QuestionField) bool { return other.Name == f.Name }) {
			err = errors.New("name: another field has the same name")
		}
		if err != nil {
			return fmt.Errorf("fields/%d/%w", i, err)
		}
		q.Fields = append(q.Fields, f)
		if err := readOther(q, fmt.Sprintf("fields/%d/", i), a.Fields[i].Other); err != nil {
			return err
		}
	}
	return nil
}

func (f *argField) read() (approvals.QuestionField, error) {
	field := approvals.QuestionField{
		Name: f.Name, Label: f.Label, Description: f.Description, Required: f.Required, Secret: f.Secret == nil || *f.Secret,
		InputType: f.InputType, Default: f.Default, Placeholder: f.Placeholder, Pattern: f.Pattern,
	}
	if field.InputType == "" {
		field.InputType = "text"
	}
	switch {
	case !fieldName.MatchString(f.Name):
		return field, errors.New("name: it must be a name like that of an environment variable, of at most 64 characters")
	case !slices.Contains(inputTypes, field.InputType):
		return field, fmt.Errorf("input_type: it must be one of %s", strings.Join(inputTypes, ", "))
	case !field.Secret && (field.InputType == "password" || field.InputType == "api_key"):
		return field, fmt.Errorf("secret: a value of the type %s is a secret", field.InputType)
	case field.Secret && f.Default != "":
		return field, errors.New("default: a secret has none")
	case len(f.Pattern) > maxPattern:
		return field, fmt.Errorf("pattern: it is longer than %d bytes", maxPattern)
	}
	if _, err := wholePattern(f.Pattern); err != nil {
		return field, errors.New("pattern: it is not a regular expression of the syntax RE2")
	}
	if f.Default != "" {
		if reason := valueFault(&field, f.Default); reason != "" {
			return field, errors.New("default: " + reason)
		}
	}
	return field, checkTexts(f.Label, f.Description, f.Default, f.Placeholder)
}

// wholePattern compiles a pattern for whole values.
func wholePattern(pattern string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(pattern); err != nil { // else its brackets could end ours
		return nil, err
	}
	return regexp.Compile(`^(?:` + pattern + `)$`)
}

// valueFault returns the reason why a value does not fit a field, "" if it does.
func valueFault(f *approvals.QuestionField, value string) string {
	switch {
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return "it is not text in UTF-8"
	case len(value) > maxText:
		return fmt.Sprintf("it is longer than %d bytes", maxText)
	}
	if f.Pattern != "" {
		if pattern, err := wholePattern(f.Pattern); err != nil || !pattern.MatchString(value) {
			return "it does not match the pattern " + f.Pattern
		}
	}
	if f.InputType == "url" {
		if u, err := url.Parse(value); err != nil || u.Scheme == "" || u.Host == "" {
			return "it is not a URL with a scheme and a host"
		}
	}
	return ""
}
