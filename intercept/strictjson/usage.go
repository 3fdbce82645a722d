package strictjson

import (
	"strconv"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// AddUsage returns the usage object sum with every number of the usage object more added,
// at any depth. Fields that only one has are kept. Both must be strict JSON or empty.
func AddUsage(sum, more []byte) []byte {
	if len(sum) == 0 || gjson.ParseBytes(sum).Type == gjson.Null {
		return more
	}
	gjson.ParseBytes(more).ForEach(func(key, value gjson.Result) bool {
		path := gjson.Escape(key.String())
		old := gjson.GetBytes(sum, path)
		var merged []byte
		switch {
		case value.IsObject() && old.IsObject():
			merged = AddUsage([]byte(old.Raw), []byte(value.Raw))
		case value.Type == gjson.Number && old.Type == gjson.Number:
			merged = addNumbers(old, value)
		case !old.Exists() || old.Type == gjson.Null:
			merged = []byte(value.Raw)
		default:
			return true
		}
		if next, err := sjson.SetRawBytes(sum, path, merged); err == nil {
			sum = next
		}
		return true
	})
	return sum
}

// addNumbers adds integers exactly, anything else as floating point.
func addNumbers(a, b gjson.Result) []byte {
	x, errX := strconv.ParseInt(a.Raw, 10, 64)
	y, errY := strconv.ParseInt(b.Raw, 10, 64)
	if errX == nil && errY == nil {
		return strconv.AppendInt(nil, x+y, 10)
	}
	return strconv.AppendFloat(nil, a.Float()+b.Float(), 'g', -1, 64)
}
