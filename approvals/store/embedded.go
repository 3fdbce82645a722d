package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/time/rate"
)

const (
	// maxPayload is the largest record of the embedded server. A request takes
	// half of it at most, so that its decision fits too.
	maxPayload = 8 << 20
	startWait  = 15 * time.Second
	// ownUser is heldcall itself, doorUser its helper among the bots, botUser
	// whoever connects to the listener without credentials.
	ownUser  = "heldcall"
	doorUser = "heldcall-door"
	botUser  = "local"
)

// ownTimeout is how long heldcall may take to connect to the server within itself:
// NATS' own two seconds pass where a machine stands still for a moment, and heldcall
// would not start.
const ownTimeout = 30 * time.Second

// embedded is a NATS server in this process, with its folder locked.
type embedded struct {
	mu       sync.RWMutex // of server
	server   *server.Server
	lock     *os.File
	password string // of ownUser and doorUser, made anew at each start
	addr     string // where bots connect, "" if nowhere
	door     *botDoor
}

// startEmbedded locks the folder and starts a server that syncs every write.
func startEmbedded(o Options) (*embedded, error) {
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	e := &embedded{lock: lock, password: rand.Text()}
	if err := e.start(o); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *embedded) start(o Options) error {
	opts := &server.Options{
		ServerName:             "heldcall",
		JetStream:              true,
		StoreDir:               o.Dir,
		SyncAlways:             true,
		MaxPayload:             maxPayload,
		NoSigs:                 true,
		NoLog:                  true,
		DisableJetStreamBanner: true,
		NoAuthUser:             botUser,
		AuthTimeout:            ownTimeout.Seconds(),
	}
	bots := server.NewAccount(botAccount)
	opts.Accounts = []*server.Account{bots}
	opts.Users = []*server.User{
		{Username: ownUser, Password: e.password}, // in the global account, where the state is
		{Username: doorUser, Password: e.password, Account: bots},
		{Username: botUser, Account: bots, Permissions: botPermissions(o.Channels)},
	}
	if err := setListen(opts, o.Listen); err != nil {
		return err
	}
	keeper := e.keeper(o, opts)
	srv, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("prepare the embedded NATS server in %s: %w", o.Dir, err)
	}
	e.mu.Lock()
	e.server = srv
	e.mu.Unlock()
	services := botServices()
	if keeper != nil {
		services = append(EveryReviewersServices(), botReads()...)
		if keeper.bots, err = srv.LookupAccount(botAccount); err != nil {
			return fmt.Errorf("set up the bots' account: %w", err)
		}
	}
	if err := shareWithBots(srv, services); err != nil {
		return err
	}
	srv.Start()
	if !srv.ReadyForConnections(startWait) {
		return fmt.Errorf("start the embedded NATS server in %s on %s: not ready after %s (is the address in use?)", o.Dir, o.Listen, startWait)
	}
	if err := srv.GlobalAccount().EnableJetStream(nil, nil); err != nil {
		return fmt.Errorf("read the state in %s: %w", o.Dir, err)
	}
	if addr := srv.Addr(); addr != nil && !opts.DontListen {
		e.addr = addr.String()
	}
	return nil
}

// keeper has the server ask who its clients are where there are reviewers; nil
// where there are none.
func (e *embedded) keeper(o Options, opts *server.Options) *doorkeeper {
	if o.Reviewers == nil {
		return nil
	}
	if o.ReviewersOnly {
		opts.NoAuthUser = "" // the server tells clients that they have to say who they are
	}
	keeper := &doorkeeper{reviewers: o.Reviewers, open: !o.ReviewersOnly, password: e.password, channels: o.Channels, log: o.Log, refused: rate.Sometimes{First: 3, Interval: refusalsTold}}
	opts.CustomClientAuthentication = keeper
	return keeper
}

// setListen sets where bots connect. Port 0 takes any free port.
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
		return fmt.Errorf("nats.listen %q: the embedded server is for bots on this machine, without TLS, and listens on a loopback address only; use an external NATS server (nats.url) for others", listen)
	}
	// The server would only log that the address is taken, and go on trying.
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

// InProcessConn connects to the server that runs now: it implements
// [natsgo.InProcessConnProvider] over restarts.
func (e *embedded) InProcessConn() (net.Conn, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.server.InProcessConn()
}

// restart replaces the server by a new one on the same address.
func (e *embedded) restart(o Options) error {
	e.shutDown()
	if e.addr != "" {
		o.Listen = e.addr
	}
	return e.start(o)
}

func (e *embedded) shutDown() {
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}
}

func (e *embedded) close() error {
	e.shutDown()
	return e.lock.Close()
}

// lockDir makes the folder and takes it for this process: two servers on one
// folder lose each other's writes.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "heldcall.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	locked, err := tryLock(f)
	if err == nil && !locked {
		err = errors.New("another heldcall uses it; stop that one or set nats.dir to another folder")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the data folder %s: %w", dir, err), f.Close())
	}
	return f, nil
}
