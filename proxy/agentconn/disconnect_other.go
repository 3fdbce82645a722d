//go:build !linux

package agentconn

import (
	"sync"
	"time"
)

// pollInterval is how often connections are checked where there is no epoll.
const pollInterval = 250 * time.Millisecond

// disconnectWatcher checks all agents' connections in turn. A connection counts as
// closed when a read that does not wait returns its end.
type disconnectWatcher struct {
	conns sync.Map // *Conn -> struct{}
	quit  chan struct{}
	ended chan struct{}
}

func (w *disconnectWatcher) start() error {
	w.quit, w.ended = make(chan struct{}), make(chan struct{})
	go w.loop()
	return nil
}

func (w *disconnectWatcher) stop() {
	close(w.quit)
	<-w.ended
}

func (w *disconnectWatcher) add(c *Conn)    { w.conns.Store(c, struct{}{}) }
func (w *disconnectWatcher) remove(c *Conn) { w.conns.Delete(c) }

func (w *disconnectWatcher) loop() {
	defer close(w.ended)
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-tick.C:
			w.conns.Range(func(key, _ any) bool {
				if c := key.(*Conn); c.onDisconnect.Load() != nil && isPeerClosed(c.Conn) {
					c.peerClosed()
				}
				return true
			})
		}
	}
}
