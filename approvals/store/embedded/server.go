// Package embedded hides the NATS server that runs in the process: on a locked folder and a
// loopback address, with an account for bots. Read [Start], accounts.go (the rights of bots), auth.go
// (the authentication of clients), then consumers.go.
package embedded

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/store/subjects"
	"github.com/heldcall/heldcall/internal/memory"
)

const (
	// maxPayload is the largest record, in bytes. A new request takes at most half of it,
	// so that its decision fits too.
	maxPayload = 8 << 20
	startWait  = 15 * time.Second
	maxClients = 1 << 16 // of the server; its own limit
)

// The users of the server, besides the reviewers.
const (
	ownUser     = "heldcall"      // heldcall itself
	serviceUser = "heldcall-door" // the [ConsumerService], in the bots' account
	botUser     = "local"         // clients without credentials
)

// connectTimeout is the time limit for connections to the server in the same process. The
// default of NATS, two seconds, can be too short on a busy machine.
const connectTimeout = 30 * time.Second

// sendTimeout is the time limit for sending to the server in the same process, which reads
// nothing while it waits for its disk. Until then every operation of the connection waits,
// whatever its context.
const sendTimeout = 5 * time.Second

// Options configures a [Server]. Reviewers may be nil; the other fields are needed.
type Options struct {
	Dir    string // of the state; created if it does not exist
	Listen string // host:port for bots, a loopback address; "-" is none
	// Reviewers connect with their tokens. Nil: every client is the reviewer "local".
	Reviewers *reviewers.Directory
	// ReviewersOnly refuses clients without credentials. It needs Reviewers.
	ReviewersOnly bool
	Channels      []string // bots may not use their consumers
	// Kept are the streams whose messages are deleted by age only, with that age (0: never).
	Kept map[string]time.Duration
	// Unrecorded are the streams of the versions that did not record the states of streams.
	Unrecorded []string
	// Erased are the buckets of which only the last record of each key stays in the files.
	Erased []string
	// AcceptLoss starts the server although a part of the state is missing or damaged:
	// see [Server.Losses].
	AcceptLoss bool
	// Memory has what the server keeps for bots that do not read. Nil: it is bounded all the same.
	Memory *memory.Budget
	Log    *slog.Logger
}

// Server is a NATS server in this process, with its folder locked. Its methods are
// safe for concurrent use, except Restart and Close.
type Server struct {
	opts     Options
	mu       sync.RWMutex // of server, auth and addr
	server   *server.Server
	auth     *auth // of server; nil: there are no reviewers
	lock     *os.File
	password string // of ownUser and serviceUser, new at each start of heldcall
	addr     string // for bots, "" if there is none

	recording sync.Mutex // of recorded; held while the server is replaced
	recorded  manifest
	losses    []Loss

	stop     context.CancelFunc // of the watch over what bots do not read
	watching sync.WaitGroup
}

// Losses returns the accepted losses of the start.
func (s *Server) Losses() []Loss { return s.losses }

// Start locks the folder and starts a server that syncs every write to disk. It fails if
// another process uses the folder, and with a [LossError] if a part of the state is missing.
func Start(o Options) (*Server, error) {
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{opts: o, lock: lock, password: rand.Text()}
	if err := s.startFirst(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if o.Listen != "-" {
		s.watchUnread()
	}
	return s, nil
}

// watchUnread watches over what bots do not read until the server is closed.
func (s *Server) watchUnread() {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	u := &unread{budget: s.opts.Memory, log: s.opts.Log, server: func() *server.Server {
		s.mu.RLock()
		defer s.mu.RUnlock()
		return s.server
	}}
	s.watching.Go(func() { u.watch(ctx) })
}

func (s *Server) start(listen string) error {
	opts := s.serverOptions()
	if err := setListen(opts, listen); err != nil {
		return err
	}
	if err := s.finishCompression(); err != nil {
		return fmt.Errorf("prepare the state in %s: %w", s.opts.Dir, err)
	}
	auth := s.newAuth(opts)
	srv, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("prepare the embedded NATS server in %s: %w", s.opts.Dir, err)
	}
	s.mu.Lock()
	s.server, s.auth = srv, auth
	s.mu.Unlock()
	services := botServices()
	if auth != nil {
		services = append(subjects.EveryReviewersServices(), botReads()...)
		if auth.bots, err = srv.LookupAccount(botAccount); err != nil {
			return fmt.Errorf("set up the bots' account: %w", err)
		}
		if auth.consumers, err = srv.LookupAccount(consumerAccount); err != nil {
			return fmt.Errorf("set up the account of consumers: %w", err)
		}
	}
	if err := shareWithBots(srv, services); err != nil {
		return err
	}
	srv.Start()
	if !srv.ReadyForConnections(startWait) {
		return fmt.Errorf("start the embedded NATS server in %s on %s: not ready after %s (is the address in use?)", s.opts.Dir, listen, startWait)
	}
	if err := srv.GlobalAccount().EnableJetStream(nil, nil); err != nil {
		return fmt.Errorf("read the state in %s: %w", s.opts.Dir, err)
	}
	if addr := srv.Addr(); addr != nil && !opts.DontListen {
		s.mu.Lock()
		s.addr = addr.String()
		s.mu.Unlock()
	}
	return nil
}

// finishCompression is [folder.finishCompression] for each stream.
func (s *Server) finishCompression() error {
	dir := folder(s.opts.Dir)
	streams, err := dir.streams()
	for _, stream := range streams {
		err = errors.Join(err, dir.finishCompression(stream))
	}
	return err
}

// serverOptions returns the options of NATS without the address and the authentication.
func (s *Server) serverOptions() *server.Options {
	bots, consumers := server.NewAccount(botAccount), server.NewAccount(consumerAccount)
	return &server.Options{
		ServerName:             "heldcall",
		JetStream:              true,
		StoreDir:               s.opts.Dir,
		SyncAlways:             true,
		MaxPayload:             maxPayload,
		WriteDeadline:          writeDeadline,
		NoSigs:                 true,
		NoLog:                  true,
		DisableJetStreamBanner: true,
		NoAuthUser:             botUser,
		AuthTimeout:            connectTimeout.Seconds(),
		Accounts:               []*server.Account{bots, consumers},
		Users: []*server.User{
			{Username: ownUser, Password: s.password}, // in the global account, where the state is
			{Username: serviceUser, Password: s.password, Account: consumers},
			{Username: botUser, Account: bots, Permissions: botPermissions(s.opts.Channels)},
		},
	}
}

// newAuth sets and returns the authentication of clients by reviewers, nil if there are none.
func (s *Server) newAuth(opts *server.Options) *auth {
	o := s.opts
	if o.Reviewers == nil {
		return nil
	}
	if o.ReviewersOnly {
		opts.NoAuthUser = "" // the server informs clients that it needs credentials
	}
	a := &auth{
		reviewers: o.Reviewers, open: !o.ReviewersOnly, password: s.password, channels: o.Channels,
		log: o.Log, refused: rate.Sometimes{First: 3, Interval: refusalInterval},
	}
	opts.CustomClientAuthentication = a
	return a
}

// ConnectOptions returns the options with which heldcall itself connects to the server.
func (s *Server) ConnectOptions() []natsgo.Option { return s.connectOptions(ownUser) }

func (s *Server) connectOptions(user string) []natsgo.Option {
	return []natsgo.Option{
		natsgo.InProcessServer(s), natsgo.UserInfo(user, s.password), natsgo.Timeout(connectTimeout), natsgo.FlusherTimeout(sendTimeout),
	}
}

// Addr returns the host:port for bots, "" if there is none.
func (s *Server) Addr() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.addr
}

// InProcessConn connects to the current server: it implements
// [natsgo.InProcessConnProvider] across restarts.
func (s *Server) InProcessConn() (net.Conn, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.server.InProcessConn()
}

// Disconnect ends the connections of reviewers whose rights have changed. Their clients connect again, and get the
// rights that they have then.
func (s *Server) Disconnect(names []string) error {
	s.mu.RLock()
	srv, auth := s.server, s.auth
	s.mu.RUnlock()
	if auth == nil || len(names) == 0 {
		return nil
	}
	auth.settle()
	return disconnect(srv, func(user string) bool { return slices.Contains(names, user) })
}

// UseChannels replaces the channels of the options, in a server with reviewers. The connections of bots end, and their
// clients connect again.
func (s *Server) UseChannels(channels []string) error {
	s.mu.Lock()
	s.opts.Channels = channels
	srv, auth := s.server, s.auth
	s.mu.Unlock()
	if auth == nil {
		return nil
	}
	auth.useChannels(channels)
	return disconnect(srv, func(user string) bool { return user != serviceUser })
}

// disconnect ends the connections of the bots with some users.
func disconnect(srv *server.Server, of func(user string) bool) error {
	bots, err := srv.Connz(&server.ConnzOptions{Username: true, Account: botAccount, Limit: maxClients})
	if err != nil {
		return fmt.Errorf("list the connections of bots: %w", err)
	}
	for _, bot := range bots.Conns {
		if of(bot.AuthorizedUser) {
			_ = srv.DisconnectClientByID(bot.Cid) // it may have left
		}
	}
	return nil
}

// Restart replaces the server by a new one on the same address. It fails with a [LossError] if
// a part of the state is missing then.
func (s *Server) Restart() error {
	s.recording.Lock()
	defer s.recording.Unlock()
	s.shutDown()
	damaged, err := s.recorded.check(folder(s.opts.Dir), false)
	if err == nil && len(damaged) > 0 {
		err = &LossError{s.opts.Dir, damaged}
	}
	if err != nil {
		return fmt.Errorf("check the state in %s: %w", s.opts.Dir, err)
	}
	if err := s.start(cmp.Or(s.Addr(), s.opts.Listen)); err != nil {
		return err
	}
	_, err = s.verify()
	return err
}

func (s *Server) shutDown() {
	if s.server != nil {
		s.server.Shutdown()
		s.server.WaitForShutdown()
	}
}

// Close stops the server and releases the folder.
func (s *Server) Close() error {
	if s.stop != nil {
		s.stop()
		s.watching.Wait()
	}
	s.shutDown()
	return s.lock.Close()
}
