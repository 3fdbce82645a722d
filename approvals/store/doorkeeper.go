package store

import (
	"crypto/subtle"
	"log/slog"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/time/rate"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

// doorkeeper asks the clients of the embedded server who they are, where there are
// reviewers: a reviewer by their token, which is the password to their name or
// stands alone, and heldcall itself by the password of this start.
type doorkeeper struct {
	reviewers *reviewers.Directory
	open      bool // whoever gives no credentials comes in too, and reads
	password  string
	channels  []string // that bots must not read in the place of
	log       *slog.Logger
	refused   rate.Sometimes  // tells of refused clients: any process on the machine may try
	bots      *server.Account // set before the server starts
}

// refusalsTold is how long nothing more is logged of refused clients.
const refusalsTold = time.Minute

var _ server.Authentication = (*doorkeeper)(nil)

// Check lets a client in with the rights of who it is.
func (d *doorkeeper) Check(c server.ClientAuthentication) bool {
	if c.Kind() != server.CLIENT {
		return false
	}
	given := c.GetOpts()
	switch {
	case d.isOwn(given, ownUser):
		c.RegisterUser(&server.User{Username: ownUser})
		return true
	case d.isOwn(given, doorUser):
		c.RegisterUser(&server.User{Username: doorUser, Account: d.bots})
		return true
	case anonymous(given):
		if d.open {
			c.RegisterUser(&server.User{Username: botUser, Account: d.bots, Permissions: botPermissions(d.channels)})
		}
		return d.open
	}
	who, known := d.reviewers.ByToken(given.Token)
	if given.Token == "" {
		who, known = d.reviewers.ByToken(given.Password)
		known = known && given.Username == who.Name
	}
	if !known {
		d.refused.Do(func() {
			d.log.Warn("a bot was refused: this is no reviewer's name and token", "from", c.RemoteAddress())
		})
		return false
	}
	c.RegisterUser(&server.User{Username: who.Name, Account: d.bots, Permissions: reviewerPermissions(who, d.channels)})
	return true
}

func (d *doorkeeper) isOwn(given *server.ClientOpts, name string) bool {
	return given.Username == name && subtle.ConstantTimeCompare([]byte(given.Password), []byte(d.password)) == 1
}

// anonymous reports whether a client says nothing of who it is, or only that it is
// whoever reaches loopback.
func anonymous(given *server.ClientOpts) bool {
	return given.Token == "" && given.Password == "" && given.Nkey == "" && given.JWT == "" &&
		(given.Username == "" || given.Username == botUser)
}

// reviewerPermissions are the rights of a reviewer: to read as every bot does, and
// to do as themselves what their role lets them.
func reviewerPermissions(who reviewers.Reviewer, channels []string) *server.Permissions {
	return permissions(append(ReviewerServices(who), botReads()...), channels)
}
