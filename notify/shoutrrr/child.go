package shoutrrr

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/discord"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/ntfy"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
)

// ChildArg is the one argument with which the program is a child that sends one message.
const ChildArg = "shoutrrr-courier"

// IsChild reports whether the program was started as a child, by its command line.
func IsChild(args []string) bool { return len(args) == 2 && args[1] == ChildArg }

type order struct {
	URL    string            `json:"url"`
	Text   string            `json:"text"`
	Params map[string]string `json:"params"`
	Within int64             `json:"within_ms"`
}

const (
	exitDone = iota
	exitBadOrder
	exitLate
)

// RunChild is all of a child: it reads an order, sends one message, writes the result, and
// returns the code to exit with. It may change the state of the whole process, which is the
// child's own: the transport that the library's services share is recorded.
func RunChild(in io.Reader, out io.Writer) int {
	var o order
	if err := json.UnmarshalRead(io.LimitReader(in, 1<<20), &o); err != nil || o.Within <= 0 {
		return exitBadOrder
	}
	time.AfterFunc(time.Duration(o.Within)*time.Millisecond, func() { os.Exit(exitLate) }) // where the parent does not end it
	rec := &recorder{base: http.DefaultTransport}
	http.DefaultTransport = rec
	err := o.send(rec)
	if json.MarshalWrite(out, resultOf(err, rec)) != nil {
		return exitBadOrder
	}
	return exitDone
}

var errPanic = errors.New("the library failed")

func (o *order) send(rec *recorder) (err error) {
	defer func() {
		if recover() != nil {
			err = errPanic
		}
	}()
	service, err := (&router.ServiceRouter{}).Locate(o.URL)
	if err != nil {
		return err
	}
	record(service, rec)
	params := types.Params(o.Params)
	return service.Send(o.Text, &params)
}

// record makes a service that does not use the shared transport use one that is recorded,
// and one that sleeps not do so: the channel makes other attempts.
func record(service types.Service, rec *recorder) {
	switch s := service.(type) {
	case *discord.Service:
		s.Sleeper = noSleep{}
	case *ntfy.Service:
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.Config.DisableTLSVerification, //nolint:gosec // a setting of its URL
		}}
		s.SetHTTPClient(&http.Client{Transport: rec.over(transport)})
	case interface{ GetHTTPClient() *http.Client }: // gotify, mattermost
		if transport, own := s.GetHTTPClient().Transport.(*http.Transport); own {
			transport.Proxy = http.ProxyFromEnvironment
			s.GetHTTPClient().Transport = rec.over(transport)
		}
	}
}

type noSleep struct{}

// Sleep implements the library's sleeper.
func (noSleep) Sleep(time.Duration) {}
