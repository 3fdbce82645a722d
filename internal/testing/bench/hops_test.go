package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// listen gives a loopback listener that ends with the test.
func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// startUpstream serves the scripted model in this process.
func startUpstream(t *testing.T, out io.Writer) string {
	t.Helper()
	ln := listen(t)
	go func() { _ = newUpstream(out).serveAll(ln) }() // ends with the listener
	return ln.Addr().String()
}

// A benchmark compares every answer too, over all connections of its workloads. This test
// uses a few.
func TestHopsPassEveryByte(t *testing.T) {
	up := startUpstream(t, io.Discard)
	addrs := map[string]string{hopDirect: up}
	for name, serve := range map[string]func(net.Listener, string) error{
		hopTCP: serveTCP, hopFasthttp: serveFasthttp, hopHTTPUtil: serveHTTPUtil,
	} {
		ln := listen(t)
		addrs[name] = ln.Addr().String()
		go func() { _ = serve(ln, up) }() // ends with the listener
	}
	for name, addr := range addrs {
		for _, w := range append(workloads(), workload{"split", chat, shapeSplitTool, 4, streamLen, shortPrompt}) {
			w.Conns = min(w.Conns, 4)
			workers, err := newWorkers(addr, w)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := eachWorker(workers, (*worker).once); err != nil {
					t.Errorf("%s, %s: %v", name, w.Name, err)
				}
			}
			closeWorkers(workers)
		}
	}
}

func TestPacedStreamsAreTimed(t *testing.T) {
	a, err := dial(startUpstream(t, io.Discard), 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	const events = 12
	var delays []int64
	err = a.readPaced(newPrompt(chat, shapePaced, events, shortPrompt, 1).render(firstSeed+1), events, func(d int64) { delays = append(delays, d) })
	if err != nil {
		t.Fatal(err)
	}
	if len(delays) != events-2 {
		t.Errorf("%d of %d text events were timed", len(delays), events-2)
	}
	for _, d := range delays {
		if d <= 0 || d > 10e9 {
			t.Errorf("a delay of %d ns", d)
		}
	}
}

func TestUpstreamTellsWhenAStreamIsLeft(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	p := &process{notices: make(chan notice, 8), exited: make(chan struct{})}
	go p.scanNotices(r)
	addr := startUpstream(t, w)
	if first := <-p.notices; first.Addr != addr {
		t.Fatalf("the first notice is %+v, want the address %s", first, addr)
	}
	for _, s := range []shape{shapeOpen, shapePaced} {
		agents, err := beginStreams(addr, chat, s, 1000, 1, func(body []byte) bool { return len(body) > 700 })
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := p.sawClose(agents[0].seed, 0); ok {
			t.Errorf("%s: closed before it was left", s)
		}
		agents[0].close()
		if at, ok := p.sawClose(agents[0].seed, exchangeLimit); !ok || at == 0 {
			t.Errorf("%s: not told within %s", s, exchangeLimit)
		}
	}
}

func TestAgentRefusesBrokenAnswers(t *testing.T) {
	f := func(answer, want string) {
		t.Helper()
		client, server := net.Pipe()
		go func() {
			_, _ = server.Read(make([]byte, 64))
			for _, b := range []byte(answer) { // a byte at a time: every split
				_, _ = server.Write([]byte{b})
			}
			server.Close()
		}()
		a := &agent{conn: client, buf: make([]byte, 256), deadline: exchangeLimit}
		defer a.close()
		err := a.exchange([]byte("GET"))
		got := "ok " + string(a.body)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", answer, got, want)
		}
	}
	const head = "HTTP/1.1 200 OK\r\n"
	f(head+"Content-Length: 3\r\n\r\nabc", "ok abc")
	f(head+"content-length: 0\r\n\r\n", "ok ")
	f(head+"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: v\r\n\r\n", "ok abc0123456789")
	f(head+"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", io.ErrUnexpectedEOF.Error())
	f(head+"Transfer-Encoding: chunked\r\n\r\n3\r\nab", io.ErrUnexpectedEOF.Error())
	f(head+"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "chunk size")
	f(head+"Content-Length: 5\r\n\r\nabc", io.ErrUnexpectedEOF.Error())
	f(head+"\r\nabc", "without length or chunks")
	f("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\n\r\nabc", errRefused.Error())
}

func TestAskedCallIsFollowedByText(t *testing.T) {
	addr := startUpstream(t, io.Discard)
	for i, d := range gated {
		a, err := dial(addr, 4096)
		if err != nil {
			t.Fatal(err)
		}
		defer a.close()
		for _, asked := range []bool{true, false} {
			if err := a.exchange(newPrompt(d, shapeAsked, d.held, promptForm{}, 1).render(firstSeed + int64(i))); err != nil {
				t.Fatal(err)
			}
			if got := bytes.Contains(a.body, []byte(`"name":"deploy"`)); got != asked {
				t.Errorf("%s: a call of deploy: %v, want %v", d.name, got, asked)
			}
		}
	}
}

func TestAwaitSaysThatTheResponseEnded(t *testing.T) {
	a, err := dial(startUpstream(t, io.Discard), 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	if err := a.begin(newPrompt(chat, shapeWhole, 0, shortPrompt, 1).render(firstSeed)); err != nil {
		t.Fatal(err)
	}
	if err := a.await(func([]byte) bool { return false }); !errors.Is(err, errEnded) {
		t.Errorf("await gave %v, want %v", err, errEnded)
	}
}
