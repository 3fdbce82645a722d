// Package shoutrrr tells people of requests over any service that the library of that
// name knows: Discord, Teams, Telegram, e-mail, ntfy and others, each by a URL. A
// message says who asks, for what, by which rule, at which risk and until when, and
// leads to the inbox. Nothing is decided from it, and it is not changed afterwards.
//
// # A process of its own
//
// The library's services take no context, some of them have no time-out, share state
// that is not locked, sleep for minutes, or report that they have sent what they have
// not. So each message is sent by a sender: this program again, which sends one
// message and ends ([RunSender]). It is ended when the time is over, nothing of it stays,
// and what goes wrong in it goes wrong there. What a service answered is seen on the
// wire, whatever the library makes of it.
//
// # Secrets
//
// A URL holds a token, and the library quotes URLs in its errors and logs. None of its
// words leave the sender: reasons are words of this package. The URL goes to the
// sender over a pipe, not as an argument, and the sender has of the environment what
// connections need, no more.
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
	// timeout bounds one message, from the start of its sender to its end.
	timeout = 12 * time.Second
	// stopGrace is how long a sender that is ended may hold its pipes.
	stopGrace = time.Second
	// maxResult bounds what is read of a sender.
	maxResult = 4 << 10
)

// Options are what a [Channel] is made of.
type Options struct {
	URL   string        // as [CheckURL] takes it
	Inbox func() string // URL of the console
	// Sender is the command that runs [RunSender]. Empty: this program, with [SenderArg].
	Sender []string
}

// Channel tells over one service.
type Channel struct {
	url    string
	format format
	inbox  func() string
	sender []string
}

// New makes a channel. Nothing is sent yet. It fails where [CheckURL] does.
func New(o Options) (*Channel, error) {
	if err := CheckURL(o.URL); err != nil {
		return nil, err
	}
	c := &Channel{url: o.URL, format: formatOf(o.URL), inbox: o.Inbox, sender: o.Sender}
	if len(c.sender) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find the program that is to send: %w", err)
		}
		c.sender = []string{self, SenderArg}
	}
	return c, nil
}

// Post sends one message about the requests of a delivery.
func (c *Channel) Post(ctx context.Context, d notify.Delivery) (notify.Ref, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	v, err := c.send(ctx, order{URL: c.url, Text: c.text(d), Params: c.format.params(c.url, d), Within: timeout.Milliseconds()})
	if err != nil {
		return "", err
	}
	if err := v.err(); err != nil {
		return "", err
	}
	return notify.Ref(d.ID), nil
}

// order is what a sender is to send.
type order struct {
	URL    string            `json:"url"`
	Text   string            `json:"text"`
	Params map[string]string `json:"params"`
	Within int64             `json:"within_ms"`
}

// send has a sender send, and returns what came of it.
func (c *Channel) send(ctx context.Context, o order) (v result, err error) {
	in, err := json.Marshal(o)
	if err != nil {
		return v, notify.Permanent(errors.New("the message cannot be encoded for the process that sends it"))
	}
	cmd := exec.CommandContext(ctx, c.sender[0], c.sender[1:]...)
	cmd.WaitDelay = stopGrace
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !slices.Contains(variables, strings.ToUpper(name))
	})
	out := &bounded{most: maxResult}
	cmd.Stdin, cmd.Stdout = bytes.NewReader(in), out
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return v, fmt.Errorf("the service has not answered in time: %w", ctx.Err())
	case err != nil && cmd.ProcessState == nil:
		return v, fmt.Errorf("the process that sends cannot be started: %w", err)
	case err != nil:
		return v, fmt.Errorf("the process that sends has failed: %w", err)
	}
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		return v, errors.New("the process that sends did not report the outcome")
	}
	return v, nil
}

// variables of the environment are what a sender needs to connect.
var variables = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT", "GODEBUG"}

// bounded keeps the beginning of what is written.
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
