package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// Deliveries keeps what a channel has to know again, on every replica and after a
// restart. The store of heldcall is one.
type Deliveries interface {
	State(ctx context.Context, channel, key string) (value []byte, revision uint64, err error)
	PutState(ctx context.Context, channel, key string, value []byte, revision uint64) (uint64, error)
	// LinkKey is the key of a channel's links, for good: fresh, if there is none yet.
	LinkKey(ctx context.Context, channel string, fresh []byte) ([]byte, error)
}

// LinkOptions is what [Links] are made of.
type LinkOptions struct {
	Channel string // name of the webhook
	Path    string // below the console's URL, where the links lead
	// Reviewer is who the webhook acts for, as the configuration has them now.
	Reviewer   func() (reviewers.Reviewer, bool)
	Gate       *gate.Gate // where decisions go
	Deliveries Deliveries
	Log        *slog.Logger
}

// Links are URLs that decide one request for one reviewer, by approving or denying
// it, once. The URL is the secret: everybody who has it can decide in the reviewer's name
// until the request ends. It is signed with a key that is made once, never leaves
// the store and is the same on every replica; it names the request and when it
// ends. A GET shows what it would do, so that who looks at links in messages
// decides nothing; only the POST of that page, or of a program, decides. It goes the
// way that every decision goes, with the rights that the reviewer then has.
type Links struct {
	o LinkOptions

	mu  sync.Mutex
	key []byte // once it was read
}

// NewLinks makes them. They are served at Path/{token}.
func NewLinks(o LinkOptions) *Links { return &Links{o: o} }

const (
	usedPrefix = "link-used-"
	keyLength  = 32
	// domain separates these signatures from any others, and names what they permit.
	domain = "heldcall webhook link v1: approve or deny"
)

// secret returns the key of the signatures, which is made at its first use.
func (l *Links) secret(ctx context.Context) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key != nil {
		return l.key, nil
	}
	fresh := make([]byte, keyLength)
	_, _ = rand.Read(fresh) // never fails
	key, err := l.o.Deliveries.LinkKey(ctx, l.o.Channel, fresh)
	if err != nil {
		return nil, fmt.Errorf("read the key of the links: %w", err)
	}
	if len(key) != keyLength {
		return nil, fmt.Errorf("the recorded key of the links is not valid: %w", approvals.ErrStoreUnavailable)
	}
	l.key = key
	return key, nil
}

// URL is the link for a request, below the console's URL.
func (l *Links) URL(ctx context.Context, console string, r approvals.Request) (string, error) {
	key, err := l.secret(ctx)
	if err != nil {
		return "", err
	}
	what := r.ID + "." + strconv.FormatInt(r.ExpiresAt.Unix(), 10)
	return console + l.o.Path + "/" + what + "." + base64.RawURLEncoding.EncodeToString(l.sign(key, what)), nil
}

func (l *Links) sign(key []byte, what string) []byte {
	who, _ := l.o.Reviewer()
	mac := hmac.New(sha256.New, key)
	for _, part := range []string{domain, l.o.Channel, who.Name, what} {
		fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	return mac.Sum(nil)
}

// errForged is for a link that heldcall did not make, or not for this reviewer.
var errForged = errors.New("unknown link")

// open reads a token. Nothing is looked up for one that is forged.
func (l *Links) open(ctx context.Context, token string) (id string, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(token) > 256 {
		return "", errForged
	}
	id, until, what := parts[0], parts[1], parts[0]+"."+parts[1]
	given, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil {
		return "", errForged
	}
	key, err := l.secret(ctx)
	if err != nil {
		return "", err
	}
	if !hmac.Equal(given, l.sign(key, what)) {
		return "", errForged
	}
	// The deadline is checked by the gate too, which knows that the request has ended;
	// retention may have removed it.
	if seconds, err := strconv.ParseInt(until, 10, 64); err != nil || !time.Now().Before(time.Unix(seconds+1, 0)) {
		return id, errExpired
	}
	return id, nil
}

// errExpired is for a link whose request has run out.
var errExpired = errors.New("the time to decide has passed")

// errUsed is for a link that has decided already, of a request that still waits for
// more reviewers.
var errUsed = errors.New("this link has been used: it decides once")

// decide hands in the decision, if the link has not been used. What the gate refuses
// leaves it unused.
func (l *Links) decide(ctx context.Context, id string, action approvals.Action, note string) (approvals.Request, error) {
	r, err := l.request(ctx, id)
	if err != nil {
		return r, err
	}
	if r.Status.Final() {
		return r, &approvals.DecidedError{Request: r}
	}
	who, known := l.o.Reviewer()
	if !known || !who.Role.Includes(reviewers.RoleReviewer) {
		return r, &approvals.ForbiddenError{Reviewer: who.Name, Reason: "the reviewer of this link may no longer decide"}
	}
	revision, err := l.use(ctx, id, action)
	if err != nil {
		return r, err
	}
	d := approvals.Decision{RequestID: id, Action: action, Note: note, Channel: channel, OwnRightsOnly: true} // a delegation is to a person, not to who has the link
	who.Sign(&d)
	decided, err := l.o.Gate.Decide(ctx, d)
	if refused(err) {
		if _, failed := l.o.Deliveries.PutState(ctx, l.o.Channel, usedPrefix+id, []byte(givenBack), revision); failed != nil {
			l.o.Log.Warn("a link that decided nothing stays used up", "request", id, "error", failed)
		}
	}
	return decided, err
}

// request returns a request of a tenant that the reviewer of the links sees.
func (l *Links) request(ctx context.Context, id string) (approvals.Request, error) {
	r, err := l.o.Gate.Request(ctx, id)
	if who, _ := l.o.Reviewer(); err == nil && !who.Tenants.Has(r.Principal.Tenant) {
		return approvals.Request{}, approvals.ErrUnknownRequest
	}
	return r, err
}

// use records that the link of a request is used, for good. Of several at once it is
// one who does.
func (l *Links) use(ctx context.Context, id string, action approvals.Action) (revision uint64, err error) {
	revision, err = l.unused(ctx, id)
	if err != nil {
		return 0, err
	}
	used := string(action) + " " + time.Now().UTC().Format(time.RFC3339)
	revision, err = l.o.Deliveries.PutState(ctx, l.o.Channel, usedPrefix+id, []byte(used), revision)
	if errors.Is(err, approvals.ErrConflict) {
		return 0, errUsed
	}
	return revision, err
}

// unused returns the revision of the record of a link, or errUsed if the link was used.
func (l *Links) unused(ctx context.Context, id string) (revision uint64, err error) {
	value, revision, err := l.o.Deliveries.State(ctx, l.o.Channel, usedPrefix+id)
	if err == nil && revision > 0 && string(value) != givenBack {
		err = errUsed
	}
	return revision, err
}

const (
	// channel is the channel of these decisions in the audit log.
	channel = "webhook"
	// givenBack is recorded of a link that was used and has decided nothing.
	givenBack = "unused"
	maxNote   = 2000
)

// refused reports that the gate has certainly not taken a decision, and would take
// another one.
func refused(err error) bool {
	return errors.As(err, new(*approvals.ForbiddenError)) || errors.As(err, new(*approvals.InvalidError)) || errors.Is(err, approvals.ErrTooLarge)
}

func statusOf(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, errForged), errors.Is(err, approvals.ErrUnknownRequest):
		return http.StatusNotFound
	case errors.Is(err, errExpired):
		return http.StatusGone
	case errors.Is(err, errUsed), errors.As(err, new(*approvals.DecidedError)):
		return http.StatusConflict
	case errors.As(err, new(*approvals.ForbiddenError)):
		return http.StatusForbidden
	case errors.As(err, new(*approvals.InvalidError)), errors.Is(err, approvals.ErrTooLarge):
		return http.StatusUnprocessableEntity
	}
	return http.StatusServiceUnavailable
}
