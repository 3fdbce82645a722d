package console

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/problem"
)

// scriptedPush remembers what it was asked.
type scriptedPush struct {
	asked [][]string
	err   error
}

func (*scriptedPush) PublicKey() string { return "the-key" }

func (p *scriptedPush) Subscribe(_ context.Context, reviewer string, _ *reviewers.SignedIn, endpoint, p256dh, auth string) (reviewers.Subscription, error) {
	p.asked = append(p.asked, []string{reviewer, endpoint, p256dh, auth})
	return reviewers.Subscription{ID: "s1", Endpoint: endpoint, Auth: auth}, p.err
}

func (*scriptedPush) Subscriptions(reviewer string) []reviewers.Subscription {
	return []reviewers.Subscription{{ID: "s1", Reviewer: reviewer, Endpoint: "https://push.example/secret", Auth: "secret", CreatedAt: time.Unix(0, 0).UTC()}}
}

func (p *scriptedPush) Unsubscribe(_ context.Context, reviewer, id string) error {
	p.asked = append(p.asked, []string{reviewer, id})
	return p.err
}

func TestPush(t *testing.T) {
	push := &scriptedPush{}
	base := start(t, &scriptedGate{}, func(o *Options) { o.Push = push })
	status, _, body := ask(t, "GET", base+"/api/v1/push", "")
	if want := `{"public_key":"the-key","browsers":[{"id":"s1","service":"push.example","created_at":"1970-01-01T00:00:00Z"}]}` + "\n"; status != 200 || body != want {
		t.Errorf("answer is %d %s", status, body)
	}
	const subscription = `{"endpoint":"https://push.example/secret","expirationTime":null,"keys":{"p256dh":"P","auth":"A"}}`
	status, _, body = ask(t, "POST", base+"/api/v1/push", subscription)
	if status != 200 || strings.Contains(body, "secret") || !strings.Contains(body, `"id":"s1"`) {
		t.Errorf("answer is %d %s", status, body)
	}
	if status, _, _ = ask(t, "DELETE", base+"/api/v1/push/s1", ""); status != 204 {
		t.Errorf("answer is %d", status)
	}
	if diff := cmp.Diff([][]string{{"local", "https://push.example/secret", "P", "A"}, {"local", "s1"}}, push.asked); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{``, `[]`, `{"reviewer":"bob"}`, `{"endpoint":1}`} {
		status, header, body := ask(t, "POST", base+"/api/v1/push", bad)
		wantProblem(t, status, header, body, 422, problem.CodeInvalid)
	}
	push.err = &approvals.InvalidError{Field: "endpoint", Reason: "is not https"}
	status, header, body := ask(t, "POST", base+"/api/v1/push", subscription)
	wantProblem(t, status, header, body, 422, problem.CodeInvalid)
}
