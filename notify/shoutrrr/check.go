package shoutrrr

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
)

// refusals are the services and settings that are not taken, and why.
var (
	errNotOne   = errors.New("is not a URL of shoutrrr; write SERVICE://..., such as ntfy://ntfy.sh/TOPIC: docs/channels.md has examples")
	errNoReader = errors.New("is of the service logger, which tells nobody; name another")
	errMarkup   = errors.New("has usehtml or json set, by which texts of a model would be markup; leave it out")
)

// CheckURL reports what is wrong with a URL. Its errors quote nothing of the URL but
// the name of a service that is known.
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
	return fmt.Errorf("is not a whole URL of the service %s; compare it with shoutrrr's own page of that service", name)
}

// isNo reports whether a setting is switched off.
func isNo(values []string) bool {
	switch strings.ToLower(strings.Join(values, ",")) {
	case "no", "false", "0":
		return true
	}
	return false
}
