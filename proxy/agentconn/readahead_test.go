package agentconn

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// Bytes read ahead are returned in order, whatever sizes are asked for; deadlines
// and the end of the connection come through.
func TestReadAhead(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	a := &Conn{Conn: conn}
	a.in.begin(conn)

	_ = a.SetReadDeadline(time.Now().Add(time.Millisecond))
	if n, err := a.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("without bytes: read %d, %v", n, err)
	}
	_ = a.SetReadDeadline(time.Time{})
	sent := strings.Repeat("GET / HTTP/1.1\r\n\r\n", 2000) // more than a buffer
	go func() {
		_, _ = io.WriteString(client, sent)
		_ = client.(*net.TCPConn).CloseWrite()
	}()
	var got []byte
	for size := 1; ; size = size%7000*3 + 1 {
		p := make([]byte, size)
		n, err := a.Read(p)
		got = append(got, p[:n]...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if string(got) != sent {
		t.Fatalf("read %d bytes, not the %d that were sent", len(got), len(sent))
	}
	if n, err := a.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Fatalf("after the end: read %d, %v", n, err)
	}
}
