package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/coder/websocket"
	"github.com/valyala/fasthttp"
)

// SocketRefused is the error for an upstream that answers a WebSocket's handshake with a status of HTTP.
type SocketRefused struct {
	Head *fasthttp.ResponseHeader
	Body []byte // as far as the limit
}

// Error implements error.
func (e *SocketRefused) Error() string {
	return fmt.Sprintf("the upstream opened no WebSocket: status %d", e.Head.StatusCode())
}

// KeyProtocol begins the name of the protocol with which a web page gives its key: it can set no header.
const KeyProtocol = "openai-insecure-api-key."

// DialSocket opens a WebSocket (RFC 6455) to an upstream, with the agent's headers. Its messages have at most limit bytes, and
// are not compressed. The head is that of the upstream's answer. The error is a [*SocketRefused], or wraps
// [ErrNotSent] where the connection failed.
func (u *Client) DialSocket(ctx context.Context, r *Request, limit int) (*websocket.Conn, *fasthttp.ResponseHeader, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout) // of the handshake
	defer cancel()
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(u.appendRequestHead(nil, r))))
	if err != nil {
		return nil, nil, fmt.Errorf("write the head of the request: %w", err)
	}
	protocols := splitList(request.Header.Values("Sec-Websocket-Protocol"))
	if u.givesKey(u.keys.Load().current, r.Header) {
		protocols = slices.DeleteFunc(protocols, func(name string) bool { return strings.HasPrefix(name, KeyProtocol) })
	}
	for name := range request.Header {
		if strings.HasPrefix(name, "Sec-Websocket-") {
			request.Header.Del(name)
		}
	}
	handshake := handshake{limit: limit, transport: http.Transport{DisableKeepAlives: true, DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := u.connect(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
		}
		return conn.Conn, nil
	}}}
	conn, answer, err := websocket.Dial(ctx, "ws://"+u.host+request.URL.RequestURI(), &websocket.DialOptions{ //nolint:bodyclose // the handshake reads it
		HTTPClient: &http.Client{Transport: &handshake}, HTTPHeader: request.Header, Host: u.host, Subprotocols: protocols,
	})
	switch {
	case handshake.refused != nil:
		return nil, nil, handshake.refused
	case err != nil && ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case err != nil:
		return nil, nil, fmt.Errorf("open a WebSocket to the upstream: %w", err)
	}
	conn.SetReadLimit(int64(limit))
	return conn, headOf(answer), nil
}

// handshake sends the request of a WebSocket, and reads the whole answer of an upstream that refuses it.
type handshake struct {
	transport http.Transport
	limit     int
	refused   *SocketRefused
}

// RoundTrip implements [http.RoundTripper].
func (h *handshake) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := h.transport.RoundTrip(r)
	if err != nil || answer.StatusCode == http.StatusSwitchingProtocols {
		return answer, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, int64(h.limit)))
	if err != nil {
		return nil, fmt.Errorf("read the refusal: %w", err)
	}
	h.refused = &SocketRefused{Head: headOf(answer), Body: body}
	return nil, errors.New("refused")
}

// headOf is the head of an answer as fasthttp has it.
func headOf(answer *http.Response) *fasthttp.ResponseHeader {
	head := &fasthttp.ResponseHeader{}
	head.DisableNormalizing()
	head.SetNoDefaultContentType(true)
	head.SetStatusCode(answer.StatusCode)
	for name, values := range answer.Header {
		for _, value := range values {
			head.Add(name, value)
		}
	}
	return head
}

// splitList are the members of the lists in header lines.
func splitList(lines []string) (list []string) {
	for _, line := range lines {
		for member := range strings.SplitSeq(line, ",") {
			list = append(list, strings.TrimSpace(member))
		}
	}
	return list
}
