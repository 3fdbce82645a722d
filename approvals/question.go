package approvals

import "slices"

// RuleQuestions is the Rule of a request that a model makes by a tool for questions.
const RuleQuestions = "questions"

// Question is one question of a model to people. A request of the kind combined has
// several, each with an id; other requests with questions have one. All texts are the
// model's.
type Question struct {
	ID            string          `json:"id,omitempty"` // in a combined request
	Kind          Kind            `json:"kind"`         // clarification, decision or env_var
	Type          string          `json:"type,omitempty"`
	Question      string          `json:"question"` // of env_var: the message, may be ""
	Options       []Option        `json:"options,omitempty"`
	MaxSelections int             `json:"max_selections,omitempty"` // of the options; 0 without options
	AllowFreeText bool            `json:"allow_free_text,omitempty"`
	Default       string          `json:"default,omitempty"` // at time-out: the id of an option or, where free text is allowed, a text; "" for none
	Tool          string          `json:"tool,omitempty"`    // of env_var: what needs the values
	Fields        []QuestionField `json:"fields,omitempty"`  // of env_var
	Other         []OtherArgument `json:"other,omitempty"`   // what else the model wrote in the call; it changes nothing
}

// OtherArgument is an argument of a question that has no meaning to heldcall.
type OtherArgument struct {
	Name  string `json:"name"`  // within the question, such as options/0/owner
	Value string `json:"value"` // a text as it is, else JSON
}

// Option is one of the answers that a question offers.
type Option struct {
	ID            string   `json:"id"`
	Label         string   `json:"label"`
	Description   string   `json:"description,omitempty"`
	Recommended   bool     `json:"recommended,omitempty"`
	RiskLevel     Risk     `json:"risk_level,omitempty"`
	EstimatedTime string   `json:"estimated_time,omitempty"`
	EstimatedCost string   `json:"estimated_cost,omitempty"`
	Risks         []string `json:"risks,omitempty"`
}

// QuestionField is one value that a question of the kind env_var asks for.
type QuestionField struct {
	Name        string `json:"name"`
	Label       string `json:"label,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Secret      bool   `json:"secret,omitempty"`
	InputType   string `json:"input_type,omitempty"` // text, password, url, api_key or file_path
	Default     string `json:"default,omitempty"`
	Placeholder string `json:"placeholder,omitempty"`
	Pattern     string `json:"pattern,omitempty"` // regular expression (RE2) that the whole value matches
}

// Response is the answer to one question: Values for env_var, else the others.
type Response struct {
	Answer   string            `json:"answer,omitempty"` // free text
	Selected []string          `json:"selected,omitempty"`
	Values   map[string]string `json:"values,omitempty"` // by the names of the fields
}

// Asks reports whether the request is a question of a model, which people answer, and not
// a call that they permit. An abridged one lacks its questions.
func (r *Request) Asks() bool {
	switch r.Kind {
	case KindClarification, KindDecision, KindEnvVar, KindCombined:
		return true
	}
	return false
}

// Ranked returns the options for people: recommended ones first.
func (q *Question) Ranked() []Option {
	ranked := slices.Clone(q.Options)
	slices.SortStableFunc(ranked, func(a, b Option) int {
		switch {
		case a.Recommended == b.Recommended:
			return 0
		case a.Recommended:
			return -1
		}
		return 1
	})
	return ranked
}

// HasDefault reports whether a question has an answer for the case that no person answers in
// time: for env_var, each required field has a default.
func (q *Question) HasDefault() bool {
	if q.Kind != KindEnvVar {
		return q.Default != ""
	}
	return !slices.ContainsFunc(q.Fields, func(f QuestionField) bool { return f.Required && f.Default == "" })
}

// HasDefaults reports whether all questions of the request have a default.
func (r *Request) HasDefaults() bool {
	return len(r.Details.Questions) > 0 && !slices.ContainsFunc(r.Details.Questions, func(q Question) bool { return !q.HasDefault() })
}

// AsksSecret reports whether a field of a name is for a secret.
func (d *Details) AsksSecret(name string) bool {
	return slices.ContainsFunc(d.Questions, func(q Question) bool {
		return slices.ContainsFunc(q.Fields, func(f QuestionField) bool { return f.Secret && f.Name == name })
	})
}
