package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store"
)

// A replica knows the secrets that another one stored before, also after one was deleted. Without
// the server it is not known which there are.
func TestSecretsOfAnotherReplica(t *testing.T) {
	external := startExternal(t, 0, t.TempDir())
	first, second := open(t, store.Options{URL: external.url}), open(t, store.Options{URL: external.url})
	var known sync.Map
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- second.Secrets.WatchSecrets(ctx, func(id string, _ []byte, _ uint64) { known.Store(id, true) }, func(id string, _ uint64) { known.Delete(id) }, func() {})
	}()
	await := func() {
		t.Helper()
		if err := second.Secrets.AwaitSecrets(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	await() // no secret was ever stored
	for i := range 200 {
		id := fmt.Sprint("secret", i%20)
		if _, err := first.Secrets.CreateSecret(t.Context(), id, []byte("sealed")); err != nil {
			t.Fatal(err)
		}
		await()
		if _, is := known.Load(id); !is {
			t.Fatalf("%d: %s is not known", i, id)
		}
		if err := first.Secrets.DeleteSecret(t.Context(), id, 0); err != nil {
			t.Fatal(err)
		}
		await()
		if _, is := known.Load(id); is {
			t.Fatalf("%d: %s is known after its end", i, id)
		}
	}
	external.stop()
	if err := second.Secrets.AwaitSecrets(t.Context()); !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Errorf("without a server: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
