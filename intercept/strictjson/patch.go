package strictjson

import "github.com/tidwall/sjson"

// Patch is JSON that is changed field by field. It is strict at first, and all other bytes
// are kept. The first error sticks.
type Patch struct {
	JSON string
	Err  error
}

// Set replaces the value at a path, or adds it. The path must not be part of an answer.
func (p *Patch) Set(path, raw string) {
	if p.Err == nil {
		p.JSON, p.Err = sjson.SetRaw(p.JSON, path, raw)
	}
}

// Delete removes the field at a path.
func (p *Patch) Delete(path string) {
	if p.Err == nil {
		p.JSON, p.Err = sjson.Delete(p.JSON, path)
	}
}
