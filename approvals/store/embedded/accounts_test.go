package embedded

import (
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/time/rate"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

func TestSetListen(t *testing.T) {
	for _, tt := range []struct {
		listen, fails string // part of the error
	}{
		{listen: "-"},
		{listen: "127.0.0.1:0"},
		{listen: "localhost:0"},
		{listen: "127.0.0.1", fails: "missing port"},
		{listen: "127.0.0.1:x", fails: "not a port"},
		{listen: "127.0.0.1:65536", fails: "not a port"},
		{listen: ":0", fails: "loopback"},
		{listen: "0.0.0.0:0", fails: "loopback"},
		{listen: "example.com:0", fails: "loopback"},
	} {
		var opts server.Options
		err := setListen(&opts, tt.listen)
		if tt.fails == "" && (err != nil || opts.DontListen != (tt.listen == "-")) {
			t.Errorf("%s: %v, %+v", tt.listen, err, opts.DontListen)
		}
		if tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails) || !strings.Contains(err.Error(), "nats.listen")) {
			t.Errorf("%s: %v, want %s", tt.listen, err, tt.fails)
		}
	}
}

// client is a client connection with credentials.
type client struct {
	server.ClientAuthentication
	given server.ClientOpts
	kind  int
	user  *server.User
}

func (c *client) GetOpts() *server.ClientOpts    { return &c.given }
func (c *client) Kind() int                      { return c.kind }
func (c *client) RegisterUser(user *server.User) { c.user = user }

func (c *client) RemoteAddress() net.Addr { return nil }

func TestAuth(t *testing.T) {
	token, hash := reviewers.NewToken()
	directory, err := reviewers.NewDirectory([]reviewers.Entry{{Reviewer: reviewers.Reviewer{Name: "rob", Role: reviewers.RoleReviewer}, TokenSHA256: hash}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		given server.ClientOpts
		open  bool
		want  string // user, "" if refused
	}{
		{"heldcall", server.ClientOpts{Username: ownUser, Password: "secret"}, false, ownUser},
		{"the consumer service", server.ClientOpts{Username: serviceUser, Password: "secret"}, false, serviceUser},
		{"heldcall's name with a wrong password", server.ClientOpts{Username: ownUser, Password: "x"}, true, ""},
		{"heldcall's name with a reviewer's token", server.ClientOpts{Username: ownUser, Password: token}, true, ""},
		{"a token", server.ClientOpts{Token: token}, false, "rob"},
		{"a name and its token", server.ClientOpts{Username: "rob", Password: token}, false, "rob"},
		{"another name with the token", server.ClientOpts{Username: "ada", Password: token}, true, ""},
		{"a wrong token", server.ClientOpts{Token: "x"}, true, ""},
		{"a wrong token beside a right password", server.ClientOpts{Token: "x", Username: "rob", Password: token}, true, ""},
		{"nothing, where it is needed", server.ClientOpts{}, false, ""},
		{"nothing, where it is not needed", server.ClientOpts{}, true, botUser},
		{"the bots' name alone", server.ClientOpts{Username: botUser}, true, botUser},
		{"a token beside the key of another", server.ClientOpts{Token: token, Nkey: "ada"}, false, ""},
		{"another name alone", server.ClientOpts{Username: "rob"}, true, ""},
	} {
		a := &auth{reviewers: directory, open: tt.open, password: "secret", log: slog.New(slog.DiscardHandler), refused: rate.Sometimes{First: 1}, bots: server.NewAccount(botAccount), consumers: server.NewAccount(consumerAccount)}
		c := &client{given: tt.given, kind: server.CLIENT}
		accepted := a.Check(c)
		if accepted != (tt.want != "") || (accepted && c.user.Username != tt.want) || (!accepted && c.user != nil) {
			t.Errorf("%s: accepted %v as %+v, want %q", tt.name, accepted, c.user, tt.want)
		}
		account := a.bots
		switch tt.want {
		case ownUser:
			account = nil
		case serviceUser:
			account = a.consumers
		}
		if accepted && c.user.Account != account {
			t.Errorf("%s: in the account %v", tt.name, c.user.Account)
		}
	}
	if a := (&auth{open: true}); a.Check(&client{kind: server.LEAF}) {
		t.Error("a leaf node was accepted")
	}
}

// Reviewers may publish under their names as their role permits. They may not read the
// consumers of channels.
func TestPermissionsOfReviewers(t *testing.T) {
	for role, want := range map[reviewers.Role][]string{
		reviewers.RoleViewer:   {},
		reviewers.RoleReviewer: {"heldcall.v1.decide.rob.*"},
		reviewers.RoleAdmin:    {"heldcall.v1.decide.rob.*", "heldcall.v1.signal.rob.*", "heldcall.v1.signals.rob", "heldcall.v1.grants.rob.*"},
	} {
		p := reviewerPermissions(reviewers.Reviewer{Name: "rob", Role: role}, []string{"slack"})
		var own []string
		for _, subject := range p.Publish.Allow {
			if strings.HasPrefix(subject, "heldcall.v1.") && !strings.HasPrefix(subject, "heldcall.v1.svc.") {
				own = append(own, subject)
			}
		}
		if !slices.Equal(own, want) {
			t.Errorf("%s publishes on %v, want %v", role, own, want)
		}
		if !slices.Contains(p.Publish.Deny, "$JS.API.CONSUMER.MSG.NEXT.HELDCALL_EVENTS.heldcall_notify_slack") {
			t.Errorf("%s may read the consumer of a channel: %v", role, p.Publish.Deny)
		}
	}
}

// Reviewers of some tenants publish as themselves and hear those tenants. Events of no tenant are on the subjects of the
// default one.
func TestPermissionsOfReviewersOfTenants(t *testing.T) {
	p := reviewerPermissions(reviewers.Reviewer{Name: "rob x", Role: reviewers.RoleReviewer, Tenants: []string{"acme", "a.b", "default"}}, []string{"slack"})
	if want := []string{"heldcall.v1.decide.=cm9iIHg.*"}; !slices.Equal(p.Publish.Allow, want) {
		t.Errorf("they publish on %v, want %v", p.Publish.Allow, want)
	}
	want := []string{
		"heldcall.v1.requests.acme.>", "heldcall.v1.events.acme.>", "heldcall.v1.requests.=YS5i.>", "heldcall.v1.events.=YS5i.>",
		"heldcall.v1.requests.default.>", "_INBOX_=cm9iIHg.>",
	}
	if !slices.Equal(p.Subscribe.Allow, want) {
		t.Errorf("they subscribe to %v, want %v", p.Subscribe.Allow, want)
	}
}
