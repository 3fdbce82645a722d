package strictjson

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// AddUsage returns the usage object sum with every number of the usage object more added,
// also of the objects in it. Fields that only one has are kept. Both must be strict JSON or empty.
func AddUsage(sum, more []byte) []byte { return addUsage(sum, more, 0) }

// addUsage is [AddUsage] at a depth. Beyond maxDepth it keeps the sum: each level reads all
// levels below it again.
func addUsage(sum, more []byte, depth int) []byte {
	if len(sum) == 0 || gjson.ParseBytes(sum).Type == gjson.Null {
		return more
	}
	if !gjson.ParseBytes(sum).IsObject() || !gjson.ParseBytes(more).IsObject() || depth == maxDepth {
		return sum
	}
	var fields []string
	added := gjson.ParseBytes(more).Map()
	gjson.ParseBytes(sum).ForEach(func(key, old gjson.Result) bool {
		value, ok := added[key.Str]
		if delete(added, key.Str); ok {
			old.Raw = addValues(old, value, depth)
		}
		fields = append(fields, key.Raw+":"+old.Raw)
		return true
	})
	gjson.ParseBytes(more).ForEach(func(key, value gjson.Result) bool {
		if _, ok := added[key.Str]; ok {
			fields = append(fields, key.Raw+":"+value.Raw)
		}
		return true
	})
	return []byte("{" + strings.Join(fields, ",") + "}")
}

// addValues returns the sum of two values of a field, or the first where they have none.
func addValues(old, value gjson.Result, depth int) string {
	switch {
	case value.IsObject() && old.IsObject():
		return string(addUsage([]byte(old.Raw), []byte(value.Raw), depth+1))
	case value.Type == gjson.Number && old.Type == gjson.Number:
		return string(addNumbers(old, value))
	case old.Type == gjson.Null:
		return value.Raw
	}
	return old.Raw
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
