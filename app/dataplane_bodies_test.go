package app_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

func TestHeadHasItsLength(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, func(*fakemodel.Request) fakemodel.Reply {
		return fakemodel.Reply{Header: []fakemodel.Field{{Name: "Content-Length", Value: "1234"}}, Framing: fakemodel.CloseDelimited}
	})
	for _, path := range []string{"/v1/models", "/v1/files/f1"} {
		if got := w.raw("HEAD " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200") || !strings.Contains(got, "Content-Length: 1234\r\n") || !strings.HasSuffix(got, "\r\n\r\n") {
			t.Errorf("%s: %q", path, got)
		}
	}
}

// A file of known length arrives whole, and the agent's connection is kept.
func TestLargeFilesKeepTheConnection(t *testing.T) {
	t.Parallel()
	file := bytes.Repeat([]byte("0123456789"), 30_001)
	w := build(t, denyAll, func(*fakemodel.Request) fakemodel.Reply {
		return fakemodel.Reply{Framing: fakemodel.ContentLength, Body: []fakemodel.Write{{Bytes: file[:100]}, {Bytes: file[100:]}}}
	})
	conn := w.dial()
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for range 3 {
		conn.send("GET /v1/files/f1/content HTTP/1.1\r\nHost: localhost\r\n\r\n")
		resp, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if err != nil || !bytes.Equal(got, file) || resp.ContentLength != int64(len(file)) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
}
