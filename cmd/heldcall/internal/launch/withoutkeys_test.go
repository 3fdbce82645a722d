package launch

import (
	"slices"
	"testing"
)

// Secrets of heldcall are not in the environment of the command. The proxy of its own programs is, also if heldcall uses it.
func TestSecretsOfProxiesInTheEnvironment(t *testing.T) {
	got := WithoutKeys([]string{"PROXY_PASSWORD=w:rd-of-bob", "HTTPS_PROXY=http://bob:w:rd-of-bob@p:1", "no_proxy=x", "OTHER=http://bob:w:rd-of-bob@p:1"}, nil, []string{"w:rd-of-bob"})
	if want := []string{"HTTPS_PROXY=http://bob:w:rd-of-bob@p:1", "no_proxy=x"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
