package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/passkeys"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/webpush"
)

const (
	channelPush = "web_push"
	pushWorkers = 16 // each may wait for a slow push service
	// project is the contact of a heldcall without an operator's address.
	project = "https://github.com/heldcall/heldcall"
)

// pushSetup is the channel to reviewers' browsers. Routes do not apply to it.
func pushSetup(push *webpush.Push) notify.Setup {
	return notify.Setup{Name: channelPush, Channel: push, Workers: pushWorkers, Group: notify.Group{Cards: 5, Within: 10 * time.Second}, Gather: gatherFor}
}

// startPush loads the subscriptions of browsers.
func (p *parts) startPush(ctx context.Context, running *lifecycle) (err error) {
	c := p.options.Config.Console
	p.browsers.push, err = webpush.Open(ctx, webpush.Options{
		Store: p.store.push, CanApprove: p.gate.CanApprove, Reviewer: p.reviewer, HoldsToken: p.holdsToken, Rights: func() string { return p.inForce.Load().Console.rights() }, Contact: c.Push.contact(c.URL), Preview: c.Push.Preview, Private: c.Push.PrivateServices,
		Log: p.log("web_push"),
	})
	if err != nil {
		return fmt.Errorf("web push: %w", err)
	}
	running.background("web push", p.browsers.push.Run)
	return running.awaitReady(ctx, p.browsers.push.Ready())
}

// startPasskeys opens the passkeys of reviewers before the first decision.
func (p *parts) startPasskeys(ctx context.Context, _ *lifecycle) (err error) {
	p.browsers.passkeys, err = passkeys.Open(ctx, passkeys.Options{
		Store: p.store.passkeys, Record: p.store.events.AppendEvents, URL: p.options.Config.Console.URL,
	})
	if name := p.options.RevokePasskeys; err == nil && name != "" {
		var n int
		if n, err = p.browsers.passkeys.RevokeAll(ctx, name); err == nil {
			p.options.Log.Warn("passkeys revoked, as --revoke-passkeys asks; start without it the next time", "reviewer", name, "passkeys", n)
		}
	}
	return err
}

// reviewer returns the reviewer of the configuration with a name.
func (p *parts) reviewer(name string) (reviewers.Reviewer, bool) {
	if p.reviewers == nil {
		return reviewers.Local(), name == reviewers.LocalName
	}
	return p.reviewers.ByName(name)
}

// holdsToken reports whether a reviewer signs in with a token, which does not expire.
func (p *parts) holdsToken(name string) bool {
	return p.reviewers == nil || p.reviewers.HoldsToken(name)
}

// rights is a digest of every setting that gives people rights.
func (c ConsoleConfig) rights() string {
	o := c.OIDC
	text := fmt.Sprintf("%q %q %q %q %q %q %q", o.Issuer, o.NameClaim, o.GroupsClaim, o.EmailDomains, o.RequiredGroups, o.Role, o.Memberships)
	for _, r := range c.Reviewers {
		text += fmt.Sprintf(" %q %q %q %q", r.Name, r.User, r.Role, r.Groups)
		if len(r.Tenants) > 0 {
			text += fmt.Sprintf(" tenants %q", r.Tenants)
		}
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// contact is the address of the operator for push services.
func (c PushConfig) contact(console string) string {
	if c.Contact != "" {
		return strings.TrimPrefix(c.Contact, "mailto:")
	}
	if strings.HasPrefix(console, "https:") {
		return console
	}
	return project
}
