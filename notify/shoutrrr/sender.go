package shoutrrr

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/discord"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/ntfy"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
)

// SenderArg is the one argument with which the program is a sender.
const SenderArg = "shoutrrr-courier"

// IsSender reports whether the program was started as a sender, by its command line.
func IsSender(args []string) bool { return len(args) == 2 && args[1] == SenderArg }

const (
	exitDone = iota
	exitOrder
	exitLate
)

// RunSender is all that a sender does: it reads an order, sends one message, writes what
// came of it, and returns the code to exit with. It may change what belongs to the
// whole process, which is the sender's own: the transport that the library's services
// share is watched.
func RunSender(in io.Reader, out io.Writer) int {
	var o order
	if err := json.UnmarshalRead(io.LimitReader(in, 1<<20), &o); err != nil || o.Within <= 0 {
		return exitOrder
	}
	time.AfterFunc(time.Duration(o.Within)*time.Millisecond, func() { os.Exit(exitLate) }) // where nobody ends it
	w := &recorder{base: http.DefaultTransport}
	http.DefaultTransport = w
	err := o.send(w)
	if json.MarshalWrite(out, resultOf(err, w)) != nil {
		return exitOrder
	}
	return exitDone
}

var errPanic = errors.New("the library has failed")

// send sends by the service that the URL names.
func (o *order) send(w *recorder) (err error) {
	defer func() {
		if recover() != nil {
			err = errPanic
		}
	}()
	service, err := (&router.ServiceRouter{}).Locate(o.URL)
	if err != nil {
		return err
	}
	watch(service, w)
	params := types.Params(o.Params)
	return service.Send(o.Text, &params)
}

// watch has a service that does not use the shared transport use one that is watched,
// and one that sleeps not do so: another attempt is the channel's to make.
func watch(service types.Service, w *recorder) {
	switch s := service.(type) {
	case *discord.Service:
		s.Sleeper = awake{}
	case *ntfy.Service:
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.Config.DisableTLSVerification, //nolint:gosec // as its URL says
		}}
		s.SetHTTPClient(&http.Client{Transport: w.over(transport)})
	case interface{ GetHTTPClient() *http.Client }: // gotify, mattermost
		if transport, own := s.GetHTTPClient().Transport.(*http.Transport); own {
			transport.Proxy = http.ProxyFromEnvironment
			s.GetHTTPClient().Transport = w.over(transport)
		}
	}
}

// awake does not sleep.
type awake struct{}

// Sleep implements the library's sleeper.
func (awake) Sleep(time.Duration) {}

// recorder is a transport that notes how the services it carries requests to answer.
// With the first answer that is no success it ends: nothing is repeated in a sender.
// Redirects are not followed, as who changes where messages go changes the URL.
type recorder struct {
	base http.RoundTripper
	seen *seen
}

// seen is what is known of the last request. Only one is under way at a time.
type seen struct {
	status int
	after  int64 // seconds; 0: it does not say
	err    error
}

var errOver = errors.New("the service has answered")

func (w *recorder) over(base http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) { return w.roundTrip(base, r) })
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// RoundTrip implements [http.RoundTripper].
func (w *recorder) RoundTrip(r *http.Request) (*http.Response, error) { return w.roundTrip(w.base, r) }

func (w *recorder) roundTrip(base http.RoundTripper, r *http.Request) (*http.Response, error) {
	if w.seen != nil && (w.seen.err != nil || w.seen.status >= http.StatusMultipleChoices) {
		return nil, errOver
	}
	w.seen = &seen{}
	resp, err := base.RoundTrip(r)
	if err != nil {
		w.seen.err = err
		return nil, err
	}
	if w.seen.status = resp.StatusCode; resp.StatusCode < http.StatusMultipleChoices {
		return resp, nil
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxResult))
	w.seen.after = retryAfter(resp.Header, body)
	resp.Body = io.NopCloser(strings.NewReader(string(body)))
	if resp.StatusCode < http.StatusBadRequest {
		return nil, errOver
	}
	return resp, nil
}
