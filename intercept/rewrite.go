package intercept

import "github.com/heldcall/heldcall/intercept/sse"

// Rewrite is the replacement of one payload of a stream.
type Rewrite struct {
	JSON string // the payload as the agent gets it
	Drop bool   // it does not go out
	// Before and After are whole events that go out around it.
	Before, After []byte
}

// RewritePart returns a part of a stream in which the result of event replaces each payload
// that is not blank. If nothing changes, it is the same part, and otherwise empty or whole
// events.
func RewritePart(part []byte, payloads [][]byte, event func(i int, payload []byte) (Rewrite, error)) ([]byte, error) {
	if len(payloads) == 0 {
		return part, nil
	}
	name := string(sse.Parse(part).Name)
	var out []byte
	changed := false
	for i, payload := range payloads {
		r := Rewrite{JSON: string(payload)}
		if !IsBlank(payload) {
			var err error
			if r, err = event(i, payload); err != nil {
				return nil, err
			}
		}
		changed = changed || r.Drop || len(r.Before)+len(r.After) > 0 || r.JSON != string(payload)
		if out = append(out, r.Before...); !r.Drop {
			out = sse.AppendData(out, name, []byte(r.JSON))
		}
		out = append(out, r.After...)
	}
	if !changed {
		return append(part[:len(part):len(part)], Unended(part)...), nil
	}
	return out, nil
}
