package main

import (
	"fmt"
	"net"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/heldcall/heldcall/app"
)

// inheritedSockets are the ports that a supervisor has opened for this process, by the protocol of systemd:
// LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES. Other programs do not inherit them.
func inheritedSockets() (sockets []app.Socket, err error) {
	for _, file := range activation.Files(true) {
		ln, err := net.FileListener(file)
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("the socket %q that heldcall was started with (LISTEN_FDS): %w", file.Name(), err)
		}
		sockets = append(sockets, app.Socket{Name: file.Name(), Listener: ln})
	}
	return sockets, nil
}
