package discovery

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

const (
	answerWithin = 5 * time.Second  // limit for an answer
	attachWithin = 30 * time.Second // limit for the answer to an agent that is to be attached
)

// ErrNoRun reports that no run answers in a folder.
var ErrNoRun = errors.New("no run answers")

// RefusedError is the error of [Attach] if the run does not attach the agent.
type RefusedError struct{ Reason string }

// Error returns the reason.
func (r *RefusedError) Error() string { return r.Reason }

// Found is a run that answers.
type Found struct {
	About
	folder string
}

// List returns the runs that answer on this machine, in the order of their folders. all is what [Folder]
// returns.
func List(ctx context.Context, all string) []Found {
	sockets, err := filepath.Glob(filepath.Join(all, "*", socketName))
	if err != nil || all == "" {
		return nil
	}
	var found []Found
	for _, socket := range sockets {
		f := Found{folder: filepath.Dir(socket)}
		var a answer
		if a, err = ask(ctx, f.folder, question{About: true}); err != nil || a.About == nil || !onLoopback(a.About.Console) {
			continue
		}
		if f.About = *a.About; !onWeb(f.Inbox) {
			f.Inbox = f.Console
		}
		found = append(found, f)
	}
	return found
}

// PortsFor returns the ports of those agents among runs that work in a folder, or in the nearest one above it.
func PortsFor(runs []Found, folder string) (ports []string) {
	nearest := -1
	for _, run := range runs {
		for _, port := range run.Ports {
			within, err := filepath.Rel(port.Folder, folder)
			if err != nil || !filepath.IsLocal(within) || !isAddress(port.Proxy) {
				continue
			}
			switch n := len(filepath.Clean(port.Folder)); {
			case n > nearest:
				nearest, ports = n, []string{port.Proxy}
			case n == nearest && !slices.Contains(ports, port.Proxy):
				ports = append(ports, port.Proxy)
			}
		}
	}
	return ports
}

// onLoopback reports whether a URL is one of this machine.
func onLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsLoopback() && u.User == nil && onWeb(address)
}

// onWeb reports whether a URL is that of a page, which a browser may open.
func onWeb(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// Proves reports whether the run proves that it knows a token and serves the console at its address. It
// sends nothing from which the token could be computed.
func (f Found) Proves(ctx context.Context, token string) bool {
	nonce := rand.Text()
	a, err := ask(ctx, f.folder, question{Nonce: nonce})
	sum := sha256.Sum256([]byte(token))
	want := proof(sum[:], f.Console, nonce)
	return err == nil && slices.ContainsFunc(a.Proofs, func(got string) bool { return hmac.Equal([]byte(got), []byte(want)) })
}

// ask asks a question that has one answer.
func ask(ctx context.Context, folder string, q question) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	c, err := dial(ctx, folder, q)
	if err != nil {
		return answer{}, err
	}
	defer c.conn.Close()
	return c.read()
}

// connection is a connection to a run.
type connection struct {
	conn net.Conn
	in   *bufio.Scanner
}

// dial connects and asks. The deadline of the context bounds the question and the answer.
func dial(ctx context.Context, folder string, q question) (*connection, error) {
	var conn net.Conn
	err := withSocket(folder, func(name string) (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, "unix", name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoRun, err)
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	line, err := json.Marshal(q)
	if err == nil {
		_, err = conn.Write(append(line, '\n'))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ask the run: %w", err), conn.Close())
	}
	in := bufio.NewScanner(conn)
	in.Buffer(nil, maxLine)
	return &connection{conn, in}, nil
}

// read reads a line of the answer.
func (c *connection) read() (answer, error) {
	var a answer
	if !c.in.Scan() {
		return a, errors.Join(ErrNoRun, c.in.Err())
	}
	if err := json.Unmarshal(c.in.Bytes(), &a); err != nil {
		return a, fmt.Errorf("read the answer of the run: %w", err)
	}
	return a, nil
}

// Attached is the connection of an agent to the run that serves it.
type Attached struct {
	Addresses
	c    *connection
	left atomic.Bool
}

// Attach attaches an agent to the run in a folder. It fails with [ErrNoRun] if no run answers, and with a
// [*RefusedError] if the run does not attach this agent.
func Attach(ctx context.Context, folder string, agent Agent) (*Attached, error) {
	ctx, cancel := context.WithTimeout(ctx, attachWithin)
	defer cancel()
	c, err := dial(ctx, folder, question{Attach: &agent})
	if err != nil {
		return nil, err
	}
	a, err := c.read()
	switch {
	case err != nil:
	case a.Attached == nil:
		err = &RefusedError{a.Refused}
	case !isAddress(a.Attached.Proxy):
		err = &RefusedError{"it does not name the address of a proxy"}
	default:
		_ = c.conn.SetDeadline(time.Time{})
		return &Attached{Addresses: *a.Attached, c: c}, nil
	}
	return nil, errors.Join(err, c.conn.Close())
}

// isAddress reports whether an address is an IP and a port.
func isAddress(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && a.Addr().Zone() == "" // which may have any bytes
}

// Events calls each with the events about the agent's calls, until [Attached.Leave] or until the run that
// serves the agent ends. It returns what came from the agent, and whether the agent left before that run
// ended.
func (a *Attached) Events(each func(approvals.Event, Held)) (report Report, whole bool) {
	defer a.c.conn.Close()
	for {
		line, err := a.c.read()
		switch {
		case err != nil:
			return Report{}, false
		case line.Notice != nil:
			each(line.Notice.Event, line.Notice.Held)
		case line.Report != nil:
			return *line.Report, a.left.Load()
		}
	}
}

// Leave ends the service. [Attached.Events] then returns.
func (a *Attached) Leave() {
	a.left.Store(true)
	if half, ok := a.c.conn.(*net.UnixConn); ok {
		_ = half.CloseWrite() // fails only if the other end has closed it
	}
}
