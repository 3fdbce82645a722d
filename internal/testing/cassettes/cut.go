package cassettes

import "bytes"

// Mode is a way to cut a body into the pieces it arrives in.
type Mode string

// The modes.
const (
	ByteByByte   Mode = "1 byte"
	SevenBytes   Mode = "7 bytes"
	EventByEvent Mode = "per event"
	InOnePiece   Mode = "whole"
)

// Modes are all modes, from the finest cut to none.
var Modes = []Mode{ByteByByte, SevenBytes, EventByEvent, InOnePiece}

// Cut cuts body by mode. The pieces alias body and joined are it.
func Cut(body []byte, mode Mode) [][]byte {
	size := len(body)
	switch mode {
	case ByteByByte:
		size = 1
	case SevenBytes:
		size = 7
	case EventByEvent:
		return cutEvents(body)
	}
	var pieces [][]byte
	for len(body) > 0 {
		n := min(size, len(body))
		pieces, body = append(pieces, body[:n:n]), body[n:]
	}
	return pieces
}

// cutEvents cuts after every blank line, whichever way lines end.
func cutEvents(body []byte) [][]byte {
	var pieces [][]byte
	begin, line := 0, 0
	for i, b := range body {
		if b != '\n' {
			continue
		}
		if len(bytes.TrimRight(body[line:i], "\r")) == 0 && line > begin {
			pieces = append(pieces, body[begin:i+1:i+1])
			begin = i + 1
		}
		line = i + 1
	}
	if begin < len(body) {
		pieces = append(pieces, body[begin:])
	}
	return pieces
}
