package webpush

import (
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

func TestBrowsers(t *testing.T) {
	b, now := newBrowsers(), time.Now()
	if b.any() {
		t.Error("there are browsers from the start")
	}
	for id, age := range map[string]time.Duration{"old": time.Hour, "new": 0, "middle": time.Minute} {
		b.put(reviewers.Subscription{ID: id, CreatedAt: now.Add(-age)})
	}
	b.put(reviewers.Subscription{ID: "old", CreatedAt: now.Add(-2 * time.Hour), Reviewer: "ann"})
	ids := ""
	for _, s := range b.all() {
		ids += s.ID + " "
	}
	if ids != "new middle old " {
		t.Errorf("they are %s", ids)
	}
	if s, known := b.get("old"); !known || s.Reviewer != "ann" {
		t.Errorf("%+v, %v", s, known)
	}
	b.remove("old")
	if _, known := b.get("old"); known || !b.any() {
		t.Error("one is removed, the others are not")
	}
}
