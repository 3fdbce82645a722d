package proxy

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/mask"
	"github.com/heldcall/heldcall/proxy/turn"
)

// unknownSecrets are those of a replica that cannot know what others have stored.
type unknownSecrets struct{ keptSecrets }

func (unknownSecrets) Await(context.Context) error {
	return fmt.Errorf("wait: %w", approvals.ErrStoreUnavailable)
}

// A request is refused while it is not known which secrets must be masked in it.
func TestUnknownSecrets(t *testing.T) {
	running := t.Context()
	stopped, stop := context.WithCancelCause(running)
	stop(turn.ErrShuttingDown)
	for name, tt := range map[string]struct {
		ctx     context.Context
		secrets Secrets
		want    intercept.Code
	}{
		"known":    {running, keptSecrets{}, ""},
		"none":     {running, nil, ""},
		"unknown":  {running, unknownSecrets{}, intercept.CodeStoreUnavailable},
		"stopping": {stopped, unknownSecrets{}, intercept.CodeShuttingDown},
	} {
		r := agentRequest{path: "/v1/x", body: []byte(`{"a":"` + kept[0].Value + `"}`)}
		var got intercept.Code
		if refusal := maskHead(tt.ctx, tt.secrets, approvals.Principal{}, &r, &fasthttp.RequestHeader{}); refusal != nil {
			got = refusal.Code
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A request that has waited, such as for a paused run, is masked again with the secrets that were stored
// meanwhile.
func TestSecretStoredWhileARequestWaits(t *testing.T) {
	var stored mutableSecrets
	r := agentRequest{path: "/v1/x", body: []byte(`{"a":"` + kept[0].Value + `"}`)}
	if refusal := maskHead(t.Context(), &stored, approvals.Principal{}, &r, &fasthttp.RequestHeader{}); refusal != nil {
		t.Fatal(refusal)
	}
	r.body = r.masker.JSON(r.body)
	u := maskedUpstream{secrets: &stored, masked: r.body, masker: r.masker}
	if body, _, refusal := u.maskedBody(t.Context(), r.body); refusal != nil || string(body) != string(r.body) {
		t.Errorf("%s, %v", body, refusal)
	}
	stored.masker = mask.New(kept)
	if body, _, refusal := u.maskedBody(t.Context(), r.body); refusal != nil || stored.masker.Contains(body) {
		t.Errorf("%s, %v", body, refusal)
	}
	u.secrets = unknownSecrets{}
	if _, _, refusal := u.maskedBody(t.Context(), []byte(`{"another":1}`)); refusal == nil || !errors.Is(refusal, approvals.ErrStoreUnavailable) {
		t.Errorf("%v", refusal)
	}
}

// mutableSecrets change during a test.
type mutableSecrets struct {
	keptSecrets
	masker *mask.Masker
}

func (s *mutableSecrets) Masker(approvals.Principal) (*mask.Masker, error) { return s.masker, nil }
