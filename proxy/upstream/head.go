package upstream

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

// MalformedHead returns the fault in an answer's head that err wraps, nil for none.
func MalformedHead(err error) error {
	for _, fault := range []error{errFolded, errBareLine, errStatus, errSwitched} {
		if errors.Is(err, fault) {
			return fault
		}
	}
	return nil
}

// checkHead checks the head of an answer before fasthttp parses it, which waits for more
// of a head whose lines end in bare line feeds, and joins folded lines wrongly. It
// returns nil at the head's end, and if the head cannot be read to its end: the parser
// then reports why.
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
