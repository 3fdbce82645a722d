package judge

import (
	"errors"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
)

// PermitsSecret reports whether policy lets a call get the value of a secret.
func (r *Rules) PermitsSecret(from Origin, c intercept.Call, name string) bool {
	return r.policy.PermitsSecret(from.call(c), name)
}

// InsertSecrets returns the arguments of a call with values in place of the handles of
// secrets, by their names. Deny rules judge the result. The error, for the model, does not
// contain a value.
func (r *Rules) InsertSecrets(from Origin, c intercept.Call, values map[string]string) (string, error) {
	if _, wraps := c.Wrapped(); wraps {
		return "", errors.New("the call wraps other calls; make each of them a call of its own")
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
