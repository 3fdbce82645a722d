package proxy

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// blind is a dialect that looks at no answer: it lets it pass, or swallows it.
func blind(swallows bool) intercept.Dialect {
	return recast{codec: func(c intercept.Codec) intercept.Codec { return blindCodec{c, swallows} }}
}

type blindCodec struct {
	intercept.Codec
	swallows bool
}

func (c blindCodec) Read(p *intercept.Part) error {
	p.Rewritten = c.swallows
	return nil
}

func (blindCodec) Close(bool, bool) (c intercept.Contents, err error) { return c, nil }

func (c blindCodec) Plan(p *intercept.Plan) (r intercept.Resolution, err error) {
	p.Unchanged = !c.swallows
	return r, nil
}

func (blindCodec) Rewrite(*intercept.Part, *intercept.Plan) ([]intercept.Event, error) {
	return nil, nil
}

// closed is a dialect that serves none of its routes.
type closed struct{ chat.Dialect }

func (closed) Gates(string, string) (string, bool) { return "", false }

func TestCanaryFindsWhatWouldPass(t *testing.T) {
	for _, c := range []struct {
		name    string
		dialect intercept.Dialect
		want    string // in the error, "" for none
	}{
		{"as it is", chat.Dialect{}, ""},
		{"nothing is held", blind(false), "the call reached the agent although it was denied"},
		{"nothing is judged", blind(true), "the answer passed and policy was never asked"},
		{"a route is gone", closed{}, "the route is not served (status 501)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, c.dialect, "default: allow\n", fakemodel.Script(callBash))
			err := b.Canary(t.Context())
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "POST /v1/chat/completions (chat, streamed true): "+c.want) {
				t.Errorf("canary: %v", err)
			}
		})
	}
}

func TestSpellings(t *testing.T) {
	for _, path := range spellings("/v1/chat/completions") {
		got, err := normalPath(path)
		if err != nil || !strings.EqualFold(got, "/v1/chat/completions") {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
}
