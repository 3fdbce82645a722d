package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// growing is JSON text that grows by fragments. The decoder reads an unfinished token
// again from its beginning whenever it gets more of it. A fragment that only continues
// such a token therefore waits until the token ends, so that the time for a text depends
// on its length only, not on its fragments.
type growing struct {
	feed feed
	dec  *jsontext.Decoder
	done bool // the value has ended
	end  ending
	tail string // the unfinished character at the end of an unfinished string
}

// ending is where text ends.
type ending int

const (
	betweenTokens ending = iota
	inString
	inNumber // after a digit that another digit can follow
	inZero   // after a digit that none can follow
	inOther
)

func newGrowing() *growing {
	g := &growing{}
	g.dec = jsontext.NewDecoder(&g.feed)
	return g
}

// add takes more text. It reports an error as soon as the text cannot become strict JSON.
// The text must not grow further then.
func (g *growing) add(text string) error {
	switch {
	case g.done && !blank([]byte(text)):
		return errTrailing
	case g.done || text == "":
		return nil
	}
	g.feed.WriteString(text)
	if g.continues(text) {
		return nil
	}
	return g.read()
}

// continues reports whether more text only continues the token that was not finished, or is
// blank between tokens, and has no error.
func (g *growing) continues(text string) (ok bool) {
	switch g.end {
	case betweenTokens:
		return blank([]byte(text))
	case inString:
		g.tail, ok = unfinished(g.tail + text)
		return ok
	case inNumber:
		return strings.Trim(text, "0123456789") == ""
	}
	return false
}

// read lets the decoder read all of the text.
func (g *growing) read() error {
	for !g.done {
		_, err := g.dec.ReadToken()
		switch {
		case errors.Is(err, errStarved):
			g.pause()
			return nil
		case err != nil:
			return fmt.Errorf("not strict JSON: %w", err)
		}
		g.done = g.dec.StackDepth() == 0
	}
	if !blank(g.dec.UnreadBuffer()) || !blank(g.feed.Bytes()) {
		return errTrailing
	}
	g.feed = feed{}
	return nil
}

// pause notes where the text ends after the decoder has read all of it.
func (g *growing) pause() {
	if g.feed.Cap() > maxFeed {
		g.feed = feed{}
	}
	token := bytes.TrimLeft(g.dec.UnreadBuffer(), " \t\r\n,:")
	g.end, g.tail = inOther, ""
	switch n := len(token); {
	case n == 0:
		g.end = betweenTokens
	case token[0] == '"':
		if tail, ok := unfinished(string(token[1:])); ok {
			g.end, g.tail = inString, tail
		}
	case string(token) == "0" || string(token) == "-0":
		g.end = inZero
	case token[n-1] >= '0' && token[n-1] <= '9':
		g.end = inNumber
	}
}

// whole reports whether the text is complete as it is.
func (g *growing) whole() bool {
	return g.done || (g.dec.StackDepth() == 0 && (g.end == inNumber || g.end == inZero))
}

// unfinished reports whether contents are those of a string that has neither ended nor an
// error, and returns the unfinished character at their end.
func unfinished(contents string) (tail string, ok bool) {
	_, err := jsontext.NewDecoder(bytes.NewBufferString(`"` + contents)).ReadToken()
	var at *jsontext.SyntacticError
	if !errors.Is(err, io.ErrUnexpectedEOF) || !errors.As(err, &at) {
		return "", false
	}
	return contents[at.ByteOffset-1:], true
}

func blank(b []byte) bool { return len(bytes.Trim(b, " \t\r\n")) == 0 }

// errStarved is the error of a feed without bytes. For the decoder it is a temporary error
// of the reader, after which it can continue.
var errStarved = errors.New("no more bytes yet")

// maxFeed is the memory that a feed keeps for later fragments.
const maxFeed = 4 << 10

// feed is what the decoder has not got yet.
type feed struct{ bytes.Buffer }

func (f *feed) Read(p []byte) (int, error) {
	if f.Len() == 0 {
		return 0, errStarved
	}
	return f.Buffer.Read(p)
}
