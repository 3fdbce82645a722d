package passkeys

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

const (
	maxName     = 64 // characters of the name of a passkey
	maxPasskeys = 20 // of one reviewer
)

// ErrUnknown is returned for the id of a passkey that its reviewer does not have.
var ErrUnknown = errors.New("no such passkey")

// Creation returns what a browser needs to create a passkey with a name.
func (p *Passkeys) Creation(ctx context.Context, reviewer, name string) (BrowserOptions, error) {
	at, all, _, err := p.read(ctx, reviewer)
	if err != nil {
		return BrowserOptions{}, err
	}
	if name, err = checkNew(&all, name); err != nil {
		return BrowserOptions{}, err
	}
	u, err := p.user(&all)
	if err != nil {
		return BrowserOptions{}, err
	}
	s, err := newSubject(reviewer, "register", name)
	if err != nil {
		return BrowserOptions{}, err
	}
	known := webauthn.Credentials(u.credentials).CredentialDescriptors()
	creation, _, err := at.webauthn.BeginRegistration(u, webauthn.WithExclusions(known), func(o *protocol.PublicKeyCredentialCreationOptions) error {
		o.Challenge = p.challenge(s)
		return nil
	})
	if err != nil {
		return BrowserOptions{}, fmt.Errorf("begin to register a passkey: %w", err)
	}
	return optionsJSON(creation.Response)
}

// checkNew returns the name of a new passkey without the space around it.
func checkNew(all *reviewers.Passkeys, name string) (string, error) {
	name = strings.TrimSpace(name)
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	switch {
	case name == "" || utf8.RuneCountInString(name) > maxName || strings.ContainsFunc(name, odd):
		return "", approvals.Invalid("name", "a passkey has a name of 1 to %d printable characters, such as that of the device", maxName)
	case slices.ContainsFunc(all.Keys, func(k reviewers.Passkey) bool { return k.Name == name }):
		return "", approvals.Invalid("name", "there is a passkey of this name; give another name")
	case len(all.Keys) >= maxPasskeys:
		return "", approvals.Invalid("name", "there are %d passkeys already; revoke one that is not used", len(all.Keys))
	}
	return name, nil
}

// addition is the subject of a passkey that is added to others.
func addition(reviewer string, one Registration) (subject, error) {
	return newSubject(reviewer, "add", []string{strings.TrimSpace(one.Name), string(one.Credential)})
}

// Register adds a passkey. If the reviewer has some, one of them has confirmed it.
func (p *Passkeys) Register(ctx context.Context, reviewer, channel string, one Registration) (Item, error) {
	at, all, revision, err := p.read(ctx, reviewer)
	if err != nil {
		return Item{}, err
	}
	if one.Name, err = checkNew(&all, one.Name); err != nil {
		return Item{}, err
	}
	added, used, err := p.created(at, &all, one)
	if err != nil {
		return Item{}, err
	}
	if len(all.Keys) == 0 {
		all.Keys, all.Used = append(all.Keys, added), append(all.Used, used)
		err = p.write(ctx, all, revision)
		if errors.Is(err, approvals.ErrConflict) {
			err = approvals.Invalid(field, "another passkey was registered just now; confirm with that one")
		}
	} else {
		err = p.add(ctx, reviewer, one, added)
	}
	if err != nil {
		return Item{}, err
	}
	return itemOf(&added), p.event(ctx, approvals.EventPasskeyRegistered, reviewer, channel, &added)
}

// add adds a passkey to others.
func (p *Passkeys) add(ctx context.Context, reviewer string, one Registration, added reviewers.Passkey) error {
	s, err := addition(reviewer, one)
	if err != nil {
		return err
	}
	if len(one.Assertion) == 0 {
		return approvals.Invalid(field, "one of the passkeys of %s must confirm another one", reviewer)
	}
	_, err = p.verify(ctx, one.Assertion, s, func(all *reviewers.Passkeys) error {
		if _, err := checkNew(all, one.Name); err != nil {
			return err
		}
		all.Keys = append(all.Keys, added)
		return nil
	})
	return err
}

// created verifies a passkey that a browser has created.
func (p *Passkeys) created(at *party, all *reviewers.Passkeys, one Registration) (k reviewers.Passkey, used reviewers.UsedChallenge, err error) {
	given, err := protocol.ParseCredentialCreationResponseBytes(one.Credential)
	if err != nil {
		return k, used, approvals.Invalid("credential", "it is not what a browser returns for a new passkey: %s", err)
	}
	s, err := newSubject(all.Reviewer, "register", one.Name)
	if err != nil {
		return k, used, err
	}
	if used, err = p.opened(given.Response.CollectedClientData.Challenge, s); err != nil {
		return k, used, err
	}
	u, err := p.user(all)
	if err != nil {
		return k, used, err
	}
	c, err := at.webauthn.CreateCredential(u, webauthn.SessionData{
		Challenge: given.Response.CollectedClientData.Challenge, UserID: u.handle,
		UserVerification: protocol.VerificationRequired, CredParams: webauthn.CredentialParametersDefault(),
	}, given)
	if err != nil {
		return k, used, approvals.Invalid("credential", "the new passkey is not valid: %s; open the inbox at %s", err, at.origin)
	}
	c.Attestation = webauthn.CredentialAttestation{} // not checked, and large
	k = reviewers.Passkey{ID: base64.RawURLEncoding.EncodeToString(c.ID), Name: one.Name, CreatedAt: p.now().UTC()}
	if slices.ContainsFunc(all.Keys, func(other reviewers.Passkey) bool { return other.ID == k.ID }) {
		return k, used, approvals.Invalid("credential", "this passkey is registered already")
	}
	k.Credential, err = json.Marshal(c)
	return k, used, err
}

func revocation(reviewer, id string) (subject, error) { return newSubject(reviewer, "revoke", id) }

// ChallengeToChange returns what a browser needs to have a passkey of the reviewer confirm that
// one is added or revoked.
func (p *Passkeys) ChallengeToChange(ctx context.Context, reviewer string, c Change) (BrowserOptions, error) {
	s, err := revocation(reviewer, c.Revoke)
	if c.Add != nil {
		s, err = addition(reviewer, *c.Add)
	}
	if err != nil {
		return BrowserOptions{}, err
	}
	return p.request(ctx, s)
}

// Revoke removes a passkey. This one or another of the reviewer has confirmed it.
func (p *Passkeys) Revoke(ctx context.Context, reviewer, channel, id string, assertion json.RawMessage) error {
	s, err := revocation(reviewer, id)
	if err != nil {
		return err
	}
	var gone reviewers.Passkey
	_, err = p.verify(ctx, assertion, s, func(all *reviewers.Passkeys) error {
		i := slices.IndexFunc(all.Keys, func(k reviewers.Passkey) bool { return k.ID == id })
		if i < 0 {
			return fmt.Errorf("passkey %q: %w", id, ErrUnknown)
		}
		gone = all.Keys[i]
		all.Keys = slices.Delete(all.Keys, i, i+1)
		return nil
	})
	if err != nil {
		return err
	}
	return p.event(ctx, approvals.EventPasskeyRevoked, reviewer, channel, &gone)
}

// RevokeAll removes the passkeys of a reviewer, as the operator asks, and returns how many there
// were.
func (p *Passkeys) RevokeAll(ctx context.Context, reviewer string) (int, error) {
	all, revision, err := p.store.ReadPasskeys(ctx, reviewer)
	if err != nil || len(all.Keys) == 0 {
		return 0, err
	}
	gone := all.Keys
	all.Keys = nil
	if err := p.write(ctx, all, revision); err != nil {
		return 0, fmt.Errorf("revoke the passkeys of %s: %w", reviewer, err)
	}
	for i := range gone {
		if err := p.event(ctx, approvals.EventPasskeyRevoked, reviewer, "operator", &gone[i]); err != nil {
			return 0, err
		}
	}
	return len(gone), nil
}

// event records a change that is durable, even if the browser has gone.
func (p *Passkeys) event(ctx context.Context, typ approvals.EventType, reviewer, channel string, k *reviewers.Passkey) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	now := p.now().UTC()
	return p.record(ctx, approvals.Event{ID: p.ids.Next(now), Type: typ, Time: now, ReviewerID: reviewer, Channel: channel, Passkey: k.ID, Note: k.Name})
}
