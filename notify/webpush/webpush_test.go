package webpush_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/internal/testing/memstore"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/webpush"
	"github.com/heldcall/heldcall/notify/webpush/pushtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inGroups decides by groups alone.
func inGroups(r *approvals.Request, d approvals.Decision) bool {
	return !r.Status.Final() && d.Tenants.Has(r.Principal.Tenant) && (len(r.Reviewers) == 0 || slices.ContainsFunc(d.ReviewerGroups, func(g string) bool { return slices.Contains(r.Reviewers, g) }))
}

var people = map[string]reviewers.Reviewer{
	"ann": {Name: "ann", Role: reviewers.RoleReviewer, Groups: []string{"finance"}},
	"bob": {Name: "bob", Role: reviewers.RoleAdmin, Groups: []string{"oncall"}},
	"cyd": {Name: "cyd", Role: reviewers.RoleReviewer, Groups: []string{"it"}}, // has no token
	"fay": {Name: "fay", Role: reviewers.RoleReviewer, Tenants: approvals.TenantScope{"acme"}},
	"dan": {Name: "dan", Role: reviewers.RoleViewer, Groups: []string{"finance", "oncall"}},
}

// desk is a channel, with a log.
type desk struct {
	*webpush.Push
	t   *testing.T
	log *bytes.Buffer
	end func()
}

func open(t *testing.T, state *memstore.Store, change ...func(*webpush.Options)) *desk {
	t.Helper()
	s := state.Reopen()
	d := &desk{t: t, log: &bytes.Buffer{}}
	o := webpush.Options{
		Store: s.Push, CanApprove: inGroups, Contact: "ops@example.com", Private: true, Log: slog.New(slog.NewTextHandler(d.log, nil)),
		Reviewer:   func(name string) (reviewers.Reviewer, bool) { r, ok := people[name]; return r, ok },
		HoldsToken: func(name string) bool { return name != "cyd" }, Rights: func() string { return "today's" },
	}
	for _, f := range change {
		f(&o)
	}
	push, err := webpush.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	d.Push = push
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- d.Run(ctx) }()
	<-d.Ready()
	d.end = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ran, s.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(d.end)
	return d
}

// subscribe subscribes a browser of a reviewer.
func (d *desk) subscribe(reviewer string, b *pushtest.Browser) reviewers.Subscription {
	d.t.Helper()
	s, err := d.Subscribe(d.t.Context(), reviewer, nil, b.Endpoint, b.P256DH+"=", b.Auth)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

const argument = "opensesame-argument"

func request(id, tool string, groups ...string) approvals.Request {
	return approvals.Request{
		ID: id, Status: approvals.StatusPending, ToolName: tool, Principal: approvals.Principal{Agent: "claude-code"}, RiskLevel: approvals.RiskHigh,
		Kind: approvals.KindPermission, Arguments: json.RawMessage(`{"command":"` + argument + `"}`), Resource: argument, ArgsPreview: argument, Reviewers: groups,
		ExpiresAt: time.Now().Add(5 * time.Minute),
	}
}

func delivery(requests ...approvals.Request) notify.Delivery {
	return notify.Delivery{ID: requests[0].ID, Requests: requests}
}

// receivers are who gets the next n messages, in a fixed order.
func receivers(s *pushtest.Service, n int) (paths []string) {
	for range n {
		paths = append(paths, s.Await().Path)
	}
	slices.Sort(paths)
	s.None()
	return paths
}

func TestPushIsReadByTheBrowserAlone(t *testing.T) {
	service := pushtest.New(t)
	d := open(t, memstore.New(memstore.Options{}))
	d.subscribe("ann", service.Browser())
	r := request("01KAKZ00000000000000000001", "ba\u202esh\n\u200b\u3164")
	if _, err := d.Post(t.Context(), delivery(r)); err != nil {
		t.Fatal(err)
	}
	m := service.Await()
	if want := `{"id":"01KAKZ00000000000000000001","count":1,"kind":"permission","tool":"ba�sh ��","agent":"claude-code","risk":"high"}`; m.Payload != want {
		t.Errorf("the browser reads %s", m.Payload)
	}
	if m.Topic != r.ID || m.Urgency != "high" || (m.TTL != "300" && m.TTL != "299" && !strings.HasPrefix(m.TTL, "2")) || m.Key != d.PublicKey() || m.Contact != "mailto:ops@example.com" {
		t.Errorf("topic %q, urgency %q, TTL %q, key %q, contact %q", m.Topic, m.Urgency, m.TTL, m.Key, m.Contact)
	}
	if bytes.Contains(m.Body, []byte("claude")) || len(m.Body) < 3000 {
		t.Errorf("the service can read the message or its length: %d bytes", len(m.Body))
	}
}

func TestPreviewIsShownWhereItIsWanted(t *testing.T) {
	service := pushtest.New(t)
	d := open(t, memstore.New(memstore.Options{}), func(o *webpush.Options) { o.Preview = true })
	d.subscribe("ann", service.Browser())
	if _, err := d.Post(t.Context(), delivery(request("1", "bash"))); err != nil {
		t.Fatal(err)
	}
	if m := service.Await(); !strings.Contains(m.Payload, `"preview":"`+argument+`"`) {
		t.Errorf("the browser reads %s", m.Payload)
	}
}

// A notification has the heading of the card, and no arguments of a call that may hold a secret.
func TestNoticesHaveTheHeading(t *testing.T) {
	service := pushtest.New(t)
	d := open(t, memstore.New(memstore.Options{}), func(o *webpush.Options) { o.Preview = true })
	d.subscribe("ann", service.Browser())
	r := request("1", "bash")
	r.Effects = []approvals.Effect{{Kind: approvals.EffectDestroy, Target: "/srv/data"}}
	secret := r
	secret.ID, secret.ArgsPreview = "2", "curl -H 'Authorization: "+argument+"'"
	for _, tt := range []struct {
		request approvals.Request
		want    string
	}{
		{r, `"heading":"Destroys /srv/data","preview":"` + argument + `"}`},
		{secret, `"heading":"Destroys data in 1 call"}`},
	} {
		if _, err := d.Post(t.Context(), delivery(tt.request)); err != nil {
			t.Fatal(err)
		}
		if m := service.Await(); !strings.Contains(m.Payload, tt.want) {
			t.Errorf("the browser reads %s, want %s", m.Payload, tt.want)
		}
	}
}

// A notification has the kind of its requests, by which the browser names them. The preview
// of a question is the question.
func TestKindsOfRequests(t *testing.T) {
	question, result := request("1", "request_decision"), request("2", "bash")
	question.Kind, question.Title, question.ArgsPreview = approvals.KindDecision, "The agent asks for a decision", "Which region?"
	result.Kind = approvals.KindResult
	for _, tt := range []struct {
		requests []approvals.Request
		want     string
	}{
		{[]approvals.Request{question}, `"count":1,"kind":"decision","tool":"request_decision","agent":"claude-code","risk":"high","preview":"Which region?"}`},
		{[]approvals.Request{result}, `"count":1,"kind":"result","tool":"bash"`},
		{[]approvals.Request{request("3", "bash"), request("4", "ls")}, `"count":2,"kind":"permission"`},
		{[]approvals.Request{question, result}, `"count":2,"kind":""`},
	} {
		service := pushtest.New(t)
		d := open(t, memstore.New(memstore.Options{}), func(o *webpush.Options) { o.Preview = true })
		d.subscribe("ann", service.Browser())
		if _, err := d.Post(t.Context(), delivery(tt.requests...)); err != nil {
			t.Fatal(err)
		}
		if m := service.Await(); !strings.Contains(m.Payload, tt.want) {
			t.Errorf("the browser reads %s, want %s", m.Payload, tt.want)
		}
	}
}

func TestEachReviewerIsToldOfTheirOwn(t *testing.T) {
	service := pushtest.New(t)
	d := open(t, memstore.New(memstore.Options{}))
	ann, phone, bob := service.Browser(), service.Browser(), service.Browser()
	d.subscribe("ann", ann)
	d.subscribe("ann", phone)
	d.subscribe("bob", bob)
	d.subscribe("dan", service.Browser()) // who decides nothing
	d.subscribe("eve", service.Browser()) // whom nobody knows any more

	both, finance := request("01", "bash"), request("02", "transfer", "finance")
	ref, err := d.Post(t.Context(), delivery(both, finance))
	if err != nil || ref == "" {
		t.Fatal(ref, err)
	}
	counts := map[string]string{}
	for range 3 {
		m := service.Await()
		counts[m.Path] = m.Payload
	}
	service.None()
	if !strings.Contains(counts[ann.Path()], `"count":2`) || !strings.Contains(counts[phone.Path()], `"count":2`) || !strings.Contains(counts[bob.Path()], `"count":1`) {
		t.Errorf("they read %v", counts)
	}
	if d.Wants([]approvals.Request{request("03", "x", "legal")}) || !d.Wants([]approvals.Request{finance}) {
		t.Error("the recipients are not known")
	}

	// What has ended is replaced where it was shown.
	for _, r := range []*approvals.Request{&both, &finance} {
		r.Status, r.Decisions = approvals.StatusDenied, []approvals.Decision{{ReviewerID: "bob"}}
	}
	if _, err := d.Update(t.Context(), delivery(both, finance), ref); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if m := service.Await(); !strings.Contains(m.Payload, `"ended":"denied","by":"bob"`) || m.Topic != "01" {
			t.Errorf("topic %s: %s", m.Topic, m.Payload)
		}
	}
	service.None()
}

// A reviewer of some tenants gets the requests of these, and learns of the end of no other.
func TestReviewersAreToldOfTheirTenants(t *testing.T) {
	service := pushtest.New(t)
	d := open(t, memstore.New(memstore.Options{}))
	fay, bob := service.Browser(), service.Browser()
	d.subscribe("fay", fay)
	d.subscribe("bob", bob)
	theirs, other := request("01", "bash"), request("02", "bash")
	theirs.Principal.Tenant, other.Principal.Tenant = "acme", "globex"
	for q, want := range map[*approvals.Request][]string{&theirs: {fay.Path(), bob.Path()}, &other: {bob.Path()}} {
		slices.Sort(want)
		ref, err := d.Post(t.Context(), delivery(*q))
		if got := receivers(service, len(want)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s reaches %v, want %v (%v)", q.Principal.Tenant, got, want, err)
		}
		q.Status = approvals.StatusDenied
		if _, err := d.Update(t.Context(), delivery(*q), ref); err != nil {
			t.Fatal(err)
		}
		if got := receivers(service, len(want)); !slices.Equal(got, want) {
			t.Errorf("the end of %s reaches %v, want %v", q.Principal.Tenant, got, want)
		}
	}
}

// Reviewers who are not in the configuration get messages while their sign-in is valid,
// with the rights of the sign-in.
func TestSignInIsValidForNotifications(t *testing.T) {
	service := pushtest.New(t)
	d := open(t, memstore.New(memstore.Options{}))
	signed := func(who reviewers.Reviewer, lasts time.Duration) *pushtest.Browser {
		b := service.Browser()
		if _, err := d.Subscribe(t.Context(), who.Name, &reviewers.SignedIn{Who: who, Until: time.Now().Add(lasts)}, b.Endpoint, b.P256DH, b.Auth); err != nil {
			t.Fatal(err)
		}
		return b
	}
	want := signed(reviewers.Reviewer{Name: "zoe", Role: reviewers.RoleReviewer, Groups: []string{"finance"}}, time.Hour)
	signed(reviewers.Reviewer{Name: "yan", Role: reviewers.RoleReviewer, Groups: []string{"finance"}}, -time.Second)
	signed(reviewers.Reviewer{Name: "bob", Role: reviewers.RoleReviewer, Groups: []string{"finance"}}, time.Hour) // configured meanwhile, for other things
	if _, err := d.Post(t.Context(), delivery(request("01", "transfer", "finance"))); err != nil {
		t.Fatal(err)
	}
	if got := receivers(service, 1); got[0] != want.Path() {
		t.Errorf("%v gets a message", got)
	}
}

// Reviewers whose rights have changed since their sign-in get messages by their present
// rights, and none if the configuration no longer names them.
func TestRightsAreThoseOfNow(t *testing.T) {
	service, state := pushtest.New(t), memstore.New(memstore.Options{})
	browsers := map[string]*pushtest.Browser{}
	told := func(d *desk, id string, group string, want ...string) {
		t.Helper()
		if _, err := d.Post(t.Context(), delivery(request(id, "transfer", group))); err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, name := range want {
			paths = append(paths, browsers[name].Path())
		}
		slices.Sort(paths)
		if got := receivers(service, len(want)); !slices.Equal(got, paths) {
			t.Errorf("the recipients of %s are %v, want %v", group, got, want)
		}
		service.None()
	}
	d := open(t, state)
	for _, name := range []string{"cyd", "zoe"} {
		browsers[name] = service.Browser()
		who := reviewers.Reviewer{Name: name, Role: reviewers.RoleReviewer, Groups: []string{"board"}}
		if _, err := d.Subscribe(t.Context(), name, &reviewers.SignedIn{Who: who, Until: time.Now().Add(time.Hour)}, browsers[name].Endpoint, browsers[name].P256DH, browsers[name].Auth); err != nil {
			t.Fatal(err)
		}
	}
	told(d, "01", "board", "zoe") // cyd is of it by name, and of another group
	told(d, "02", "it", "cyd")
	d.end()
	d = open(t, state)
	told(d, "03", "board", "zoe")
	d.end()
	d = open(t, state, func(o *webpush.Options) { o.Rights = func() string { return "tomorrow's" } })
	told(d, "04", "board")
	told(d, "05", "it", "cyd")
}

func TestEscalationTellsTheOthers(t *testing.T) {
	service := pushtest.New(t)
	d := open(t, memstore.New(memstore.Options{}))
	ann, bob := service.Browser(), service.Browser()
	d.subscribe("ann", ann)
	d.subscribe("bob", bob)
	r := request("01", "transfer", "finance")
	ref, err := d.Post(t.Context(), delivery(r))
	if got := receivers(service, 1); err != nil || got[0] != ann.Path() {
		t.Fatal(got, err)
	}
	r.Reviewers = append(r.Reviewers, "oncall")
	escalated := delivery(r)
	if ref, err = d.Update(t.Context(), escalated, ref); err != nil || service.Await().Path != bob.Path() {
		t.Fatal(err)
	}
	if _, err = d.Update(t.Context(), escalated, ref); err != nil {
		t.Fatal(err)
	}
	service.None()
}

// Reviewers see and end their own subscriptions only.
func TestOwnSubscriptionsOnly(t *testing.T) {
	service := pushtest.New(t)
	d := open(t, memstore.New(memstore.Options{}))
	shared := service.Browser()
	first := d.subscribe("ann", shared)
	if err := d.Unsubscribe(t.Context(), "bob", first.ID); err != nil || len(d.Subscriptions("ann")) != 1 {
		t.Errorf("bob ends the subscription of ann: %v", err)
	}
	d.subscribe("bob", shared) // who signed in after her
	if len(d.Subscriptions("ann")) != 0 || len(d.Subscriptions("bob")) != 1 {
		t.Error("a browser has the subscriptions of two reviewers")
	}
	for range 25 {
		d.subscribe("ann", service.Browser())
	}
	if n := len(d.Subscriptions("ann")); n != 20 {
		t.Errorf("ann has %d browsers", n)
	}
	if err := d.Unsubscribe(t.Context(), "bob", first.ID); err != nil || d.Wants([]approvals.Request{request("1", "x", "oncall")}) {
		t.Errorf("bob gets a message after he has unsubscribed: %v", err)
	}
}

func TestWhatIsNoSubscriptionIsRefused(t *testing.T) {
	service := pushtest.New(t)
	b := service.Browser()
	d := open(t, memstore.New(memstore.Options{}), func(o *webpush.Options) { o.Private = false })
	for _, c := range []struct{ endpoint, p256dh, auth string }{
		{"https://push.example.com/x", b.P256DH[:80], b.Auth},
		{"https://push.example.com/x", strings.Repeat("A", 87), b.Auth},
		{"https://push.example.com/x", b.P256DH, "AAAA"},
		{"http://push.example.com/x", b.P256DH, b.Auth},
		{"ftp://push.example.com/x", b.P256DH, b.Auth},
		{"//push.example.com/x", b.P256DH, b.Auth},
		{"https://user:pass@push.example.com/x", b.P256DH, b.Auth},
		{"https://127.0.0.1/x", b.P256DH, b.Auth},
		{"https://[::1]/x", b.P256DH, b.Auth},
		{"https://[::ffff:10.0.0.1]/x", b.P256DH, b.Auth},
		{"https://169.254.169.254/latest/meta-data", b.P256DH, b.Auth},
		{"https://100.100.100.200/x", b.P256DH, b.Auth},
		{"https://[64:ff9b::7f00:1]/x", b.P256DH, b.Auth},
		{"https://push.example.com/" + strings.Repeat("x", 2048), b.P256DH, b.Auth},
		{b.Endpoint, b.P256DH, b.Auth},
	} {
		var invalid *approvals.InvalidError
		if _, err := d.Subscribe(t.Context(), "ann", nil, c.endpoint, c.p256dh, c.auth); !errors.As(err, &invalid) {
			t.Errorf("%.60s is taken: %v", c.endpoint, err)
		}
	}
}

// A name may lead to an address near heldcall: what it resolves to counts.
func TestNamesThatLeadInsideAreNotConnectedTo(t *testing.T) {
	service := pushtest.New(t)
	d := open(t, memstore.New(memstore.Options{}), func(o *webpush.Options) { o.Private = false })
	b := service.Browser()
	b.Endpoint = "https://localhost:" + b.Endpoint[strings.LastIndex(b.Endpoint, ":")+1:]
	reached := make(chan struct{}, 1)
	service.Answers(func(http.ResponseWriter, string) bool { reached <- struct{}{}; return true })
	d.subscribe("ann", b)
	_, err := d.Post(t.Context(), delivery(request("01", "bash")))
	if err == nil || !strings.Contains(err.Error(), "not on the open internet") || strings.Contains(err.Error(), b.Path()) || len(reached) != 0 {
		t.Errorf("the error is %v", err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	service := pushtest.New(t)
	d := open(t, memstore.New(memstore.Options{}))
	first, second := service.Browser(), service.Browser()
	d.subscribe("ann", first)
	service.Answers(func(w http.ResponseWriter, path string) bool {
		if path == first.Path() {
			w.Header().Set("Location", second.Endpoint)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
		return path == first.Path()
	})
	if _, err := d.Post(t.Context(), delivery(request("01", "bash"))); err != nil {
		t.Error(err)
	}
	service.None()
	if !strings.Contains(d.log.String(), "status=307") || strings.Contains(d.log.String(), first.Path()) {
		t.Errorf("the log is %s", d.log)
	}
}
