package shoutrrr

import (
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

const maxBody = 4 << 10

// recorder is a transport that records the answers of services. It sends nothing after the
// first answer that is no success: nothing is repeated in a child. Redirects are not
// followed: an operator who wants another address changes the URL.
type recorder struct {
	base http.RoundTripper
	last *answer // nil before the first request
}

// answer is the result of the last request. Only one is made at a time.
type answer struct {
	status int
	after  int64 // seconds until the service accepts another; 0: unknown
	err    error
}

var errAnswered = errors.New("the service has answered")

func (rec *recorder) over(base http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) { return rec.roundTrip(base, r) })
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// RoundTrip implements [http.RoundTripper].
func (rec *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	return rec.roundTrip(rec.base, r)
}

func (rec *recorder) roundTrip(base http.RoundTripper, r *http.Request) (*http.Response, error) {
	if rec.last != nil && (rec.last.err != nil || rec.last.status >= http.StatusMultipleChoices) {
		return nil, errAnswered
	}
	rec.last = &answer{}
	resp, err := base.RoundTrip(r)
	if err != nil {
		rec.last.err = err
		return nil, err
	}
	if rec.last.status = resp.StatusCode; resp.StatusCode < http.StatusMultipleChoices {
		return resp, nil
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	rec.last.after = retryAfter(resp.Header, body)
	resp.Body = io.NopCloser(strings.NewReader(string(body)))
	if resp.StatusCode < http.StatusBadRequest {
		return nil, errAnswered
	}
	return resp, nil
}

// retryAfter returns the seconds after which a service accepts another message, from its
// header or, with Telegram and Discord, its body; 0: unknown.
func retryAfter(header http.Header, body []byte) int64 {
	if seconds, err := strconv.ParseUint(header.Get("Retry-After"), 10, 16); err == nil {
		return int64(seconds)
	}
	var limit struct {
		RetryAfter float64 `json:"retry_after"`
		Parameters struct {
			RetryAfter float64 `json:"retry_after"`
		} `json:"parameters"`
	}
	if json.Unmarshal(body, &limit) != nil {
		return 0
	}
	seconds := max(limit.RetryAfter, limit.Parameters.RetryAfter)
	return int64(math.Ceil(min(max(seconds, 0), math.MaxUint16)))
}
