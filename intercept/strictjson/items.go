package strictjson

import "github.com/tidwall/gjson"

// ItemReader gets the items of an array while strict JSON is read, so that no one has to read
// it again: the members of an item in their order, then its end. Before a member that is an
// array come the members of the objects in it, its parts. Names have no escapes. Names and values
// alias the JSON.
type ItemReader interface {
	Part(name, value []byte)
	Member(name, value []byte)
	ItemEnd()
	// Reset makes the reader forget all items: they will be read again.
	Reset()
}

// List is a field that is read by items if it is an array. It must be among the fields that are
// found.
type List struct {
	Field string
	Items ItemReader
}

// readItems is the slow way to read the items of a value, which is strict JSON.
func readItems(raw []byte, to ItemReader) {
	array := gjson.ParseBytes(raw)
	if !array.IsArray() {
		return
	}
	array.ForEach(func(_, item gjson.Result) bool {
		if item.IsObject() {
			item.ForEach(func(name, value gjson.Result) bool {
				readParts(value, to)
				to.Member([]byte(name.Str), []byte(value.Raw))
				return true
			})
		}
		to.ItemEnd()
		return true
	})
}

func readParts(member gjson.Result, to ItemReader) {
	if !member.IsArray() {
		return
	}
	member.ForEach(func(_, part gjson.Result) bool {
		if part.IsObject() {
			part.ForEach(func(name, value gjson.Result) bool {
				to.Part([]byte(name.Str), []byte(value.Raw))
				return true
			})
		}
		return true
	})
}
