package shoutrrr

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
)

var (
	errNotOne   = errors.New("is not a URL of shoutrrr; write SERVICE://..., such as ntfy://ntfy.sh/TOPIC: docs/channels.md has examples")
	errNoReader = errors.New("is of the service logger, which has no readers; use another service")
	errMarkup   = errors.New("has usehtml or json set, which would make markup of a model's texts; remove it")
)

// CheckURL checks a URL. Its errors contain nothing of the URL except the name of a
// known service.
func CheckURL(text string) (err error) {
	defer func() {
		if recover() != nil { // the library takes some URLs to be whole that are not
			err = errNotOne
		}
	}()
	u, err := url.Parse(text)
	if err != nil {
		return errNotOne
	}
	name, _, custom := strings.Cut(u.Scheme, "+")
	services := &router.ServiceRouter{}
	if _, err := services.NewService(name); err != nil {
		return errNotOne
	}
	for key, values := range u.Query() {
		if key = strings.ToLower(key); (key == "usehtml" || (key == "json" && name == "discord")) && !isNo(values) {
			return errMarkup
		}
	}
	switch {
	case name == "logger":
		return errNoReader
	case name == "matrix" && !custom: // this one would sign in
		if password, _ := u.User.Password(); u.Host != "" && password != "" {
			return nil
		}
	default:
		if _, err := services.Locate(text); err == nil {
			return nil
		}
	}
	return fmt.Errorf("is not a complete URL of the service %s; see shoutrrr's documentation of that service", name)
}

func isNo(values []string) bool {
	switch strings.ToLower(strings.Join(values, ",")) {
	case "no", "false", "0":
		return true
	}
	return false
}
