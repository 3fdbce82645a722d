package questions

import (
	"context"
	"maps"

	"github.com/heldcall/heldcall/approvals"
)

// ReplaceSecrets calls keep with the value of each secret field in a valid answer, and puts
// the result in its place. at is the field of the decision, for errors.
func ReplaceSecrets(r *approvals.Request, d *approvals.Decision, keep func(at, name, value string) (string, error)) error {
	if d.Action != approvals.ActionAnswer {
		return nil
	}
	replace := func(at string, q *approvals.Question, a *approvals.Response) error {
		values := maps.Clone(a.Values) // those of the caller stay
		for i := range q.Fields {
			f := &q.Fields[i]
			if !f.Secret || values[f.Name] == "" {
				continue
			}
			kept, err := keep(at+"values."+f.Name, f.Name, values[f.Name])
			if err != nil {
				return err
			}
			values[f.Name] = kept
		}
		a.Values = values
		return nil
	}
	list := r.Details.Questions
	if r.Kind != approvals.KindCombined {
		if len(list) == 0 {
			return nil
		}
		return replace("", &list[0], &d.Response)
	}
	d.Responses = maps.Clone(d.Responses)
	for i := range list {
		response := d.Responses[list[i].ID]
		if err := replace("responses."+list[i].ID+".", &list[i], &response); err != nil {
			return err
		}
		if _, answered := d.Responses[list[i].ID]; answered {
			d.Responses[list[i].ID] = response
		}
	}
	return nil
}

// RefuseSecrets refuses an answer with a value of a secret field, which nothing would keep
// from the model.
func RefuseSecrets(_ context.Context, r *approvals.Request, d *approvals.Decision) (settle func(context.Context, bool), err error) {
	return func(context.Context, bool) {}, ReplaceSecrets(r, d, func(at, _, _ string) (string, error) {
		return "", approvals.Invalid(at, "secrets cannot be kept here")
	})
}
