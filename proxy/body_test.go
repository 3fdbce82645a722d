package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/klauspost/compress/zstd"
)

// zstdBomb is a body of some ten KB that becomes a gigabyte: blocks of one byte again and again (RFC 8878 section 3.1.1.2).
func zstdBomb() string {
	const block = 128 << 10
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3}
	for n := 0; n < 1<<30; n += block {
		frame = append(frame, block<<3&0xff|2, block<<3>>8&0xff, block<<3>>16, 'x')
	}
	return string(append(frame, 1, 0, 0))
}

func zstdOf(t *testing.T, body string) string {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(e.EncodeAll([]byte(body), nil))
}

// send writes a compressed request and reads its answer.
func (b *bed) send(body string) (status int, text string) {
	conn := b.dial()
	_, writeErr := io.WriteString(conn, head(len(body), "Content-Encoding: zstd\r\n")+body)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err := errors.Join(writeErr, err); err != nil {
		b.t.Error(err)
		return 0, ""
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Error(err)
	}
	return resp.StatusCode, string(got)
}

// Bodies that become a gigabyte are refused while they are decoded: all of them together, with what else is served, stay
// in the budget. Small requests are answered meanwhile.
func TestRequestBombs(t *testing.T) {
	const budget = 160 << 20
	b := newRoomyBed(t, budget)
	body := zstdBomb()
	var agents sync.WaitGroup
	done := make(chan struct{})
	var most int64
	for range 8 {
		agents.Go(func() {
			if status, text := b.send(body); (status != http.StatusRequestEntityTooLarge || !strings.Contains(text, "request_too_large") || !strings.Contains(text, "67108864")) && (status != http.StatusServiceUnavailable || !strings.Contains(text, "overloaded")) {
				t.Errorf("%d %s", status, text)
			}
		})
	}
	go func() {
		defer close(done)
		agents.Wait()
	}()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
			most = max(most, b.memory.Used())
			if status, text := b.send(zstdOf(t, chatBody(100))); status != http.StatusOK && !strings.Contains(text, "overloaded") { // its window is larger than a small reservation
				t.Errorf("meanwhile: %d %s", status, text)
			}
		}
	}
	if most > budget {
		t.Errorf("%d bytes were reserved", most)
	}
	if n := len(b.upstream.Requests()); n == 0 {
		t.Error("nothing else was answered")
	}
	for _, r := range b.upstream.Requests() {
		if len(r.Body) != 100 {
			t.Errorf("upstream got %d bytes", len(r.Body))
		}
	}
	waitFor(t, "the budget to be free", func() bool { return b.memory.Used() == 0 })
}

// While upstream answers, the decoded body is reserved, and nothing for the compressed one or for its decoder.
func TestDecodedBodiesAreReserved(t *testing.T) {
	answer := make(chan struct{})
	b := newBed(t, chat.Dialect{}, "default: allow\n", func(r *fakemodel.Request) fakemodel.Reply {
		reply := fakemodel.Answer{Text: fmt.Sprint(len(r.Body))}.Reply(r)
		reply.HeadGate = answer
		return reply
	})
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer b.Shutdown(context.WithoutCancel(t.Context()))
	const size = 700<<10 + 7
	body := zstdOf(t, chatBody(size))
	conn := b.dial()
	if _, err := io.WriteString(conn, head(len(body), "content-encoding: ZSTD\r\n")+body); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the request at upstream", func() bool { return len(b.upstream.Requests()) == 1 })
	if used := b.memory.Used(); used != exchangeBytes+size {
		t.Errorf("%d bytes are reserved, want %d", used, exchangeBytes+size)
	}
	close(answer)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || !bytes.Contains(text, fmt.Appendf(nil, `"%d"`, size)) {
		t.Errorf("%v %d %s", err, resp.StatusCode, text)
	}
	waitFor(t, "the budget to be free", func() bool { return b.memory.Used() == 0 })
}

// A body that the budget never has room for, when it is decoded, is too large; one that it has no room for now is one
// of too many.
func TestDecodedBodiesThatDoNotFit(t *testing.T) {
	b := newRoomyBed(t, 16<<20)
	body := zstdOf(t, chatBody(5<<20))
	if status, text := b.send(zstdOf(t, chatBody(9<<20))); status != http.StatusRequestEntityTooLarge || !strings.Contains(text, "request_too_large") || !strings.Contains(text, "proxy.memory") {
		t.Errorf("never: %d %s", status, text)
	}
	if status, text := b.send(body); status != http.StatusOK {
		t.Errorf("alone: %d %s", status, text)
	}
	waitFor(t, "the budget to be free", func() bool { return b.memory.Used() == 0 })
	if !b.memory.Reserve(4 << 20) {
		t.Fatal("no memory")
	}
	if status, text := b.send(body); status != http.StatusServiceUnavailable || !strings.Contains(text, "overloaded") {
		t.Errorf("beside others: %d %s", status, text)
	}
	waitFor(t, "what others need not", func() bool { return b.memory.Used() == 4<<20 })
}
