package agentconn

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// disconnectWatcher watches all agents' connections with one epoll, edge-triggered for
// the peer's FIN or RST, which is reported even if pipelined bytes are unread. It costs
// one system call a connection, none a request, and one goroutine in all.
type disconnectWatcher struct {
	epoll  int
	wake   int // eventfd that ends the loop
	ended  chan struct{}
	conns  sync.Map // id -> *Conn; file descriptors are reused, ids are not
	lastID atomic.Uint64
}

func (w *disconnectWatcher) start() error {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(epoll)
		return fmt.Errorf("eventfd: %w", err)
	}
	w.epoll, w.wake, w.ended = epoll, wake, make(chan struct{})
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, wake, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
		unix.Close(epoll)
		unix.Close(wake)
		return fmt.Errorf("epoll: %w", err)
	}
	go w.loop()
	return nil
}

// stop ends the loop and waits for it.
func (w *disconnectWatcher) stop() {
	one := [8]byte{1}
	_, _ = unix.Write(w.wake, one[:])
	<-w.ended
	unix.Close(w.epoll)
	unix.Close(w.wake)
}

// add begins to watch a connection.
func (w *disconnectWatcher) add(c *Conn) {
	c.id = w.lastID.Add(1)
	sc, ok := c.Conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	w.conns.Store(c.id, c)
	_ = raw.Control(func(fd uintptr) {
		event := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(c.id), Pad: int32(c.id >> 32)}
		err = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, int(fd), &event)
	})
	if err != nil {
		w.conns.Delete(c.id)
	}
}

// remove is called before the connection is closed, which removes it from the epoll.
func (w *disconnectWatcher) remove(c *Conn) { w.conns.Delete(c.id) }

func (w *disconnectWatcher) loop() {
	defer close(w.ended)
	events := make([]unix.EpollEvent, 128)
	for {
		n, err := unix.EpollWait(w.epoll, events, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		for _, e := range events[:max(n, 0)] {
			id := uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32
			if id == 0 { // the eventfd
				return
			}
			if c, ok := w.conns.Load(id); ok {
				c.(*Conn).peerClosed()
			}
		}
	}
}
