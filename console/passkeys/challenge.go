package passkeys

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// AnswerWithin is the time for which a challenge can be answered.
const AnswerWithin = 2 * time.Minute

// skew is how far the clocks of replicas may differ: a challenge that was answered is kept for
// that long after its end.
const skew = 10 * time.Minute

// field is the field of a payload that errors about an assertion name.
const field = "assertion"

// A challenge has a nonce, the time until which it is answered, in milliseconds, and a code
// over both, the reviewer and the subject. So no replica stores it before it is answered.
const (
	nonceSize = 16
	headSize  = nonceSize + 8
)

// subject is what a challenge is for.
type subject struct {
	Reviewer string
	Does     string // "decide", "register", "add" or "revoke"
	What     []byte // a digest of it
}

// newSubject returns the subject of one thing that a reviewer does, with a digest of its JSON.
func newSubject(reviewer, does string, what any) (subject, error) {
	text, err := json.Marshal(what)
	if err != nil {
		return subject{}, fmt.Errorf("encode the subject of a challenge: %w", err)
	}
	sum := sha256.Sum256(text)
	return subject{reviewer, does, sum[:]}, nil
}

// challenge returns a new challenge.
func (p *Passkeys) challenge(s subject) []byte {
	head := make([]byte, nonceSize, headSize)
	_, _ = rand.Read(head) // never fails
	head = binary.BigEndian.AppendUint64(head, uint64(p.now().Add(AnswerWithin).UnixMilli()))
	return append(head, p.code(head, s)...)
}

func (p *Passkeys) code(head []byte, s subject) []byte {
	mac := hmac.New(sha256.New, p.key)
	for _, part := range [][]byte{[]byte("challenge"), head, []byte(s.Reviewer), []byte(s.Does), s.What} {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// opened returns the use of a challenge that an authenticator has signed, if it is one for this
// subject and can still be answered.
func (p *Passkeys) opened(challenge string, s subject) (reviewers.UsedChallenge, error) {
	raw, err := base64.RawURLEncoding.DecodeString(challenge)
	if err != nil || len(raw) != headSize+sha256.Size || !hmac.Equal(raw[headSize:], p.code(raw[:headSize], s)) {
		return reviewers.UsedChallenge{}, approvals.Invalid(field, "the passkey has confirmed something else: another request, decision or arguments, or it is another reviewer's; confirm with it again")
	}
	expires := time.UnixMilli(int64(binary.BigEndian.Uint64(raw[nonceSize:headSize]))).UTC() //nolint:gosec // as challenge has written it
	if !p.now().Before(expires) {
		return reviewers.UsedChallenge{}, approvals.Invalid(field, "the passkey was used more than %s after it was asked for; confirm with it again", AnswerWithin)
	}
	return reviewers.UsedChallenge{Nonce: base64.RawURLEncoding.EncodeToString(raw[:nonceSize]), Expires: expires}, nil
}

// request returns what a browser needs to have a passkey of the reviewer answer a new challenge.
func (p *Passkeys) request(ctx context.Context, s subject) (BrowserOptions, error) {
	at, all, _, err := p.read(ctx, s.Reviewer)
	if err != nil {
		return BrowserOptions{}, err
	}
	if len(all.Keys) == 0 {
		return BrowserOptions{}, approvals.Invalid(field, "%s has no passkey: register one in the inbox at %s/#/passkeys", s.Reviewer, at.origin)
	}
	u, err := p.user(&all)
	if err != nil {
		return BrowserOptions{}, err
	}
	asked, _, err := at.webauthn.BeginLogin(u, webauthn.WithChallenge(p.challenge(s)))
	if err != nil {
		return BrowserOptions{}, fmt.Errorf("make a challenge: %w", err)
	}
	return optionsJSON(asked.Response)
}

// read returns the passkeys of a reviewer, or an error if browsers cannot use any here.
func (p *Passkeys) read(ctx context.Context, reviewer string) (at *party, all reviewers.Passkeys, revision uint64, err error) {
	if at = p.party.Load(); at.refusal != nil {
		return nil, all, 0, approvals.Invalid(field, "passkeys cannot be used here: %s", at.refusal)
	}
	all, revision, err = p.store.ReadPasskeys(ctx, reviewer)
	return at, all, revision, err
}

// verify checks that an assertion answers a challenge for a subject, and that the challenge was
// not answered before. It then changes the record: use, if given, changes it further. It returns
// the id of the passkey. Without change to the passkeys an error is an
// [*approvals.InvalidError], or one of the store.
func (p *Passkeys) verify(ctx context.Context, assertion []byte, s subject, use func(*reviewers.Passkeys) error) (id string, err error) {
	given, err := protocol.ParseCredentialRequestResponseBytes(assertion)
	if err != nil {
		return "", approvals.Invalid(field, "it is not what a browser returns for a passkey: %s", err)
	}
	used, err := p.opened(given.Response.CollectedClientData.Challenge, s)
	if err != nil {
		return "", err
	}
	for attempt := 0; ; attempt++ {
		at, all, revision, err := p.read(ctx, s.Reviewer)
		if err != nil {
			return "", err
		}
		if id, err = p.apply(at, &all, given, used); err != nil {
			return "", err
		}
		if use != nil {
			if err := use(&all); err != nil {
				return "", err
			}
		}
		if err = p.write(ctx, all, revision); !errors.Is(err, approvals.ErrConflict) {
			return id, err
		}
		if err := approvals.Pause(ctx, attempt); err != nil {
			return "", approvals.Unavailable("record the use of a passkey", err)
		}
	}
}

// apply verifies an assertion by the passkeys of its reviewer, and notes its use in them.
func (p *Passkeys) apply(at *party, all *reviewers.Passkeys, given *protocol.ParsedCredentialAssertionData, used reviewers.UsedChallenge) (id string, err error) {
	now := p.now().UTC()
	all.Used = slices.DeleteFunc(all.Used, func(u reviewers.UsedChallenge) bool { return !now.Before(u.Expires.Add(skew)) })
	if slices.ContainsFunc(all.Used, func(u reviewers.UsedChallenge) bool { return u.Nonce == used.Nonce }) {
		return "", approvals.Invalid(field, "the passkey has been used for this already; confirm with it again")
	}
	id = base64.RawURLEncoding.EncodeToString(given.RawID)
	i := slices.IndexFunc(all.Keys, func(k reviewers.Passkey) bool { return k.ID == id })
	if i < 0 {
		return "", approvals.Invalid(field, "it is by a passkey that %s has not registered, or has revoked", all.Reviewer)
	}
	if made := given.Response.CollectedClientData.Origin; made != at.origin {
		return "", approvals.Invalid(field, "the passkey was used on a page of %s: open the inbox at %s", made, at.origin)
	}
	if !given.Response.AuthenticatorData.Flags.UserVerified() {
		return "", approvals.Invalid(field, "the authenticator has not verified who uses the passkey: set up its PIN, fingerprint or face")
	}
	u, err := p.user(all)
	if err != nil {
		return "", err
	}
	session := webauthn.SessionData{
		Challenge: given.Response.CollectedClientData.Challenge, UserID: u.handle, UserVerification: protocol.VerificationRequired,
	}
	for _, c := range u.credentials {
		session.AllowedCredentialIDs = append(session.AllowedCredentialIDs, c.ID)
	}
	c, err := at.webauthn.ValidateLogin(u, session, given)
	if err != nil {
		return "", approvals.Invalid(field, "the passkey is not valid: %s", err)
	}
	if c.Authenticator.CloneWarning {
		return "", approvals.Invalid(field, "the counter of the passkey did not grow, so it may have been copied: revoke it with another one")
	}
	if all.Keys[i].Credential, err = json.Marshal(c); err != nil {
		return "", fmt.Errorf("encode a passkey: %w", err)
	}
	all.Keys[i].LastUsedAt, all.Used = &now, append(all.Used, used)
	return id, nil
}

func (p *Passkeys) write(ctx context.Context, all reviewers.Passkeys, revision uint64) error {
	all.Write = rand.Text()
	return p.store.WritePasskeys(ctx, all, revision)
}

func credentialOf(k *reviewers.Passkey) (c webauthn.Credential, err error) {
	if err := json.Unmarshal(k.Credential, &c); err != nil {
		return c, approvals.Unavailable("read the passkey "+k.ID, err)
	}
	return c, nil
}

// optionsJSON writes options as PublicKeyCredential.parseCreationOptionsFromJSON and
// parseRequestOptionsFromJSON read them.
func optionsJSON(options any) (BrowserOptions, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return BrowserOptions{}, fmt.Errorf("encode options for a browser: %w", err)
	}
	return BrowserOptions{text}, nil
}
