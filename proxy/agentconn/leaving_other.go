//go:build !linux

package agentconn

import (
	"sync"
	"time"
)

// sweepEvery is how often connections are looked at where there is no epoll.
const sweepEvery = 250 * time.Millisecond

// leaving looks at all agents' connections in turn. A connection counts as left
// when a read without waiting finds its end.
type leaving struct {
	conns sync.Map // *Conn -> struct{}
	quit  chan struct{}
	ended chan struct{}
}

func (l *leaving) start() error {
	l.quit, l.ended = make(chan struct{}), make(chan struct{})
	go l.loop()
	return nil
}

func (l *leaving) stop() {
	close(l.quit)
	<-l.ended
}

func (l *leaving) watch(a *Conn)  { l.conns.Store(a, struct{}{}) }
func (l *leaving) forget(a *Conn) { l.conns.Delete(a) }

func (l *leaving) loop() {
	defer close(l.ended)
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.quit:
			return
		case <-tick.C:
			l.conns.Range(func(key, _ any) bool {
				if a := key.(*Conn); a.onGone.Load() != nil && peerClosed(a.Conn) {
					a.left()
				}
				return true
			})
		}
	}
}
