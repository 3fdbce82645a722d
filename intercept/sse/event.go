package sse

import "bytes"

var bom = []byte("\xef\xbb\xbf")

// Event has the fields of one part of a stream. Its slices alias the part.
type Event struct {
	// Name is the value of the event field.
	Name []byte
	// Data has the value of each data line. A reader that follows the standard joins
	// them with LF; some readers take each as an event.
	Data [][]byte
	// Indented counts the data lines that begin with blanks, which a reader that follows
	// the standard skips.
	Indented int
	// Stray has the other lines, which are no data by the standard and may be for
	// lenient readers: comments, id, retry and unknown fields, and all event fields but
	// the first.
	Stray [][]byte
}

// Parse reads the lines of one part. A line whose field is data after leading blanks
// counts as data, because some readers trim lines first.
func Parse(part []byte) Event {
	var e Event
	part = bytes.TrimPrefix(part, bom)
	for len(part) > 0 {
		line, length := nextLine(part, 0)
		if length == 0 { // the last line of a stream that ends without terminator
			line, length = bytes.TrimSuffix(part, []byte("\r")), len(part)
		}
		part = part[length:]
		e.add(line)
	}
	return e
}

func (e *Event) add(line []byte) {
	if len(line) == 0 {
		return
	}
	field, value, colon := bytes.Cut(bytes.TrimLeft(line, " \t"), []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch {
	case string(field) == "data" && (colon || len(line) == len(field)):
		if e.Data = append(e.Data, value); line[0] != 'd' {
			e.Indented++
		}
	case string(field) == "event" && line[0] == 'e' && e.Name == nil && bytes.IndexByte(value, '{') < 0:
		e.Name = value
	default:
		e.Stray = append(e.Stray, line)
	}
}

// Joined is the event's data by the standard: the data lines joined with LF. With one
// line it aliases the part.
func (e *Event) Joined() []byte {
	if len(e.Data) == 1 {
		return e.Data[0]
	}
	return bytes.Join(e.Data, []byte("\n"))
}

// AppendData appends an event with payload to dst: the event field, if name is not empty,
// one data line for each line of payload, and a blank line.
func AppendData(dst []byte, name string, payload []byte) []byte {
	if name != "" {
		dst = append(append(append(dst, "event: "...), name...), '\n')
	}
	for {
		line, rest, more := bytes.Cut(payload, []byte("\n"))
		dst = append(append(append(dst, "data: "...), line...), '\n')
		if !more {
			return append(dst, '\n')
		}
		payload = rest
	}
}
