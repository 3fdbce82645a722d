package oidc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// discovered is the metadata of the provider.
type discovered struct {
	provider *oidc.Provider
	oauth    oauth2.Config
	keys     oidc.KeySet // that it signs with, as last read
	verifier *oidc.IDTokenVerifier
	userInfo bool // it has a UserInfo endpoint
}

// Check asks the provider about itself, as a sign-in does. It fails with
// [ErrUnavailable].
func (p *Provider) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := p.discover(ctx)
	return err
}

// discover is what the provider has said of itself; until it has, it is asked
// each time, by one at a time.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	if known := p.found.Load(); known != nil {
		return known, nil
	}
	select {
	case p.asking <- struct{}{}:
		defer func() { <-p.asking }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
	if known := p.found.Load(); known != nil {
		return known, nil
	}
	d, err := p.ask(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, p.config.Issuer, err)
	}
	p.found.Store(d)
	return d, nil
}

// ask reads the provider's discovery document.
func (p *Provider) ask(ctx context.Context) (*discovered, error) {
	provider, err := oidc.NewProvider(p.with(ctx), p.config.Issuer)
	if err != nil {
		return nil, err
	}
	var said struct {
		JWKS        string   `json:"jwks_uri"`
		Algorithms  []string `json:"id_token_signing_alg_values_supported"`
		UserInfo    string   `json:"userinfo_endpoint"`
		AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := provider.Claims(&said); err != nil {
		return nil, err
	}
	endpoint := provider.Endpoint()
	for _, address := range []string{endpoint.AuthURL, endpoint.TokenURL, said.JWKS} {
		if err := CheckURL(address); err != nil {
			return nil, fmt.Errorf("its discovery document names the address %q, which %w", address, err)
		}
	}
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if p.config.ClientSecret == "" || len(said.AuthMethods) > 0 && !slices.Contains(said.AuthMethods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	signs := slices.DeleteFunc(said.Algorithms, func(name string) bool { return !slices.Contains(algorithms, name) })
	keys := oidc.NewRemoteKeySet(p.with(ctx), said.JWKS)
	return &discovered{
		provider: provider,
		keys:     keys,
		verifier: oidc.NewVerifier(p.config.Issuer, keys, &oidc.Config{ClientID: p.config.ClientID, SupportedSigningAlgs: signs}),
		userInfo: CheckURL(said.UserInfo) == nil,
		oauth: oauth2.Config{
			ClientID: p.config.ClientID, ClientSecret: p.config.ClientSecret, Endpoint: endpoint,
			RedirectURL: strings.TrimSuffix(p.config.ConsoleURL, "/") + CallbackPath, Scopes: p.config.Scopes,
		},
	}, nil
}

// algorithms are those with a public key, by which a provider may sign.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

// CheckURL reports what is wrong with an address of a provider, through which
// secrets pass: it is https, or http on loopback.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return fmt.Errorf("is not a URL with a host")
	}
	ip := net.ParseIP(u.Hostname())
	loopback := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && !(u.Scheme == "http" && loopback) {
		return fmt.Errorf("is not https")
	}
	return nil
}

// with has the libraries use our client.
func (p *Provider) with(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.client)
}

// checkRedirect follows a provider that has moved as far as secrets may go, and
// takes none of them along: the body of the request contains some.
func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > 3 || via[0].Method != http.MethodGet {
		return http.ErrUseLastResponse
	}
	return CheckURL(r.URL.String())
}

// maxAnswer is the longest answer of a provider that is read.
const maxAnswer = 1 << 20

// wholeTransport reads answers whole, as the libraries do, up to a length that those
// of no provider have. One that breaks off is an error of the request then, as is one by
// which the provider says that it cannot answer now.
type wholeTransport struct{ http.RoundTripper }

func (t wholeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests {
		return nil, fmt.Errorf("it answers %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	whole, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(whole))
	return resp, nil
}

// unanswered reports whether an error of a library is that the provider did not answer,
// and not what it answered.
func unanswered(err error) bool {
	request := (*url.Error)(nil)
	return errors.As(err, &request) || errors.Is(err, context.DeadlineExceeded)
}
