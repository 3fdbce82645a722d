package embedded

import (
	"crypto/subtle"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/time/rate"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// auth authenticates the clients of a server with reviewers: a reviewer by the token, alone
// or as the password for the reviewer's name, and heldcall itself by the password of this
// start.
type auth struct {
	reviewers *reviewers.Directory
	checking  sync.RWMutex // of channels; held for reading while a client is authenticated
	open      bool         // clients without credentials may read
	password  string
	channels  []string // bots may not use their consumers
	log       *slog.Logger
	refused   rate.Sometimes  // limits logs of refused clients: any process on the machine may try
	bots      *server.Account // set before the server starts
	consumers *server.Account // the same
}

// refusalInterval is the time between two log entries about refused clients.
const refusalInterval = time.Minute

var _ server.Authentication = (*auth)(nil)

// Check accepts a client with the rights of its user, or refuses it.
func (a *auth) Check(c server.ClientAuthentication) bool {
	if c.Kind() != server.CLIENT {
		return false
	}
	a.checking.RLock()
	defer a.checking.RUnlock()
	given := c.GetOpts()
	switch {
	case a.isOwn(given, ownUser):
		c.RegisterUser(&server.User{Username: ownUser})
		return true
	case a.isOwn(given, serviceUser):
		c.RegisterUser(&server.User{Username: serviceUser, Account: a.consumers})
		return true
	case anonymous(given):
		if a.open {
			c.RegisterUser(&server.User{Username: botUser, Account: a.bots, Permissions: botPermissions(a.channels)})
		}
		return a.open
	}
	if given.Nkey != "" || given.JWT != "" { // the server would call the client by these
		return false
	}
	who, known := a.reviewers.ByToken(given.Token)
	if given.Token == "" {
		who, known = a.reviewers.ByToken(given.Password)
		known = known && given.Username == who.Name
	}
	if !known {
		a.refused.Do(func() {
			a.log.Warn("refused a bot: unknown token, or not the token of this reviewer", "from", c.RemoteAddress())
		})
		return false
	}
	c.RegisterUser(&server.User{Username: who.Name, Account: a.bots, Permissions: reviewerPermissions(who.Reviewer, a.channels)})
	return true
}

// useChannels replaces the channels whose consumers later clients may not use.
func (a *auth) useChannels(channels []string) {
	a.checking.Lock()
	defer a.checking.Unlock()
	a.channels = channels
}

// settle waits for the clients that are being authenticated: later ones have the reviewers of now.
func (a *auth) settle() {
	a.checking.Lock()
	defer a.checking.Unlock()
}

func (a *auth) isOwn(given *server.ClientOpts, name string) bool {
	return given.Username == name && subtle.ConstantTimeCompare([]byte(given.Password), []byte(a.password)) == 1
}

// anonymous reports whether a client sends no credentials, or only the name of the user for
// clients without credentials.
func anonymous(given *server.ClientOpts) bool {
	return given.Token == "" && given.Password == "" && given.Nkey == "" && given.JWT == "" &&
		(given.Username == "" || given.Username == botUser)
}

// reviewerPermissions returns the rights of a reviewer: to read like every bot, and to
// decide, signal and grant as their role permits. One who sees some tenants only reads their feeds and nothing else:
// lists and consumers do not know who reads, and the inboxes of others have the replies to them.
func reviewerPermissions(who reviewers.Reviewer, channels []string) *server.Permissions {
	if who.Tenants.Limited() {
		return &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: subjects.ReviewerServices(who), Deny: []string{"$JS.>", "$SRV.>", "heldcall.v1.svc.>"}},
			Subscribe: &server.SubjectPermission{Allow: append(subjects.FeedsOf(who.Tenants), subjects.Inbox(who.Name)+".>")},
		}
	}
	return permissions(append(subjects.ReviewerServices(who), botReads()...), channels)
}
