package responses

import "github.com/heldcall/heldcall/intercept"

// callerSchema is what makes a call: the model itself, or a program that it wrote.
var callerSchema = &intercept.Schema{
	Types:    intercept.Null | intercept.Object,
	Fields:   map[string]*intercept.Schema{"type": {Types: intercept.String}, "caller_id": {Types: intercept.String}},
	Required: []string{"type"},
}
