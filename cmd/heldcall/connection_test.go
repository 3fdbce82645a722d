package main

import (
	"errors"
	"testing"
)

// An id that a script left empty, or nearly so, decides nothing: it is refused
// before anybody is asked which requests there are.
func TestTooShortIDNamesNothing(t *testing.T) {
	for _, id := range []string{"", "0", "01M"} {
		var usage *usageError
		if _, err := resolve(t.Context(), nil, &id); !errors.As(err, &usage) {
			t.Errorf("id %q: %v, want a usage error", id, err)
		}
	}
}
