package proxy

import (
	"bufio"
	"bytes"
	"errors"
)

var (
	errFolded   = errors.New("a header of it is folded over several lines")
	errBareLine = errors.New("a line of it ends in a line feed without a carriage return")
	errStatus   = errors.New("its status is below 100")
	errSwitched = errors.New("it switches protocols")
)

// malformed returns which of the faults of a head err is, nil for none.
func malformed(err error) error {
	for _, fault := range []error{errFolded, errBareLine, errStatus, errSwitched} {
		if errors.Is(err, fault) {
			return fault
		}
	}
	return nil
}

// folded reports whether a line of a head's header lines continues the one before it
// (obs-fold, RFC 9112 section 5.2). Servers read such a header in different ways.
func folded(lines []byte) bool {
	for i := 0; i < len(lines); {
		if lines[i] == ' ' || lines[i] == '\t' {
			return true
		}
		n := bytes.IndexByte(lines[i:], '\n')
		if n < 0 {
			return false
		}
		i += n + 1
	}
	return false
}

// checkHead looks at the head of an answer, before fasthttp parses it: that waits for
// more of a head whose lines end in bare line feeds, and joins folded lines wrongly. It
// returns nil at the head's end, and where the head cannot be read to its end: the parser
// finds out why.
func checkHead(br *bufio.Reader) error {
	line := 0 // where the line begins that is looked at
	for need := 1; ; {
		if peeked, _ := br.Peek(need); len(peeked) < need {
			return nil
		}
		head, _ := br.Peek(br.Buffered())
		for {
			n := bytes.IndexByte(head[line:], '\n')
			if n < 0 {
				break
			}
			switch text := head[line : line+n]; {
			case !bytes.HasSuffix(text, []byte("\r")):
				return errBareLine
			case len(text) == 1 && line > 0:
				return nil
			case line > 0 && (text[0] == ' ' || text[0] == '\t'):
				return errFolded
			}
			line += n + 1
		}
		if need = len(head) + 1; need > br.Size() {
			return nil
		}
	}
}
