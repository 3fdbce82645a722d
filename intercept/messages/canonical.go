package messages

import (
	"fmt"
	"unicode/utf8"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// The canonical form of a call holds known values only. Calls that were edited, and
// those that clients read in different ways as upstream sent them, are released in
// it; the calls beside them too.

// maxPiece is how many bytes of an input one event holds at most. Some clients read
// no line of more than 64 KiB.
const maxPiece = 16 << 10

// block renders the block of the call with an id and an input, which is JSON.
func (c *call) block(id, input string) string {
	return `{"type":"tool_use","id":` + strictjson.Quote(id) + `,"name":` + strictjson.Quote(c.name) + `,"input":` + input + c.extras + `}`
}

// renders reports whether the call of a block goes out in canonical form. Of one
// whose beginning has passed the rest goes out as it is.
func (e *edit) renders(b *block) bool {
	return b != nil && b.call != nil && !b.Begun()
}

// arguments are those with which a call goes out.
func (e *edit) arguments(b *block) string {
	if edited, ok := e.plan.Edit(&b.Unit); ok {
		return edited
	}
	return b.call.arguments()
}

// call renders the events of a call.
func (e *edit) call(b *block) (out []byte) {
	n := e.place(b, e.plan)
	out = appendBlockStart(out, n, b.call.block(b.call.id, "{}"))
	for rest := e.arguments(b); rest != ""; {
		piece := rest
		if len(piece) > maxPiece {
			end := maxPiece
			for !utf8.RuneStart(rest[end]) {
				end--
			}
			piece = rest[:end]
		}
		rest = rest[len(piece):]
		out = appendEvent(out, "content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`, n, strictjson.Quote(piece)))
	}
	b.ended = true
	return appendBlockStop(out, n)
}

// wholeCall renders the block of a call as it is in the content of a whole answer.
func (e *edit) wholeCall(b *block) string {
	arguments := e.arguments(b)
	if err := strictjson.Strict([]byte(arguments)); err != nil && e.Err == nil {
		e.Err = fmt.Errorf("put the arguments into the call: %w", err)
	}
	return b.call.block(b.call.id, arguments)
}

func appendBlockStart(dst []byte, index int, block string) []byte {
	return appendEvent(dst, "content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block))
}

func appendBlockStop(dst []byte, index int) []byte {
	return appendEvent(dst, "content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}
