package launch

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/heldcall/heldcall/app"
)

// portTries bounds how often free ports are looked for.
const portTries = 10

// OnFreePorts starts what listens at the addresses of config, or on free ports in place of
// those that other programs hold, which are listed in notes. A port that another program
// takes between the look and the start is one of those the next time.
func OnFreePorts[T any](config app.Config, start func(app.Config) (T, error)) (started T, notes string, err error) {
	for range portTries {
		var free app.Config
		if free, notes, err = withFreePorts(config); err != nil {
			return started, "", err
		}
		if started, err = start(free); !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return started, notes, err
}

// withFreePorts replaces each port that another program holds by a free one, and lists
// them in notes.
func withFreePorts(config app.Config) (free app.Config, notes string, err error) {
	listeners := []struct {
		key     string
		address *string
		hint    string
	}{
		{"proxy.listen", &config.Proxy.Listen, "the command's environment has the address"},
		{"console.listen", &config.Console.Listen, "give it to the other commands with --console; heldcall's log names it"},
		{"nats.listen", &config.NATS.Listen, "heldcall's log names it"},
	}
	var lines strings.Builder
	for _, l := range listeners {
		if *l.address == "" || (l.key == "nats.listen" && config.NATS.URL != "") {
			continue
		}
		ln, err := net.Listen("tcp", *l.address)
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			host, _, _ := net.SplitHostPort(*l.address)
			fmt.Fprintf(&lines, "heldcall: %s %s is taken; this run uses a free port (%s)\n", l.key, *l.address, l.hint)
			*l.address = net.JoinHostPort(host, "0")
		case err != nil:
			return config, "", fmt.Errorf("%s: %w", l.key, err)
		default:
			ln.Close()
		}
	}
	return config, lines.String(), nil
}
