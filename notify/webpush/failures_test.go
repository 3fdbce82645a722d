package webpush_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/internal/testing/memstore"
	"github.com/heldcall/heldcall/notify/webpush/pushtest"
)

func TestFailuresAreOfOneBrowser(t *testing.T) {
	broken, service := pushtest.New(t), pushtest.New(t)
	d := open(t, memstore.New(memstore.Options{}))
	d.subscribe("ann", broken.Browser())
	whole := service.Browser()
	d.subscribe("bob", whole)
	asked := make(chan struct{}, 100)
	broken.Answers(func(w http.ResponseWriter, _ string) bool {
		asked <- struct{}{}
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	sent := delivery(request("01", "bash"))
	_, err := d.Post(t.Context(), sent)
	if err == nil || strings.Contains(err.Error(), "/push/") || strings.Contains(err.Error(), argument) {
		t.Errorf("the error is %v", err)
	}
	if m := service.Await(); m.Path != whole.Path() {
		t.Error("the other gets no message")
	}
	<-asked
	if _, err := d.Post(t.Context(), sent); err == nil || !strings.Contains(err.Error(), "is paused until") || len(asked) != 0 {
		t.Errorf("a service that has just failed is asked at once: %v", err)
	}
	service.None()
	broken.None()
}

// A service that has failed is tried again later, and browsers that got the message
// meanwhile do not get it twice.
func TestAServiceThatHasFailedIsAskedAgain(t *testing.T) {
	broken, service := pushtest.New(t), pushtest.New(t)
	d := open(t, memstore.New(memstore.Options{}))
	d.subscribe("ann", broken.Browser())
	d.subscribe("bob", service.Browser())
	broken.Answers(func(w http.ResponseWriter, _ string) bool { w.WriteHeader(http.StatusServiceUnavailable); return true })
	sent := delivery(request("01", "bash"))
	_, err := d.Post(t.Context(), sent)
	if err == nil {
		t.Error("all get a message")
	}
	service.Await()
	broken.Answers(nil)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, err = d.Post(t.Context(), sent); err == nil || time.Now().After(deadline) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	broken.Await()
	service.None()
}

// A limit of a service for one browser does not affect the others.
func TestTooManyMessagesAreOfOneBrowser(t *testing.T) {
	service := pushtest.New(t)
	d := open(t, memstore.New(memstore.Options{}))
	tired, other := service.Browser(), service.Browser()
	d.subscribe("ann", tired)
	d.subscribe("bob", other)
	service.Answers(func(w http.ResponseWriter, path string) bool {
		if path == tired.Path() {
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(http.StatusTooManyRequests)
		}
		return path == tired.Path()
	})
	for i := range 3 {
		if _, err := d.Post(t.Context(), delivery(request(fmt.Sprint("0", i), "bash"))); err == nil {
			t.Error("all get a message")
		}
		if m := service.Await(); m.Path != other.Path() {
			t.Errorf("%s gets a message", m.Path)
		}
	}
	service.None()
}

// Browsers that got a request get its end, although another service is dead.
func TestDeadServiceDelaysNoEnd(t *testing.T) {
	dead, service := pushtest.New(t), pushtest.New(t)
	d := open(t, memstore.New(memstore.Options{}))
	d.subscribe("ann", dead.Browser())
	whole := service.Browser()
	d.subscribe("bob", whole)
	dead.Answers(func(w http.ResponseWriter, _ string) bool { w.WriteHeader(http.StatusServiceUnavailable); return true })
	r := request("01", "bash")
	ref, err := d.Post(t.Context(), delivery(r))
	if err == nil || ref == "" || service.Await().Path != whole.Path() {
		t.Fatalf("posted as %q: %v", ref, err)
	}
	if ref, err = d.Update(t.Context(), delivery(r), ref); err == nil || ref == "" {
		t.Errorf("no browser is left: %q, %v", ref, err)
	}
	service.None()
	r.Status = approvals.StatusDenied
	if _, err := d.Update(t.Context(), delivery(r), ref); err != nil {
		t.Errorf("the end is sent to a browser that did not get the request: %v", err)
	}
	if m := service.Await(); !strings.Contains(m.Payload, `"ended":"denied"`) {
		t.Errorf("the browser reads %s", m.Payload)
	}
}

func TestSubscriptionsThatAreGoneAreForgotten(t *testing.T) {
	for _, code := range []int{http.StatusNotFound, http.StatusGone} {
		service, state := pushtest.New(t), memstore.New(memstore.Options{})
		d := open(t, state)
		gone, stays := service.Browser(), service.Browser()
		d.subscribe("ann", gone)
		left := d.subscribe("ann", stays)
		service.Answers(func(w http.ResponseWriter, path string) bool {
			if path == gone.Path() {
				w.WriteHeader(code)
			}
			return path == gone.Path()
		})
		if _, err := d.Post(t.Context(), delivery(request("01", "bash"))); err != nil {
			t.Fatal(err)
		}
		service.Await()
		key := d.PublicKey()
		d.end()
		again := open(t, state)
		want := []reviewers.Subscription{left}
		if diff := cmp.Diff(want, again.Subscriptions("ann")); diff != "" || again.PublicKey() != key {
			t.Errorf("after a restart (key kept: %t):\n%s", again.PublicKey() == key, diff)
		}
		again.end()
	}
}
