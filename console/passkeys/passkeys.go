// Package passkeys has the passkeys of reviewers (WebAuthn): they register them in the inbox,
// and confirm with them what a policy protects with confirm: passkey.
//
// A passkey answers a challenge. Each challenge is for one reviewer and one subject: a decision
// on a request with its arguments, a passkey that is added, or one that is revoked. It is
// answered once, within two minutes, by a person whom the authenticator has verified, and on a
// page of the console's own origin. challenge.go has these rules.
package passkeys

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// Store keeps passkeys for all replicas.
type Store interface {
	// ChallengeKey returns the secret key of challenges: fresh, if there is none yet.
	ChallengeKey(ctx context.Context, fresh []byte) ([]byte, error)
	// ReadPasskeys returns those of a reviewer and the revision of their record, 0 for none.
	ReadPasskeys(ctx context.Context, reviewer string) (reviewers.Passkeys, uint64, error)
	// WritePasskeys replaces those at a revision, else it fails with [approvals.ErrConflict].
	WritePasskeys(ctx context.Context, all reviewers.Passkeys, revision uint64) error
}

// Options configures [Open].
type Options struct {
	Store  Store
	Record func(context.Context, ...approvals.Event) error // to the audit log
	URL    string                                          // console.url; "": the console is reached as localhost
	Now    func() time.Time                                // nil: time.Now
}

// Passkeys registers, revokes and verifies passkeys. It is safe for concurrent use.
type Passkeys struct {
	store  Store
	record func(context.Context, ...approvals.Event) error
	ids    approvals.IDSource
	now    func() time.Time
	key    []byte // of challenges
	party  atomic.Pointer[party]
}

// party is what browsers bind passkeys to.
type party struct {
	origin   string
	webauthn *webauthn.WebAuthn
	refusal  error // why there are no passkeys at this origin; nil: there are
}

// Open reads the key of challenges. With a URL, passkeys can be used at once, without one after
// [Passkeys.Listen].
func Open(ctx context.Context, o Options) (*Passkeys, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	key, err := o.Store.ChallengeKey(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read the key of challenges: %w", err)
	}
	p := &Passkeys{store: o.Store, record: o.Record, now: o.Now, key: key}
	p.party.Store(&party{refusal: errors.New("the console has not started")})
	if o.URL != "" {
		p.use(o.URL)
	}
	return p, nil
}

// Listen sets the address of the console, host:port, which browsers reach as localhost. A
// console with a URL ignores it.
func (p *Passkeys) Listen(address string) {
	if p.party.Load().origin != "" {
		return
	}
	if _, port, err := net.SplitHostPort(address); err == nil {
		p.use("http://" + net.JoinHostPort("localhost", port))
	}
}

// use binds passkeys to the origin of a URL.
func (p *Passkeys) use(address string) {
	one := &party{refusal: errors.New("console.url is no URL")}
	if u, err := url.Parse(address); err == nil {
		one = newParty(u)
	}
	p.party.Store(one)
}

func newParty(u *url.URL) *party {
	host := strings.ToLower(u.Hostname())
	one := &party{origin: u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), map[string]string{"http": ":80", "https": ":443"}[u.Scheme])}
	_, notIP := netip.ParseAddr(host)
	switch {
	case notIP == nil:
		one.refusal = fmt.Errorf("browsers have no passkeys for addresses such as %s: set console.url to a name with HTTPS, or to http://localhost with the port", host)
	case u.Scheme != "https" && host != "localhost":
		one.refusal = fmt.Errorf("browsers have passkeys over HTTPS only, and console.url is %s: set it to an address with https", one.origin)
	default:
		one.webauthn, one.refusal = webauthn.New(&webauthn.Config{
			RPID: host, RPDisplayName: "heldcall", RPOrigins: []string{one.origin},
			AttestationPreference:             protocol.PreferNoAttestation,
			AuthenticatorSelection:            protocol.AuthenticatorSelection{ResidentKey: protocol.ResidentKeyRequirementPreferred, UserVerification: protocol.VerificationRequired},
			ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore, // password managers send some
		})
	}
	return one
}

// Origin returns the only origin whose pages can use passkeys, and the reason if that cannot
// have any.
func (p *Passkeys) Origin() (origin string, refusal error) {
	one := p.party.Load()
	return one.origin, one.refusal
}

// user is a reviewer as the library of WebAuthn sees one.
type user struct {
	name        string
	handle      []byte
	credentials []webauthn.Credential
}

func (u *user) WebAuthnID() []byte                         { return u.handle }
func (u *user) WebAuthnName() string                       { return u.name }
func (u *user) WebAuthnDisplayName() string                { return u.name }
func (u *user) WebAuthnCredentials() []webauthn.Credential { return u.credentials }

// user returns a reviewer with their passkeys. Their handle follows from their name, which
// authenticators must not see as one.
func (p *Passkeys) user(all *reviewers.Passkeys) (*user, error) {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte("handle\x00" + all.Reviewer))
	u := &user{name: all.Reviewer, handle: mac.Sum(nil)}
	for i := range all.Keys {
		c, err := credentialOf(&all.Keys[i])
		if err != nil {
			return nil, err
		}
		u.credentials = append(u.credentials, c)
	}
	return u, nil
}
