package intercept

import (
	"bytes"
	"fmt"
)

// RequestForm is what a dialect's requests have in common.
type RequestForm struct {
	API    string   // its name, for errors
	Array  string   // the field that has to be there and be an array, "" for none
	Fields []string // the fields whose values are looked at, Array too
}

// Asked is an agent's request. Its fields are stretches of the body, and are
// looked for when the first of them is needed: most requests pass unread.
type Asked struct {
	envelope Envelope
	form     *RequestForm
	looked   bool // fields were looked for
	fields   Fields
}

// Accept checks that the body is one that every parser reads alike, and leaves
// its fields for later. The error is an [*Error].
func (f *RequestForm) Accept(e Envelope) (Asked, error) {
	object := bytes.HasPrefix(bytes.TrimLeft(e.Body, " \t\r\n"), []byte("{"))
	if !object || f.Array != "" && !bytes.Contains(e.Body, []byte(`"`+f.Array+`"`)) || Strict(e.Body) != nil {
		return f.Parse(e) // knows what is wrong
	}
	return Asked{envelope: e, form: f}, nil
}

// Parse reads the fields of a body. The error is an [*Error].
func (f *RequestForm) Parse(e Envelope) (Asked, error) {
	a := Asked{envelope: e, form: f, looked: true}
	if err := a.read(); err != nil {
		return a, &Error{
			Code:   CodeBadRequest,
			Reason: "the request body is not a " + f.API + " request: " + err.Error(),
		}
	}
	return a, nil
}

func (a *Asked) read() (err error) {
	if a.fields, err = ReadFields(a.envelope.Body, a.form.Fields...); err != nil {
		return err
	}
	if a.form.Array == "" {
		return nil
	}
	if array := a.fields.Raw(a.form.Array); len(array) == 0 || array[0] != '[' {
		return fmt.Errorf("it has no %s array", a.form.Array)
	}
	return nil
}

// look looks for the fields. A body that has no array after all has no fields:
// it can be passed on, and not continued.
func (a *Asked) look() {
	if a.looked {
		return
	}
	a.looked = true
	if a.read() != nil {
		a.fields = Fields{}
	}
}

// Field is the value of a field as it stands in the body, nil where it is absent.
// It aliases the body.
func (a *Asked) Field(name string) []byte {
	a.look()
	return a.fields.Raw(name)
}

// At is where the value of a field stands in the body.
func (a *Asked) At(name string) (at Span, ok bool) {
	a.look()
	return a.fields.At(name)
}

// Envelope is the request as it goes upstream.
func (a *Asked) Envelope() Envelope { return a.envelope }

// With is the envelope with another body.
func (a *Asked) With(body []byte) Envelope {
	e := a.envelope
	e.Body = body
	return e
}
