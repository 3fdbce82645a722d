package history

import (
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
)

func FuzzHosted(f *testing.F) {
	intercepttest.FuzzHosted(f, "input", func(body []byte) (intercepttest.Offering, *intercept.ToolList, error) {
		r, err := AcceptRequest(intercept.Envelope{Method: "POST", Path: "/responses", Body: body})
		return r, &r.Tools, err
	})
}
