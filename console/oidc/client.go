package oidc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// stepTimeout bounds the requests of one step of a sign-in.
const stepTimeout = 15 * time.Second

type client struct{ http *http.Client }

func newClient() client {
	return client{&http.Client{Transport: wholeTransport{http.DefaultTransport}, Timeout: stepTimeout, CheckRedirect: checkRedirect}}
}

func (c client) with(ctx context.Context) context.Context { return oidc.ClientContext(ctx, c.http) }

// checkRedirect follows redirects of GET requests to addresses that secrets may reach. Others
// are not followed: posted bodies contain secrets.
func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > 3 || via[0].Method != http.MethodGet {
		return http.ErrUseLastResponse
	}
	return CheckURL(r.URL.String())
}

// maxAnswer is the longest answer of a provider that is read.
const maxAnswer = 1 << 20

// wholeTransport reads answers whole, as the libraries do, up to maxAnswer. An answer that
// breaks off is an error of the request, as is one of status 429 or 5xx.
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

// unanswered reports whether an error of a library is that the provider did not answer.
func unanswered(err error) bool {
	request := (*url.Error)(nil)
	return errors.As(err, &request) || errors.Is(err, context.DeadlineExceeded)
}
