package embedded

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/heldcall/heldcall/internal/memory"
)

const (
	// maxUnread bounds the bytes that the server keeps for all bots that do not read what they have asked for. The
	// server's own bound is for each connection, and heldcall's own connection needs it.
	maxUnread = 32 << 20
	// unreadInterval is the time between two looks, and unreadSoon while bots have anything to read.
	unreadInterval = 200 * time.Millisecond
	unreadSoon     = 20 * time.Millisecond
	maxBots        = 4096 // connections that are looked at
	// fewUnread is what a bot may leave unread whatever others do.
	fewUnread = 1 << 20
	// writeDeadline is how long the server may need for a write to a client. Until then it keeps what a
	// disconnected client has not read.
	writeDeadline = 5 * time.Second
)

// unread bounds the memory of what bots do not read: it reserves it, and ends the connection of the bot with the most
// if it is too much. A client of NATS connects again by itself.
type unread struct {
	server   func() *server.Server
	budget   *memory.Budget
	log      *slog.Logger
	reserved int64
	ended    []ended
}

// ended is a connection that was ended, whose bytes the server keeps until a time.
type ended struct {
	bytes int64
	until time.Time
}

// watch looks until ctx ends.
func (u *unread) watch(ctx context.Context) {
	defer func() { u.budget.Release(u.reserved) }()
	for wait := unreadInterval; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if wait = unreadInterval; u.look() > 0 {
			wait = unreadSoon
		}
	}
}

// look returns how many bytes bots have not read.
func (u *unread) look() int64 {
	u.ended = slices.DeleteFunc(u.ended, func(e ended) bool { return time.Now().After(e.until) })
	total := int64(0)
	for _, e := range u.ended {
		total += e.bytes
	}
	srv := u.server()
	bots, err := srv.Connz(&server.ConnzOptions{Username: true, Account: botAccount, Sort: server.ByPending, Limit: maxBots})
	if err != nil {
		return u.resize(total)
	}
	for _, bot := range bots.Conns {
		if bot.AuthorizedUser != serviceUser {
			total += int64(bot.Pending)
		}
	}
	kept := int64(0) // of connections that are ended now
	for _, bot := range bots.Conns {
		if bot.Pending <= fewUnread || (total <= maxUnread && u.resize(total) == total) {
			break
		}
		if bot.AuthorizedUser == serviceUser {
			continue
		}
		u.log.Warn("a bot was disconnected: it does not read what it asks for", "client", bot.Name, "user", bot.AuthorizedUser, "unread_bytes", bot.Pending)
		_ = srv.DisconnectClientByID(bot.Cid) // it may have left
		u.ended = append(u.ended, ended{int64(bot.Pending), time.Now().Add(writeDeadline)})
		total -= int64(bot.Pending) // the others may have as much again
		kept += int64(bot.Pending)
	}
	return u.resize(total + kept)
}

// resize reserves n bytes in all. It returns how many are reserved.
func (u *unread) resize(n int64) int64 {
	switch {
	case n < u.reserved:
		u.budget.Release(u.reserved - n)
	case !u.budget.Reserve(n - u.reserved):
		return u.reserved
	}
	u.reserved = n
	return n
}
