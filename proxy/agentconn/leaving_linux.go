package agentconn

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// leaving watches all agents' connections with one epoll, edge-triggered for the
// peer's FIN or RST, which shows even behind unread pipelined bytes. It costs a
// system call a connection, none a request, and no goroutine but one.
type leaving struct {
	epoll  int
	wake   int // eventfd that ends the loop
	ended  chan struct{}
	conns  sync.Map // cookie -> *Conn; file descriptors are reused, cookies are not
	cookie atomic.Uint64
}

func (l *leaving) start() error {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(epoll)
		return fmt.Errorf("eventfd: %w", err)
	}
	l.epoll, l.wake, l.ended = epoll, wake, make(chan struct{})
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, wake, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
		unix.Close(epoll)
		unix.Close(wake)
		return fmt.Errorf("epoll: %w", err)
	}
	go l.loop()
	return nil
}

// stop ends the loop and waits for it.
func (l *leaving) stop() {
	one := [8]byte{1}
	_, _ = unix.Write(l.wake, one[:])
	<-l.ended
	unix.Close(l.epoll)
	unix.Close(l.wake)
}

func (l *leaving) watch(a *Conn) {
	a.cookie = l.cookie.Add(1)
	sc, ok := a.Conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	l.conns.Store(a.cookie, a)
	_ = raw.Control(func(fd uintptr) {
		event := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(a.cookie), Pad: int32(a.cookie >> 32)}
		err = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, int(fd), &event)
	})
	if err != nil {
		l.conns.Delete(a.cookie)
	}
}

// forget comes before the connection is closed, which takes it out of the epoll.
func (l *leaving) forget(a *Conn) { l.conns.Delete(a.cookie) }

func (l *leaving) loop() {
	defer close(l.ended)
	events := make([]unix.EpollEvent, 128)
	for {
		n, err := unix.EpollWait(l.epoll, events, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		for _, e := range events[:max(n, 0)] {
			cookie := uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32
			if cookie == 0 {
				return
			}
			if a, ok := l.conns.Load(cookie); ok {
				a.(*Conn).left()
			}
		}
	}
}
