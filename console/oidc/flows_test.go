package oidc

import (
	"testing"
	"time"
)

func TestSignInEndsOnceInTimeAndWhereItBegan(t *testing.T) {
	f, now := newFlows(), time.Now()
	begun, state, secret := f.begin(now)
	other, otherState, otherSecret := f.begin(now)
	if begun.nonce == other.nonce || begun.verifier == other.verifier || state == otherState {
		t.Fatal("two sign-ins have equal secrets")
	}
	if _, ok := f.end(state, otherSecret, now); ok {
		t.Error("another browser ended it")
	}
	if got, ok := f.end(state, secret, now.Add(flowTTL-time.Second)); !ok || got.nonce != begun.nonce {
		t.Error("its own browser did not end it")
	}
	if _, ok := f.end(state, secret, now); ok {
		t.Error("it ended twice")
	}
	if _, ok := f.end(otherState, otherSecret, now.Add(flowTTL)); ok {
		t.Error("one that took too long ended")
	}
}

// However many begin and are left, few are kept.
func TestSignInsThatAreLeftAreForgotten(t *testing.T) {
	f, now := newFlows(), time.Now()
	_, first, firstSecret := f.begin(now)
	for range maxFlows {
		f.begin(now)
	}
	if len(f.byState) != maxFlows || len(f.order) != maxFlows {
		t.Errorf("%d are kept, in an order of %d", len(f.byState), len(f.order))
	}
	if _, ok := f.end(first, firstSecret, now); ok {
		t.Error("the oldest is still known")
	}
	if f.begin(now.Add(flowTTL)); len(f.byState) != 1 || len(f.order) != 1 {
		t.Errorf("%d are kept, in an order of %d", len(f.byState), len(f.order))
	}
}
