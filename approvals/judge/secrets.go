package judge

import (
	"errors"
	"slices"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/secrets"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/wrapped"
)

// UseSecrets sets the secrets that calls may get. It must be called before the first call
// is judged.
func (j *Judge) UseSecrets(s *secrets.Secrets) { j.secrets = s }

// Secrets returns the names of the stored secrets whose handles a call has. A call that the
// provider runs gets no values.
func (r *Rules) Secrets(from Origin, c intercept.Call) (names []string) {
	if r.secrets == nil || c.ReadOnly {
		return nil
	}
	for _, name := range policy.SecretNames(c.Arguments, c.FreeText) {
		if _, ok := r.secrets.Value(from.Principal, from.Session, name); ok {
			names = append(names, name)
		}
	}
	return names
}

// PermitsSecret reports whether policy lets a call get the value of a secret.
func (r *Rules) PermitsSecret(from Origin, c intercept.Call, name string) bool {
	return r.policy.PermitsSecret(from.call(c), name)
}

// InsertSecrets returns the arguments of a call with the values of secrets in place of their
// handles, by the names that [Rules.Secrets] has returned. Deny rules judge the result. The error, for the model,
// does not contain a value.
func (r *Rules) InsertSecrets(from Origin, c intercept.Call, names []string) (string, error) {
	if from.mayWrap(c) {
		return "", errors.New("the call wraps other calls; make each of them a call of its own")
	}
	values := map[string]string{}
	for _, name := range names {
		values[name], _ = r.secrets.Value(from.Principal, from.Session, name)
	}
	text, err := r.policy.InsertSecrets(from.call(c), values)
	if err != nil {
		return "", err
	}
	c.Arguments = text
	if r.Verdict(from, c).Action == policy.Deny {
		return "", errors.New("a rule denies the call with the value")
	}
	return text, nil
}

// mayWrap reports whether a call wraps others, or agents may take it for one that does, also where the calls in it are
// not certain.
func (o *Origin) mayWrap(c intercept.Call) bool {
	wraps := func(name string) bool {
		other := c
		other.Name = name
		reading := wrapped.Read(other, o.Offer)
		return reading.Kind != wrapped.None || len(reading.Doubts) > 0
	}
	call := o.call(c)
	return wraps(c.Name) || (!call.Offered && (wrapped.Wraps(call.Tool) || slices.ContainsFunc(call.Near, wraps)))
}
