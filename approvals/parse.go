package approvals

import (
	"cmp"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DecisionPayload is a decision as reviewers write it, with the fields that other tools
// use for yes and no. Unknown fields are ignored.
type DecisionPayload struct {
	RequestID      string              `json:"request_id"`
	ExecutionID    string              `json:"execution_id"` // the name of request_id in other tools
	Action         string              `json:"action"`
	Allow          *bool               `json:"allow"`
	Approved       *bool               `json:"approved"`
	Confirmed      *bool               `json:"confirmed"`
	ModifiedArgs   jsontext.Value      `json:"modified_args"`
	Note           string              `json:"note"`
	Window         string              `json:"window"`
	Confirm        string              `json:"confirm"`
	Assertion      jsontext.Value      `json:"assertion"`
	Patterns       []string            `json:"patterns"`
	GrantExpiresAt *GrantEnd           `json:"grant_expires_at"`
	Scope          GrantScope          `json:"scope"`
	Template       string              `json:"template"`
	Answer         string              `json:"answer"`
	Selected       []string            `json:"selected"`
	Values         map[string]string   `json:"values"`
	Responses      map[string]Response `json:"responses"`
	Save           bool                `json:"save"`
}

// ParseDecision parses a decision. The action "allow", and allow, approved or confirmed
// with the value true, are read as approve; with the value false, as deny. execution_id is
// read as request_id. Contradictions, duplicate names and other JSON that is not strict
// are refused. ReviewerID is empty: it is never taken from a payload. Every error is an
// [*InvalidError].
func ParseDecision(payload []byte) (Decision, error) {
	var p DecisionPayload
	if err := json.Unmarshal(payload, &p); err != nil {
		return Decision{}, notDecision(err)
	}
	if isEvent(payload) {
		return Decision{}, Invalid("payload", "it is an entry of the audit log (seq, hash), not a decision")
	}
	action, err := p.action()
	if err != nil {
		return Decision{}, err
	}
	if p.RequestID != "" && p.ExecutionID != "" && p.RequestID != p.ExecutionID {
		return Decision{}, Invalid("execution_id", "it differs from request_id; send one of them")
	}
	d := Decision{
		RequestID: cmp.Or(p.RequestID, p.ExecutionID),
		Action:    action,
		Note:      p.Note,
		Window:    p.Window,
		Confirm:   p.Confirm,
		Patterns:  p.Patterns,
		Scope:     p.Scope,
		Template:  p.Template,
		Response:  Response{Answer: p.Answer, Selected: p.Selected, Values: p.Values},
		Responses: p.Responses,
		Save:      p.Save,
	}
	if p.GrantExpiresAt != nil {
		d.GrantExpiresAt = &p.GrantExpiresAt.Time
	}
	if p.Assertion != nil && p.Assertion.Kind() != 'n' {
		d.Assertion = []byte(p.Assertion)
	}
	if p.ModifiedArgs != nil && p.ModifiedArgs.Kind() != 'n' {
		d.ModifiedArgs = []byte(p.ModifiedArgs)
	}
	return d, nil
}

// isEvent reports whether a payload is an entry of the audit log. The entry of a decision
// would be read as a decision if it were delivered as one.
func isEvent(payload []byte) bool {
	var event struct {
		Seq  jsontext.Value `json:"seq"`
		Hash jsontext.Value `json:"hash"`
	}
	return json.Unmarshal(payload, &event) == nil && event.Seq != nil && event.Hash != nil
}

// action returns the action that all fields for yes and no agree on.
func (p *DecisionPayload) action() (Action, error) {
	action := Action(p.Action)
	if action == "allow" {
		action = ActionApprove
	}
	for _, word := range []struct {
		name string
		yes  *bool
	}{{"allow", p.Allow}, {"approved", p.Approved}, {"confirmed", p.Confirmed}} {
		if word.yes == nil {
			continue
		}
		meant := ActionDeny
		if *word.yes {
			meant = ActionApprove
		}
		action = cmp.Or(action, meant)
		if (*word.yes && !action.Approves()) || (!*word.yes && !action.denies()) {
			return "", Invalid(word.name, "%t contradicts the rest of the decision (%s)", *word.yes, action)
		}
	}
	if action == "" {
		return "", Invalid("action", "it is missing: approve, deny, modify_args, allow_always, deny_always, answer or abort_run")
	}
	return action, nil
}

// notDecision returns an error with the field that cannot be read, if that is known.
func notDecision(err error) *InvalidError {
	var semantic *json.SemanticError
	if errors.As(err, &semantic) && semantic.JSONPointer != "" {
		return &InvalidError{strings.TrimPrefix(string(semantic.JSONPointer), "/"), "it has the wrong type of value"}
	}
	return &InvalidError{"payload", "not strict JSON of a decision: " + err.Error()}
}
