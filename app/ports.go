package app

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/heldcall/heldcall/console"
	"github.com/heldcall/heldcall/proxy"
)

// Socket is a listening socket that the supervisor of this process has opened, such as systemd. It takes the place
// of proxy.listen or console.listen.
type Socket struct {
	Name string // "proxy" or "console"; a socket with another name is recognised by its address
	net.Listener
}

// sockets are those in place of proxy.listen and console.listen, nil for none.
type sockets struct{ proxy, console net.Listener }

// placeSockets finds out what each socket is for, and sets the addresses of the configuration to theirs.
func placeSockets(given []Socket, c *Config) (s sockets, err error) {
	for _, socket := range given {
		place := map[string]*net.Listener{"proxy": &s.proxy, "console": &s.console}[socket.Name]
		switch {
		case place != nil:
		case isAt(socket.Addr(), c.Proxy.Listen):
			place = &s.proxy
		case isAt(socket.Addr(), c.Console.Listen):
			place = &s.console
		}
		if _, tcp := socket.Addr().(*net.TCPAddr); place == nil || *place != nil || !tcp {
			return s, fmt.Errorf("the socket %q on %s that heldcall was started with is not for proxy.listen (%s) or console.listen (%s), or the second one for it: give it the name proxy or console, or its address, or remove it", socket.Name, socket.Addr(), c.Proxy.Listen, c.Console.Listen)
		}
		*place = socket.Listener
	}
	if s.proxy != nil {
		c.Proxy.Listen = s.proxy.Addr().String()
	}
	if s.console != nil {
		c.Console.Listen = s.console.Addr().String()
	}
	return s, nil
}

// isAt reports whether a socket's address is that of a configured address, host:port.
func isAt(socket net.Addr, address string) bool {
	want, err := net.ResolveTCPAddr("tcp", address)
	is, tcp := socket.(*net.TCPAddr)
	if err != nil || !tcp || is.Port != want.Port {
		return false
	}
	return hostOf(is) == hostOf(want)
}

// hostOf is the IP address, the zero Addr for all of them.
func hostOf(a *net.TCPAddr) netip.Addr {
	if a.IP.IsUnspecified() {
		return netip.Addr{}
	}
	return a.AddrPort().Addr().Unmap()
}

// openPorts opens the ports of agents and of the console before the state is read, which takes time: requests wait,
// and clients that try again find an open port.
func (p *parts) openPorts(ctx context.Context, running *lifecycle) error {
	if err := p.openConsole(running); err != nil {
		return err
	}
	return p.openProxy(ctx, running)
}

func (p *parts) openConsole(running *lifecycle) (err error) {
	c := p.options.Config.Console
	p.port, err = console.Open(console.PortOptions{Listen: c.Listen, URL: c.URL, Reviewers: p.reviewers != nil, Socket: p.sockets.console, Log: p.log("console")})
	if err != nil {
		return err
	}
	running.started("port of the console", p.port.Close)
	return nil
}

func (p *parts) openProxy(ctx context.Context, running *lifecycle) (err error) {
	o := p.changed(p.proxySettings(Client{Agent: p.options.Config.Proxy.Agent}.principal()))
	o.Socket, o.Services = p.sockets.proxy, proxy.Services{} // which startProxy provides
	if p.proxy, err = proxy.New(o); err != nil {
		return err
	}
	if err := p.proxy.Start(ctx); err != nil {
		return err
	}
	running.started("port of agents", p.proxy.Close)
	return nil
}
