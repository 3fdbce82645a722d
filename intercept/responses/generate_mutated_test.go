package responses

import (
	"fmt"
	"testing"

	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// mutated is a well-formed answer of which a few events or items are written in ways
// that clients skip or read in their own way.
func mutated(d *intercepttest.Dice) []byte {
	streamed := d.N(4) > 0
	body, _ := sane(d, "resp_1", streamed, d.N(2) > 0)
	if !streamed {
		return []byte(mutateFields(d, body))
	}
	parts := intercepttest.Parts([]byte(body))
	for range 1 + d.N(3) {
		i := d.N(len(parts))
		parts[i] = mutatePart(d, parts[i])
		if j := d.N(len(parts)); d.N(12) == 0 {
			parts[i], parts[j] = parts[j], parts[i]
		}
	}
	var out []byte
	for _, part := range parts {
		out = append(out, part...)
	}
	return out
}

func mutatePart(d *intercepttest.Dice, part []byte) []byte {
	event := sse.Parse(part)
	name, payload := string(event.Name), string(event.Joined())
	if d.N(3) > 0 {
		payload = mutateFields(d, payload)
	}
	switch d.N(12) {
	case 0:
		name = ""
	case 1:
		name = d.Pick("thread.x", "message", "response.output_text.delta")
	case 2:
		return sse.AppendData([]byte("event: thread.x\n"), name, []byte(payload))
	case 3:
		return append(sse.AppendData([]byte("data: [DONE]\n\n"), name, []byte(payload)), part...)
	case 4:
		return append(sse.AppendData(nil, name, []byte(payload)), part...)
	case 5:
		return nil
	}
	return sse.AppendData(nil, name, []byte(payload))
}

// mutateFields changes a field of an event or of an item in it.
func mutateFields(d *intercepttest.Dice, payload string) string {
	at := ""
	for _, path := range []string{"item.", "response.output.0.", "output.0.", "item.action.", "item.operation."} {
		if gjson.Get(payload, path[:len(path)-1]).IsObject() && d.N(2) == 0 {
			at = path
		}
	}
	var names []string
	object := gjson.Parse(payload)
	if at != "" {
		object = gjson.Get(payload, at[:len(at)-1])
	}
	object.ForEach(func(k, _ gjson.Result) bool { names = append(names, k.Str); return true })
	name := d.Pick(append(names, "__proto__", "x", "caller", "namespace", "environment", "created_by", "content")...)
	var changed string
	var err error
	if value := d.Pick("", "null", `""`, "5", "{}", "[]", "true", `{"x":1}`, `"y"`, fmt.Sprint(d.N(9))); value == "" {
		changed, err = sjson.Delete(payload, at+gjson.Escape(name))
	} else {
		changed, err = sjson.SetRaw(payload, at+gjson.Escape(name), value)
	}
	if err != nil || strictjson.Strict([]byte(changed)) != nil {
		return payload
	}
	return changed
}

// FuzzMutated: whatever is wrong with a few events of an answer, each client that reads
// what the agent got has exactly the calls that were shown.
func FuzzMutated(f *testing.F) {
	for i := range 80 {
		f.Add(intercepttest.Throws(i+700, 300), []byte{6, 200})
	}
	f.Fuzz(func(t *testing.T, b, sizes []byte) { checkMutated(t, b, sizes) })
}

func checkMutated(t *testing.T, b, sizes []byte) {
	t.Helper()
	d := &intercepttest.Dice{Throws: b}
	body := mutated(d)
	checkDenied(t, body, []byte(finalWord), sizes, byte(d.N(3)))
	checkReleased(t, body, sizes)
	checkChunking(t, body, sizes, 1<<20)
}
