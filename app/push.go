package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/webpush"
)

const (
	channelPush = "web_push"
	pushWorkers = 16 // of which each may wait for a push service that is slow
	// project is whom push services can ask about a heldcall that names nobody.
	project = "https://github.com/heldcall/heldcall"
)

// pushSetup tells reviewers in their browsers, whatever routes say.
func (a *App) pushSetup() notify.Setup {
	return notify.Setup{Name: channelPush, Channel: a.push, Workers: pushWorkers, Group: notify.Group{Cards: 5, Within: 10 * time.Second}}
}

// startPush reads which browsers are told.
func (a *App) startPush(ctx context.Context, running *lifecycle) (err error) {
	c := a.config.Console
	a.push, err = webpush.Open(ctx, webpush.Options{
		Store: a.store.Push, Gate: a.gate, Reviewer: a.reviewer, HoldsToken: a.holdsToken, Rights: c.rights(), Contact: c.Push.contact(c.URL), Preview: c.Push.Preview, Private: c.Push.PrivateServices,
		Log: a.log.With("component", "web_push"),
	})
	if err != nil {
		return fmt.Errorf("web push: %w", err)
	}
	running.background("web push", a.push.Run)
	select {
	case <-a.push.Ready():
		return nil
	case err := <-running.failed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reviewer is whom the configuration gives a name.
func (a *App) reviewer(name string) (reviewers.Reviewer, bool) {
	if a.reviewers == nil {
		return reviewers.Local(), name == reviewers.LocalName
	}
	return a.reviewers.ByName(name)
}

// holdsToken reports whether a reviewer needs no sign-in elsewhere, which holds for some
// time only.
func (a *App) holdsToken(name string) bool { return a.reviewers == nil || a.reviewers.HoldsToken(name) }

// rights names all of the configuration that gives people rights.
func (c ConsoleConfig) rights() string {
	o := c.OIDC
	text := fmt.Sprintf("%q %q %q %q %q %q %q", o.Issuer, o.NameClaim, o.GroupsClaim, o.EmailDomains, o.RequiredGroups, o.Role, o.Memberships)
	for _, r := range c.Reviewers {
		text += fmt.Sprintf(" %q %q %q %q", r.Name, r.User, r.Role, r.Groups)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// contact is how push services reach the operator.
func (c PushConfig) contact(console string) string {
	if c.Contact != "" {
		return strings.TrimPrefix(c.Contact, "mailto:")
	}
	if strings.HasPrefix(console, "https:") {
		return console
	}
	return project
}
