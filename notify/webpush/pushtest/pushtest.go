// Package pushtest is a push service on loopback for tests, and the browsers that
// have subscribed with it: they read messages as real ones do, by RFC 8291 and RFC 8292,
// and fail the test if they cannot.
package pushtest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait.
const patience = 60 * time.Second

// Browser is a subscription, with what only the browser knows.
type Browser struct {
	Endpoint, P256DH, Auth string

	path   string
	key    *ecdh.PrivateKey
	secret []byte
}

// Message is one push as it reached a browser.
type Message struct {
	Path    string // of the browser's endpoint
	Payload string // decrypted
	Body    []byte // as it was sent
	TTL     string
	Topic   string
	Urgency string
	Key     string // that heldcall showed
	Contact string // that heldcall named
}

// Service is the push service.
type Service struct {
	t      *testing.T
	server *httptest.Server

	mu       sync.Mutex
	browsers map[string]*Browser
	answer   func(w http.ResponseWriter, path string) bool
	came     chan Message
}

// New starts a push service, which ends with the test.
func New(t *testing.T) *Service {
	t.Helper()
	s := &Service{t: t, browsers: map[string]*Browser{}, came: make(chan Message, 1000)}
	s.server = httptest.NewServer(http.HandlerFunc(s.take))
	t.Cleanup(s.server.Close)
	return s
}

// Browser subscribes one more.
func (s *Service) Browser() *Browser {
	s.t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	secret := make([]byte, 16)
	_, _ = rand.Read(secret)
	s.mu.Lock()
	defer s.mu.Unlock()
	path := fmt.Sprintf("/push/%d-%s", len(s.browsers), rand.Text())
	b := &Browser{
		Endpoint: s.server.URL + path, P256DH: base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes()), Auth: base64.RawURLEncoding.EncodeToString(secret),
		path: path, key: key, secret: secret,
	}
	s.browsers[path] = b
	return b
}

// Path is that of the browser's endpoint, as messages name it.
func (b *Browser) Path() string { return b.path }

// Answers has a function answer what comes from now on, where it returns true; the
// service takes everything else.
func (s *Service) Answers(answer func(w http.ResponseWriter, path string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Await is the next message that the service has taken.
func (s *Service) Await() Message {
	s.t.Helper()
	select {
	case m := <-s.came:
		return m
	case <-time.After(patience):
		s.t.Fatal("no push has arrived")
		return Message{}
	}
}

// None fails the test if anything more has come.
func (s *Service) None() {
	s.t.Helper()
	select {
	case m := <-s.came:
		s.t.Errorf("an unexpected push has arrived: %s", m.Payload)
	default:
	}
}

func (s *Service) take(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	browser, answer := s.browsers[r.URL.Path], s.answer
	s.mu.Unlock()
	if answer != nil && answer(w, r.URL.Path) {
		return
	}
	m := Message{Path: r.URL.Path, TTL: r.Header.Get("TTL"), Topic: r.Header.Get("Topic"), Urgency: r.Header.Get("Urgency")}
	err := errors.New("there is no such browser")
	if browser != nil && r.Method == http.MethodPost && r.Header.Get("Content-Encoding") == "aes128gcm" {
		m.Body, err = io.ReadAll(r.Body)
	}
	if err == nil {
		m.Payload, err = browser.read(m.Body)
	}
	if err == nil {
		m.Key, m.Contact, err = verify(r.Header.Get("Authorization"), s.server.URL)
	}
	if err != nil {
		s.t.Errorf("a push cannot be read: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusCreated)
	s.came <- m
}

// read decrypts a body (RFC 8291, RFC 8188: one record).
func (b *Browser) read(body []byte) (string, error) {
	if len(body) < 86 || body[20] != 65 || len(body) > 4096 {
		return "", fmt.Errorf("a body of %d bytes has no header", len(body))
	}
	salt, sender, sealed := body[:16], body[21:86], body[86:]
	peer, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		return "", err
	}
	shared, err := b.key.ECDH(peer)
	if err != nil {
		return "", err
	}
	info := "WebPush: info\x00" + string(b.key.PublicKey().Bytes()) + string(sender)
	material, err := hkdf.Key(sha256.New, shared, b.secret, info, 32)
	if err != nil {
		return "", err
	}
	key, err := hkdf.Key(sha256.New, material, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return "", err
	}
	nonce, err := hkdf.Key(sha256.New, material, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return "", err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return "", err
	}
	padded, err := gcm.Open(nil, nonce, sealed, nil)
	if err != nil {
		return "", err
	}
	padded = bytes.TrimRight(padded, "\x00")
	text, last := bytes.CutSuffix(padded, []byte{2})
	if !last {
		return "", errors.New("the record is not marked as the last")
	}
	return string(text), nil
}

// verify checks who sent a push (RFC 8292), and returns their key and contact.
func verify(authorization, origin string) (key, contact string, err error) {
	token, key, found := strings.Cut(strings.TrimPrefix(authorization, "vapid t="), ", k=")
	parts := strings.Split(token, ".")
	point, keyErr := base64.RawURLEncoding.DecodeString(key)
	if !found || len(parts) != 3 || keyErr != nil {
		return "", "", fmt.Errorf("authorization is %q", authorization)
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return "", "", err
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		return "", "", errors.New("the signature has not the right form")
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return "", "", errors.New("the signature does not hold")
	}
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}
	lasts := time.Until(time.Unix(claims.Exp, 0))
	if err != nil || claims.Aud != origin || lasts <= 0 || lasts > 24*time.Hour {
		return "", "", fmt.Errorf("the token is %s for %s (%w)", text, origin, err)
	}
	return key, claims.Sub, nil
}
