package shoutrrr

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/heldcall/heldcall/notify"
)

// result is the result of an order. Its words are this package's own.
type result struct {
	Failed string `json:"failed"`        // why; "": the service has accepted it
	Final  bool   `json:"final"`         // trying again cannot help
	After  int64  `json:"after_seconds"` // when the service accepts another attempt; 0: unknown
}

func (v result) err() error {
	switch {
	case v.Failed == "":
		return nil
	case v.Final:
		return notify.Permanent(errors.New(v.Failed))
	case v.After > 0:
		return notify.RetryAfter(errors.New(v.Failed), time.Duration(v.After)*time.Second)
	}
	return errors.New(v.Failed)
}

// resultOf returns the result of an attempt from the library's error and the recorded
// answer. The answer goes first, as some services drop errors.
func resultOf(err error, rec *recorder) result {
	if s := rec.last; s != nil {
		switch {
		case s.err != nil:
			return result{Failed: unreached(s.err)}
		case s.status >= http.StatusMultipleChoices:
			return result{Failed: fmt.Sprintf("the service answered %d", s.status), Final: notify.IsPermanent(s.status), After: s.after}
		case err != nil:
			return result{Failed: fmt.Sprintf("the service answered %d, without accepting the message", s.status)}
		}
		return result{}
	}
	switch answer := (*textproto.Error)(nil); {
	case err == nil, closedOnly(err):
		return result{}
	case errors.As(err, &answer):
		return result{Failed: fmt.Sprintf("the mail server answered %d", answer.Code), Final: finalMail(answer.Code)}
	}
	return result{Failed: unreached(err)}
}

// finalMail is [notify.IsPermanent] for a mail server: too large, or refused as it is.
func finalMail(code int) bool { return code == 552 || code == 554 }

// closedOnly reports whether only the end of the session with a mail server failed, which
// has then accepted the message.
func closedOnly(err error) bool {
	text := err.Error()
	return strings.Contains(text, "error closing session") && !strings.Contains(text, "error sending message to recipient")
}

// unreached explains why a service was not reached. An error of a connection may quote
// the URL, so its own words are left out.
func unreached(err error) string {
	var (
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
		timed       net.Error
	)
	switch {
	case errors.As(err, &name):
		return "the DNS does not know the service's name"
	case errors.As(err, &certificate):
		return "the service's certificate is not trusted"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the service refuses connections"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timed) && timed.Timeout():
		return "the service did not answer in time"
	case errors.As(err, &timed):
		return "the connection to the service failed"
	}
	return "the message could not be sent; check the URL of the channel"
}
