// Package shoutrrr announces requests over any service that the library of that name
// knows: Discord, Teams, Telegram, e-mail, ntfy and others, each by a URL. A message has
// the agent, the call, the rule, the risk and the end of the request, and a link to the
// inbox. Nothing is decided from it, and it is not changed afterwards.
//
// # A process of its own
//
// The library's services take no context, some of them have no time-out, share state
// that is not locked, sleep for minutes, or report success for messages that were not
// sent. So each message is sent by a child process: this program again, which sends one
// message and ends ([RunChild]). It is killed when the time is over, nothing of it stays,
// and its failures are its own. The answer of a service is recorded on the wire, whatever
// the library makes of it.
//
// # Secrets
//
// A URL holds a token, and the library quotes URLs in its errors and logs. None of its
// words leave the child: reasons are words of this package. The URL goes to the child over
// a pipe, not as an argument, and the child gets only the variables of the environment that
// connections need.
package shoutrrr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/heldcall/heldcall/notify"
)

const (
	// timeout bounds one message, from the start of its child to its end.
	timeout = 12 * time.Second
	// stopGrace is how long a child that is killed may hold its pipes.
	stopGrace = time.Second
)

// Options are what a [Channel] is made of.
type Options struct {
	URL   string        // as [CheckURL] takes it
	Inbox func() string // URL of the console
	// Child is the command that runs [RunChild]. Empty: this program, with [ChildArg].
	Child []string
}

// Channel sends to one service.
type Channel struct {
	url      string
	composer composer
	child    []string // command of the process that sends
}

// New makes a channel. Nothing is sent yet. It fails where [CheckURL] does.
func New(o Options) (*Channel, error) {
	if err := CheckURL(o.URL); err != nil {
		return nil, err
	}
	c := &Channel{url: o.URL, composer: composer{formatOf(o.URL), o.Inbox}, child: o.Child}
	if len(c.child) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find the program to start: %w", err)
		}
		c.child = []string{self, ChildArg}
	}
	return c, nil
}

// Post sends one message about the requests of a delivery.
func (c *Channel) Post(ctx context.Context, d notify.Delivery) (notify.Ref, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	v, err := c.send(ctx, order{URL: c.url, Text: c.composer.text(d), Params: c.composer.format.params(c.url, d), Within: timeout.Milliseconds()})
	if err != nil {
		return "", err
	}
	if err := v.err(); err != nil {
		return "", err
	}
	return notify.Ref(d.ID), nil
}

func (c *Channel) send(ctx context.Context, o order) (v result, err error) {
	in, err := json.Marshal(o)
	if err != nil {
		return v, notify.Permanent(errors.New("cannot encode the message for the process that sends it"))
	}
	cmd := exec.CommandContext(ctx, c.child[0], c.child[1:]...)
	cmd.WaitDelay = stopGrace
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !slices.Contains(variables, strings.ToUpper(name))
	})
	out := &bounded{most: maxBody}
	cmd.Stdin, cmd.Stdout = bytes.NewReader(in), out
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return v, fmt.Errorf("the service did not answer in time: %w", ctx.Err())
	case err != nil && cmd.ProcessState == nil:
		return v, fmt.Errorf("cannot start the process that sends: %w", err)
	case err != nil:
		return v, fmt.Errorf("the process that sends failed: %w", err)
	}
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		return v, errors.New("the process that sends returned no result")
	}
	return v, nil
}

// variables are those of the environment that a child needs to connect.
var variables = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT", "GODEBUG"}

// bounded keeps the first bytes of its input.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
