package chat

import (
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/outline"
)

func FuzzHosted(f *testing.F) {
	intercepttest.FuzzHosted(f, "messages", func(body []byte) (intercept.Request, *outline.Tools, error) {
		r, err := parseRequest(intercept.Envelope{Body: body})
		return r, &r.Tools, err
	})
}
