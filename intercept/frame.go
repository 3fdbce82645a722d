package intercept

// Event is one event of an answer, without its frame.
type Event struct {
	Name string // "" for none
	Data string // JSON, or a mark such as [DONE]
}

// Frame is how the events of a body travel: as server-sent events, or as one JSON body, which is
// the only event. It splits a body into parts, each with the events that a reader gets together.
// Errors are [*Error].
type Frame interface {
	// Write takes the next block of the body, which must not change before Next has returned false.
	Write(block []byte) error
	// Next returns the next whole part, or false if more bytes are needed. The part aliases the
	// block, or memory that the next Write reuses.
	Next() (part []byte, ok bool, err error)
	// Rest returns the rest at the end of the body: a part that lacks its end, nil for none.
	Rest() []byte
	// Parse finds the events of p.Bytes, and adds them by [Part.Add].
	Parse(p *Part) error
	// Check refuses a parsed part that is written otherwise than those before it, so that only
	// some readers read both.
	Check(p *Part) error
	// Single returns the data of a part that is one event with the given name, or "" for none,
	// and nothing else.
	Single(part []byte, name string) (data []byte, ok bool)
	// Append appends an event to dst.
	Append(dst []byte, e Event) []byte
	// Unended is what a last part lacks before another event.
	Unended(part []byte) string
	// Idle is what keeps a connection alive between two events and is none.
	Idle() string
}
