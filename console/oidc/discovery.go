package oidc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

type discovery struct {
	config Config
	client client
	found  atomic.Pointer[discovered]
	asking chan struct{} // held during a request of the document
}

type discovered struct {
	provider *oidc.Provider
	oauth    oauth2.Config
	keys     oidc.KeySet // of its signatures, as last read
	verifier *oidc.IDTokenVerifier
	userInfo bool // it has an endpoint for claims
}

func (d *discovery) get(ctx context.Context) (*discovered, error) {
	if known := d.found.Load(); known != nil {
		return known, nil
	}
	select {
	case d.asking <- struct{}{}:
		defer func() { <-d.asking }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
	if known := d.found.Load(); known != nil {
		return known, nil
	}
	document, err := d.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, d.config.Issuer, err)
	}
	d.found.Store(document)
	return document, nil
}

func (d *discovery) read(ctx context.Context) (*discovered, error) {
	provider, err := oidc.NewProvider(d.client.with(ctx), d.config.Issuer)
	if err != nil {
		return nil, err
	}
	var document struct {
		JWKS        string   `json:"jwks_uri"`
		Algorithms  []string `json:"id_token_signing_alg_values_supported"`
		UserInfo    string   `json:"userinfo_endpoint"`
		AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := provider.Claims(&document); err != nil {
		return nil, err
	}
	endpoint := provider.Endpoint()
	for _, address := range []string{endpoint.AuthURL, endpoint.TokenURL, document.JWKS} {
		if err := CheckURL(address); err != nil {
			return nil, fmt.Errorf("its discovery document names the address %q, which %w", address, err)
		}
	}
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if d.config.ClientSecret == "" || (len(document.AuthMethods) > 0 && !slices.Contains(document.AuthMethods, "client_secret_basic")) {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	signs := slices.DeleteFunc(document.Algorithms, func(name string) bool { return !slices.Contains(algorithms, name) })
	keys := oidc.NewRemoteKeySet(d.client.with(ctx), document.JWKS)
	return &discovered{
		provider: provider,
		keys:     keys,
		verifier: oidc.NewVerifier(d.config.Issuer, keys, &oidc.Config{ClientID: d.config.ClientID, SupportedSigningAlgs: signs}),
		userInfo: CheckURL(document.UserInfo) == nil,
		oauth: oauth2.Config{
			ClientID: d.config.ClientID, ClientSecret: d.config.ClientSecret, Endpoint: endpoint,
			RedirectURL: strings.TrimSuffix(d.config.ConsoleURL, "/") + CallbackPath, Scopes: d.config.Scopes,
		},
	}, nil
}

// algorithms are those with a public key, by which a provider may sign.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}
