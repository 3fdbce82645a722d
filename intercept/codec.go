package intercept

import "github.com/heldcall/heldcall/intercept/strictjson"

// Codec is what one wire API knows of the answers to one request. The [Answer]
// decides what may leave; the codec decodes, rewrites and renders. Its methods are
// called by one goroutine, in the order in which bodies of upstream come: Begin, Read
// for each part of a stream (or ReadWhole), Close, and then Plan and Conclude.
type Codec interface {
	// Traits are what the wire allows. They are the same for all answers.
	Traits() Traits
	// Begin readies the codec for the next body of upstream.
	Begin()
	// Read decodes a part of a stream. It reports each event about a unit with
	// [Part.Event] and sets the fields of p. The error is an [*Error].
	Read(p *Part) error
	// ReadWhole decodes a body that is one strict JSON value, p.Bytes.
	ReadWhole(p *Part) error
	// Close checks the body at its end. Framed reports whether the framing of a
	// stream said so (it is true for other bodies), held whether parts are held.
	Close(framed, held bool) error

	// Calls lists the calls of the body, in the order in which people are asked.
	Calls() []*Unit
	// Call returns what is known of a call so far.
	Call(u *Unit) Call
	// Judge adds all doubts about a call of a body that has ended.
	Judge(u *Unit)
	// Canonical reports whether a call is released in canonical form, because clients
	// could read it in different ways as upstream sent it.
	Canonical(u *Unit) bool
	// Text is what the model has said to the user in the answer.
	Text() string

	// Verbatim reports whether a part goes out as upstream sent it, and for nil
	// whether all that is held does if its calls are released.
	Verbatim(p *Part) bool
	// RewriteItems returns a part of a stream as the agent gets it: without the calls that
	// do not reach it, with edits, and made to belong to the answer that it has begun
	// to read. It is empty where nothing is left.
	Rewrite(part []byte, units []*Unit, plan *Plan) ([]byte, error)
	// RewriteWhole is Rewrite for a body that is one JSON value. Nil: it stays as it is.
	RewriteWhole(value []byte, plan *Plan) ([]byte, error)
	// Notice renders what a stream lacks after all that was held: the closing notice,
	// or the end of what is open where the answer goes on.
	Notice(plan *Plan) []byte
	// Heartbeat is an event of a stream without content, nil where none fits or the
	// form asks for none: then a comment or a blank goes out.
	Heartbeat(Form, Heartbeat) []byte
	// Fail appends the end of a stream that fails or, for a whole answer, is the body.
	Fail(dst []byte, e *Error, whole bool) []byte
	// Disposed notes what became of the part that was read last, or of an event of a
	// known form, for which p is nil and which is held although [Codec.Repeat] took it
	// for one that passes.
	Disposed(p *Part, d Disposition)

	// Plan completes a plan with what the dialect decides: whether the answer goes on,
	// and the closing notice. For an unchanged answer there is nothing to decide.
	Plan(plan *Plan) error
	// Conclude returns what follows from the plan, but for the bytes, and moves what
	// an answer that goes on has to remember out of the body.
	Conclude(plan *Plan) (Resolution, error)

	// Template describes the form of the part that was read last, if further events of
	// that form need no decoder. Slots are what differs between them, see [NewShape];
	// without any there is no form.
	Template(p *Part) (t Template, slots []strictjson.Span)
	// Repeat takes an event of a known form, and returns what it adds to the input of a
	// call and how many bytes are remembered of it. It is false where the event has to
	// be decoded after all; then nothing was taken.
	Repeat(t *Template, texts [][]byte, held bool) (added string, size int, ok bool)
}

// Traits are what the wire of a dialect allows.
type Traits struct {
	// Resumes: a call whose beginning has passed can go on in canonical form. Where it
	// cannot, an answer ends if such a call turns odd.
	Resumes bool
	// Delays: the beginning of a call of a tool that is allowed by name waits for the
	// next event about it, which shows how its input comes.
	Delays bool
}

// Disposition is what became of a part of a stream.
type Disposition int

// The dispositions.
const (
	Sent   Disposition = iota // it went out as it came
	Held                      // it is held
	Voided                    // all that was held is void, because the answer fails in the part
)
