package shoutrrr

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/internal/testing/testdeps"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/notifytest"
)

var courier string // the program that sends

func TestMain(m *testing.M) {
	var err error
	if courier, err = testdeps.Build(".", "./testdata/courier"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

const (
	token = "s3cr3t-t0ken-in-the-url"
	inbox = "https://heldcall.example"
)

// service is the other end of a channel: one of the services, as far as a message goes.
type service struct {
	t       *testing.T
	channel *Channel
	secrets []string
	success string // what it answers to a message that it takes
	within  string // where the pause is: "header" or "telegram"

	mu     sync.Mutex
	wire   []string
	heads  []http.Header
	paths  []string
	answer notifytest.Answer
	status int // if not 0, in place of that of the answer
}

func (s *service) Channel() notify.Channel { return s.channel }
func (s *service) Secrets() []string       { return append(s.secrets, token) }

func (s *service) Answers(a notifytest.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = a
}

func (s *service) Wire() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.wire...)
}

// last is the only message that has come.
func (s *service) only() string {
	s.t.Helper()
	if wire := s.Wire(); len(wire) == 1 {
		return wire[0]
	}
	s.t.Fatalf("%d messages came", len(s.Wire()))
	return ""
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.wire, s.heads, s.paths = append(s.wire, string(body)), append(s.heads, r.Header.Clone()), append(s.paths, r.Host+r.URL.Path)
	answer, status := s.answer, s.status
	s.mu.Unlock()
	switch answer {
	case notifytest.Takes:
		_, _ = io.WriteString(w, s.success)
	case notifytest.Limits:
		if s.within == "telegram" {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 7","parameters":{"retry_after":7}}`)
			return
		}
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	case notifytest.Fails:
		if status == 0 {
			status = http.StatusBadGateway
		}
		w.Header().Set("Location", "https://"+r.Host+"/elsewhere")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html>"+token+"</html>")
	case notifytest.Refuses:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"ok":false,"error_code":400,"description":"`+token+`"}`)
	case notifytest.Hangs:
		<-r.Context().Done()
	}
}

// open makes the channel of a URL. Whatever host the library goes to over HTTPS, a
// proxy of the test leads to the service, whose certificate the courier trusts.
func open(t *testing.T, address string, s *service) *service {
	t.Helper()
	s.t = t
	if s.success == "" {
		s.success = "{}"
	}
	authority, certificate := authorize(t)
	server := httptest.NewUnstartedServer(s)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	file := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(file, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file)
	t.Setenv("HTTPS_PROXY", leading(t, server.Listener.Addr().String()))
	return s.at(address)
}

func (s *service) at(address string) *service {
	s.t.Helper()
	var err error
	if s.channel, err = New(Options{URL: address, Inbox: func() string { return inbox }, Child: []string{courier}}); err != nil {
		s.t.Fatal(err)
	}
	return s
}

// leading is a proxy that connects to one address, whatever it is asked for.
func leading(t *testing.T, to string) string {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			t.Errorf("the proxy is asked for %s %s", r.Method, r.URL)
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			t.Error(err)
			return
		}
		defer out.Close()
		in, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer in.Close()
		_, _ = io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(out, buffered); out.Close() }()
		_, _ = io.Copy(in, out)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// authorize makes a certificate for the hosts of services, and the authority that
// signs it.
func authorize(t *testing.T) (authority []byte, certificate tls.Certificate) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		DNSNames: []string{"discord.com", "api.telegram.org", "acme.webhook.office.com", "ntfy.sh", "api.pushover.net", "chat.example", "slack.com", "open.larksuite.com"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

const (
	discordURL  = "discord://" + token + "@123456789"
	telegramURL = "telegram://110201543:" + token + "@telegram?chats=@people"
	ntfyURL     = "ntfy://ann:" + token + "@ntfy.sh/calls"
	teamsURL    = "teams://11111111-4444-4444-8444-cccccccccccc@22222222-4444-4444-8444-cccccccccccc/33333333012222222222333333333344/44444444-4444-4444-8444-cccccccccccc/" + token + "?host=acme.webhook.office.com"
)

func openTelegram(t *testing.T) *service {
	return open(t, telegramURL, &service{success: `{"ok":true,"result":{"message_id":1}}`, within: "telegram"})
}

// fields reads a body as JSON.
func fields(t *testing.T, body string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return m
}

// mailbox is a mail server that answers from a script: one line for each command, by
// its first word.
type mailbox struct {
	address string
	mu      sync.Mutex
	letters []string
	script  map[string]string
	hang    bool
}

func openMailbox(t *testing.T, hang bool) *mailbox {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	m := &mailbox{address: listener.Addr().String(), script: map[string]string{}, hang: hang}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go m.serve(conn)
		}
	}()
	return m
}

func (m *mailbox) says(command, otherwise string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if answer, scripted := m.script[command]; scripted {
		return answer
	}
	return otherwise
}

func (m *mailbox) serve(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewReader(conn)
	say := func(text string) { _, _ = io.WriteString(conn, text+"\r\n") }
	if m.hang {
		_, _ = lines.ReadString('\n') // until the client ends
		return
	}
	say("220 mail.example ESMTP")
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		switch command, _, _ := strings.Cut(strings.TrimSpace(line), " "); command {
		case "EHLO":
			say("250-mail.example\r\n250-8BITMIME\r\n250 AUTH PLAIN")
		case "AUTH":
			say(m.says(command, "235 ok"))
		case "DATA":
			say("354 go on")
			var letter strings.Builder
			for line, err = lines.ReadString('\n'); err == nil && line != ".\r\n"; line, err = lines.ReadString('\n') {
				letter.WriteString(line)
			}
			answer := m.says("DATA", "250 taken")
			if strings.HasPrefix(answer, "2") {
				m.mu.Lock()
				m.letters = append(m.letters, letter.String())
				m.mu.Unlock()
			}
			say(answer)
		case "QUIT":
			say(m.says(command, "221 bye"))
			return
		default:
			say(m.says(command, "250 ok"))
		}
	}
}
