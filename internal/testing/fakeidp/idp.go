// Package fakeidp is an OpenID Connect provider on loopback for tests: a certified
// library with a page that asks for a name and no password. The answers of its token
// endpoint can be changed, as an attacker or a broken provider would.
package fakeidp

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"

	"github.com/go-jose/go-jose/v4"
	"github.com/luikyv/go-oidc/pkg/goidc"
	"github.com/luikyv/go-oidc/pkg/provider"
)

// The client that heldcall is at the provider.
const (
	ClientID     = "heldcall"
	ClientSecret = "the-client-has-this"
)

// Person has the claims of somebody who signs in.
type Person struct {
	IDToken  map[string]any // claims of the ID token, besides the subject
	UserInfo map[string]any // claims for the access token
}

// Server is a provider at work. Its methods are safe for concurrent use.
type Server struct {
	http   *http.Server
	ln     net.Listener
	op     http.Handler
	served sync.WaitGroup

	mu     sync.Mutex
	key    *rsa.PrivateKey
	keyID  string
	people map[string]Person // by the names that they sign in with
	tamper func(claims map[string]any)
	resign *rsa.PrivateKey
	other  map[string]http.HandlerFunc // what answers in the provider's place, by path
}

// Start begins to serve at an address, host:port, for a client that browsers are
// sent back to at redirect.
func Start(address, redirect string) (*Server, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("start the provider: %w", err)
	}
	key, err := newKey()
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	s := &Server{ln: ln, key: key, keyID: "signing", people: map[string]Person{}, other: map[string]http.HandlerFunc{}}
	if s.op, err = s.provider(redirect); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	s.http = &http.Server{Handler: s}
	s.served.Go(func() { _ = s.http.Serve(ln) })
	return s, nil
}

// Issuer is the address of the provider.
func (s *Server) Issuer() string { return "http://" + s.ln.Addr().String() }

// Close ends the provider.
func (s *Server) Close() {
	_ = s.http.Close()
	s.served.Wait()
}

// Know lets somebody sign in by a name.
func (s *Server) Know(name string, p Person) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.people[name] = p
}

// Tamper has the claims of every ID token changed before it goes out, signed with
// the provider's key; nil ends that.
func (s *Server) Tamper(change func(claims map[string]any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tamper, s.resign = change, s.key
}

// Forge has every ID token signed with another key than the provider's.
func (s *Server) Forge() error {
	return s.rekey(func(key *rsa.PrivateKey) { s.tamper, s.resign = func(map[string]any) {}, key })
}

// Rotate has tokens signed with a new key from now on, and publishes no other.
func (s *Server) Rotate() error {
	return s.rekey(func(key *rsa.PrivateKey) { s.key, s.keyID = key, s.keyID+"+" })
}

// rekey makes a key, and has it used.
func (s *Server) rekey(use func(key *rsa.PrivateKey)) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	use(key)
	return nil
}

func newKey() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) }

// keys are what tokens are signed with.
func (s *Server) keys(context.Context) (goidc.JSONWebKeySet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return goidc.JSONWebKeySet{Keys: []goidc.JSONWebKey{{KeyID: s.keyID, Key: s.key, Algorithm: string(goidc.RS256), Use: "sig"}}}, nil
}

// The paths at which heldcall asks the provider.
const (
	PathDiscovery = "/.well-known/openid-configuration"
	PathKeys      = "/jwks"
	PathToken     = "/token"
	PathUserInfo  = "/userinfo"
)

// Answer has something else answer at a path; nil: the provider does again.
func (s *Server) Answer(path string, answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.other[path] = answer
}

func (s *Server) person(name string) (Person, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.people[name]
	return p, ok
}

func (s *Server) provider(redirect string) (http.Handler, error) {
	op, err := provider.New(s.Issuer(), nil,
		s.keys,
		provider.WithScopes(goidc.ScopeOpenID, goidc.ScopeEmail, goidc.ScopeProfile),
		provider.WithAuthCodeGrant(nil, goidc.ResponseTypeCode),
		provider.WithTokenAuthnMethods(goidc.AuthnMethodSecretBasic),
		provider.WithConsumeJTIFunc(func(context.Context, string) error { return nil }), // clients here sign nothing
		provider.WithPKCERequired(goidc.CodeChallengeMethodSHA256),
		provider.WithPolicies(goidc.NewPolicy("name", func(*http.Request, *goidc.AuthnSession, *goidc.Client) bool { return true }, s.authenticate)),
		provider.WithIDTokenClaims(func(_ context.Context, g *goidc.Grant) map[string]any { p, _ := s.person(g.Subject); return p.IDToken }),
		provider.WithUserInfoClaims(func(_ context.Context, g *goidc.Grant) map[string]any { p, _ := s.person(g.Subject); return p.UserInfo }),
		provider.WithStaticClients(&goidc.Client{
			ID: ClientID, Secret: ClientSecret,
			ClientMeta: goidc.ClientMeta{
				ScopeIDs: "openid email profile", RedirectURIs: []string{redirect}, TokenAuthnMethod: goidc.AuthnMethodSecretBasic,
				GrantTypes: []goidc.GrantType{goidc.GrantAuthorizationCode}, ResponseTypes: []goidc.ResponseType{goidc.ResponseTypeCode},
			},
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("make the provider: %w", err)
	}
	return op.Handler(), nil
}

// authenticate asks for a name.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request, as *goidc.AuthnSession, _ *goidc.Client) (goidc.Status, error) {
	name := r.PostFormValue("name")
	if name == "" {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><title>Provider</title><form method="post" action="/authorize/%s"><label>Name <input name="name"></label><button>Sign in</button></form>`, html.EscapeString(as.ID))
		return goidc.StatusPending, nil
	}
	if _, known := s.person(name); !known {
		return goidc.StatusFailure, goidc.NewError(goidc.ErrorCodeAccessDenied, "nobody has this name")
	}
	as.Subject, as.GrantedScopes = name, as.Scopes
	return goidc.StatusSuccess, nil
}

// ServeHTTP serves the provider, and changes ID tokens where a test asked for it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	change, key, id, other := s.tamper, s.resign, s.keyID, s.other[r.URL.Path]
	s.mu.Unlock()
	if other != nil {
		other(w, r)
		return
	}
	if change == nil || r.Method != http.MethodPost || r.URL.Path != PathToken {
		s.op.ServeHTTP(w, r)
		return
	}
	recorded := httptest.NewRecorder()
	s.op.ServeHTTP(recorded, r)
	body, err := changed(recorded.Body.Bytes(), change, key, id)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for name, values := range recorded.Header() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(recorded.Code)
	_, _ = io.Copy(w, bytes.NewReader(body))
}

// changed is an answer of the token endpoint with other claims in its ID token.
func changed(answer []byte, change func(map[string]any), key *rsa.PrivateKey, keyID string) ([]byte, error) {
	var tokens map[string]any
	if err := json.Unmarshal(answer, &tokens); err != nil {
		return nil, err
	}
	raw, ok := tokens["id_token"].(string)
	if !ok {
		return answer, nil
	}
	token, err := jose.ParseSignedCompact(raw, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return nil, err
	}
	claims := map[string]any{}
	if err := json.Unmarshal(token.UnsafePayloadWithoutVerification(), &claims); err != nil {
		return nil, err
	}
	change(claims)
	payload, err := json.Marshal(claims)
	if err != nil {
		return nil, err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: keyID}}, nil)
	if err != nil {
		return nil, err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return nil, err
	}
	if tokens["id_token"], err = signed.CompactSerialize(); err != nil {
		return nil, err
	}
	return json.Marshal(tokens)
}
