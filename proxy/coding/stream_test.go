package coding

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
)

// whole is a body that arrives in one block.
func whole(body []byte) func() ([]byte, error) { return inBlocks(body, len(body)) }

// inBlocks is a body that arrives in blocks of n bytes, each in the same memory.
func inBlocks(body []byte, n int) func() ([]byte, error) {
	var block []byte
	return func() ([]byte, error) {
		clear(block)
		if len(body) == 0 {
			return nil, io.EOF
		}
		block = append(block[:0], body[:min(n, len(body))]...)
		body = body[len(block):]
		return block, nil
	}
}

// late returns next with a deadline before each block.
func late(next func() ([]byte, error)) func() ([]byte, error) {
	waited := false
	return func() ([]byte, error) {
		if waited = !waited; waited {
			return nil, os.ErrDeadlineExceeded
		}
		return next()
	}
}

// readStream returns what becomes of a body that arrives byte by byte, each after a deadline.
func readStream(t testing.TB, c Codings, limit int, body []byte) (all []byte, err error) {
	t.Helper()
	a := account{limit: 1 << 40}
	s := c.NewStream(late(inBlocks(body, 1)), Limits{Bytes: limit, Account: &a})
	for {
		p, err := s.Next()
		all = append(all, p...)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err != nil {
			if _, again := s.Next(); !errors.Is(again, err) {
				t.Errorf("after %v comes %v", err, again)
			}
			s.Close()
			s.Close()
			if a.used != 0 {
				t.Errorf("%d bytes stay reserved", a.used)
			}
			return all, err
		}
	}
}

func checkStream(t *testing.T, name string, c Codings, body, want []byte) {
	t.Helper()
	got, err := readStream(t, c, len(want), body)
	if !errors.Is(err, io.EOF) || !bytes.Equal(got, want) {
		t.Errorf("%s, as a stream: %d bytes, %v; want %d", name, len(got), err, len(want))
	}
}

// Each event is there with its own bytes, of every coding and of two.
func TestEventsDoNotWait(t *testing.T) {
	var names [][]string
	for name := range encoders {
		names = append(names, []string{name})
		for outer := range encoders {
			names = append(names, []string{name, outer})
		}
	}
	for _, codings := range names {
		var body bytes.Buffer
		var chain []encoder // the one that is written to first
		w := io.Writer(&body)
		for i := len(codings) - 1; i >= 0; i-- {
			e := encoders[codings[i]](w)
			chain, w = append([]encoder{e}, chain...), e
		}
		var block []byte
		s := parse(t, codings...).NewStream(func() ([]byte, error) {
			if block == nil {
				return nil, os.ErrDeadlineExceeded
			}
			defer func() { block = nil }()
			return block, nil
		}, Limits{Bytes: mib})
		for i := range 200 {
			event := fmt.Sprintf("data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%d\"}}]}\n\n", i*i)
			if i%20 == 3 {
				event = event[:1+i/20] // short ones too
			}
			_, _ = io.WriteString(w, event)
			for _, e := range chain {
				_ = e.Flush()
			}
			block = bytes.Clone(body.Bytes())
			body.Reset()
			var got []byte
			for p, err := s.Next(); err == nil; p, err = s.Next() {
				got = append(got, p...)
			}
			if string(got) != event {
				t.Fatalf("%q: event %d is %q, want %q", codings, i, got, event)
			}
		}
		s.Close()
	}
}

// An error of the body is returned as it is, and a stream can be closed wherever it is.
func TestStreamEnds(t *testing.T) {
	cut := errors.New("cut")
	for name := range encoders {
		body := encoded(t, name, []byte(rand.Text()+rand.Text()+rand.Text()))
		for n := range 40 {
			next := inBlocks(body[:n], 7)
			s := parse(t, name).NewStream(func() ([]byte, error) {
				block, err := next()
				if err != nil {
					err = cut
				}
				return block, err
			}, Limits{Bytes: mib})
			_, err := s.Next()
			for err == nil {
				_, err = s.Next()
			}
			if s.Close(); !errors.Is(err, cut) || errors.Is(err, ErrMalformed) {
				t.Errorf("%s after %d bytes: %v", name, n, err)
			}
			left := parse(t, name).NewStream(late(inBlocks(body, 3)), Limits{Bytes: mib})
			for range n {
				_, _ = left.Next()
			}
			left.Close()
			if _, err := left.Next(); err == nil {
				t.Errorf("%s: a closed stream goes on", name)
			}
		}
	}
}
