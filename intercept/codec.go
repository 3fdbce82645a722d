package intercept

// Codec reads and writes the answers to one request for one wire API. The [Answer] decides
// what may leave; the codec decodes, rewrites and renders. One goroutine calls its methods,
// for each upstream body: Begin, Read for each part, Close, and
// then Plan.
type Codec interface {
	// Begin readies the codec for the next body of upstream, and returns how it is read.
	Begin() Traits
	// Read decodes a part of the body: events of a stream, or the whole answer. It reports each event
	// of a stream about a unit with [Part.Event] and sets the fields of p. The error is an [*Error].
	Read(p *Part) error
	// Disposed takes the disposition of the part of a stream that was read last.
	Disposed(p *Part, d Disposition)
	// Close checks the body at its end, and returns what it has. Framed reports whether the framing
	// of a stream showed the end (it is true for other bodies), held whether parts are held.
	Close(framed, held bool) (Contents, error)
	// Call describes a call, as far as it was read, with all ambiguities that it would have if
	// nothing followed.
	Call(u *Unit) Call
	// Plan decides what follows from the rulings on the calls of the body: it completes the
	// plan, and returns the resolution without its bytes.
	Plan(plan *Plan) (Resolution, error)
	// Rewrite returns the events of a part as the agent gets them: with the calls that reach it in
	// canonical form, and as a part of the answer that it has begun to read.
	Rewrite(p *Part, plan *Plan) ([]Event, error)
	// Notice returns the events after the held parts of a stream: the closing notice, or
	// the ends of open units if the answer continues.
	Notice(plan *Plan) []Event
	// Heartbeat returns an event of a stream without content, none if no event fits.
	Heartbeat(Heartbeat) []Event
	// Fail returns the end of a stream that fails or, for a whole answer, its body.
	Fail(e *Error, whole bool) []Event
}

// Contents are those of a body that has ended.
type Contents struct {
	// Calls are the calls, in the order in which people are asked.
	Calls []*Unit
	// Kept is upstream's id of the body, if agents may ask for the same answer again by it; "" else.
	Kept string
	// Text returns the text of the answer for the user, until the next body begins.
	Text func() string
}

// Traits are properties of the events of a dialect.
type Traits struct {
	// Numbered: events have numbers, which change after an event that upstream did not send.
	Numbered bool
	// Texts are the names of values, at any depth of an event, that are no part of a call
	// and can be long, first that of a text that events repeat.
	Texts []string
}

// Disposition is the result of the decision on a part of a stream.
type Disposition int

// The dispositions.
const (
	Sent Disposition = iota // it went out unchanged
	Held                    // it is held
)
