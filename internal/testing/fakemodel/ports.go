package fakemodel

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
)

// lastPort is the last port that FreeAddresses has given away.
var lastPort atomic.Int32

// FreeAddresses are n addresses of loopback, host:port, that have no listener.
// They are below the ports that systems give to every program that asks for any, so that a
// program that is started a little later finds them free.
func FreeAddresses(n int) ([]string, error) {
	lastPort.CompareAndSwap(0, 15000+rand.Int32N(15000))
	var addresses []string
	for len(addresses) < n {
		address := fmt.Sprintf("127.0.0.1:%d", lastPort.Add(1))
		ln, err := net.Listen("tcp", address)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for a free port: %w", err)
		}
		if err := ln.Close(); err != nil {
			return nil, fmt.Errorf("look for a free port: %w", err)
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}
