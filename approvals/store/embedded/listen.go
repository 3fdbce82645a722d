package embedded

import (
	"fmt"
	"net"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// setListen sets the address for bots. Port 0 means any free port.
func setListen(opts *server.Options, listen string) error {
	if listen == "-" {
		opts.DontListen = true
		return nil
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("nats.listen %q: %w", listen, err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("nats.listen %q: %q is not a port", listen, port)
	}
	ip := net.ParseIP(host)
	if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("nats.listen %q: the embedded server has no TLS and listens on a loopback address only; use an external NATS server (nats.url) for bots on other machines", listen)
	}
	// The server would only log that the address is in use, and try again.
	probe, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("nats.listen: %w", err)
	}
	if err := probe.Close(); err != nil {
		return fmt.Errorf("nats.listen %q: %w", listen, err)
	}
	opts.Host, opts.Port = host, int(number)
	if number == 0 {
		opts.Port = server.RANDOM_PORT
	}
	return nil
}
