package responses

import (
	"bytes"
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// readWhole reads an answer that is one JSON body.
func (a *answer) readWhole(framed bool) error {
	body, err := a.upstream.Value(framed)
	if err != nil {
		return err
	}
	o, err := decodeWhole(string(body))
	if err != nil {
		return err
	}
	a.learn(o, true)
	for _, e := range o.output {
		it, err := a.open(e, -1)
		if err != nil {
			return err
		}
		it.over = true
		a.ending = append(a.ending, it)
		switch {
		case a.req.verb == compact && it.call != nil && a.req.brought(e):
			it.call = nil
		case a.req.verb == compact:
			it.void = a.req.known.hides(e)
		case it.call != nil:
			it.void = o.pending()
		}
		if !e.uniform() {
			if err := it.unlike(); err != nil {
				return err
			}
		}
	}
	return nil
}

// decodeWhole reads a whole answer that is strict JSON.
func decodeWhole(body string) (*object, error) {
	var d intercept.Reading
	top := gjson.Parse(body)
	if !top.IsObject() {
		d.Unknown("", top)
		return &object{raw: body}, d.Err()
	}
	o := readObject(&d, top)
	if !o.listed && speaksOfCalls(typeOf(top)) {
		d.Refuse("it looks like a call of another API")
	}
	return o, d.Err()
}

// Harmless implements [intercept.Dialect]. An error body passes unless it could be
// an answer with calls; the words of an error message alone do not stop it.
func (Dialect) Harmless(body []byte) bool {
	if !intercept.MayHoldCall(body) {
		return true
	}
	lower := bytes.ToLower(body)
	couldAnswer := bytes.Contains(lower, []byte(`"output"`)) || bytes.Contains(lower, []byte(`"item"`)) || bytes.Contains(lower, []byte(`\u00`))
	if intercept.Strict(body) != nil {
		return !couldAnswer
	}
	o, err := decodeWhole(string(body))
	if err != nil {
		return !couldAnswer
	}
	return !slices.ContainsFunc(o.output, func(e *entry) bool { return e.form() != nil })
}

// finishWhole renders a whole answer whose calls were changed, or that comes after
// hidden turns.
func (s *settling) finishWhole() ([]byte, error) {
	w := edit{answer: s.answer, plan: &s.plan, Patch: intercept.Patch{JSON: s.object.raw}}
	if s.object.listed || s.continuations > 0 {
		w.response("", s.object, true)
	}
	return []byte(w.JSON), w.Err
}
