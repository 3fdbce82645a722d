package responses

import (
	"bytes"
	"slices"

	"github.com/heldcall/heldcall/intercept"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// readWhole reads an answer that is one JSON value.
func (a *answer) readWhole(p *intercept.Part) error {
	a.whole = true
	o, err := decodeWhole(string(p.Payloads[0]))
	if err != nil {
		return err
	}
	a.body.learn(o, true)
	a.out.begin(o.head)
	for _, e := range o.output {
		it, err := a.body.open(p, e, -1)
		if err != nil {
			return err
		}
		it.done = true
		a.body.addListed(it)
		switch {
		case a.req.operation == opCompact && it.call != nil && a.req.brought(e):
			it.call, it.Call = nil, false
		case a.req.operation == opCompact:
			it.Void = a.req.memory.hidesItem(e)
		case it.call != nil:
			it.Void = o.pending()
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
	o := readObject(&d, top, body)
	if !o.listed && namesCall(top.Get("type").Str) {
		d.Fail("it looks like a call of another API")
	}
	return o, d.Err()
}

// SafeError implements [intercept.Dialect]. An error body passes unless it could be
// an answer with calls. The text of an error message alone does not stop it.
func (Dialect) SafeError(body []byte) bool {
	if !strictjson.MayHoldCall(body) {
		return true
	}
	lower := bytes.ToLower(body)
	couldAnswer := bytes.Contains(lower, []byte(`"output"`)) || bytes.Contains(lower, []byte(`"item"`)) || bytes.Contains(lower, []byte(`\u00`))
	if strictjson.Strict(body) != nil {
		return !couldAnswer
	}
	o, err := decodeWhole(string(body))
	if err != nil {
		return !couldAnswer
	}
	return !slices.ContainsFunc(o.output, func(e *entry) bool { return e.form() != nil })
}

// rewriteWhole returns an answer that is one JSON value as the agent gets it.
func (a *answer) rewriteWhole(p *intercept.Plan) ([]intercept.Event, error) {
	o := a.body.object
	w := edit{answer: a, plan: p, Patch: strictjson.Patch{JSON: o.raw}}
	if o.listed || a.out.continued {
		w.response("", o, true)
	}
	return []intercept.Event{{Data: w.JSON}}, w.Err
}
