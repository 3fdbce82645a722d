package conformance

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/tidwall/gjson"
)

// CheckAnswer judges a stream as clients do that follow it event by event: the
// response is created first and closed last, sequence numbers and output indexes
// count up without a gap, every event is of an item that has begun and not ended,
// the pieces of an item add up to the item at its end, and the closing
// response has the items that were streamed.
func (responses) CheckAnswer(body []byte) []Problem {
	c := responsesCheck{last: -1}
	if isWhole(body) {
		c.whole(gjson.ParseBytes(body))
		return c.problems
	}
	a := &Answer{}
	a.read(body, c.event)
	if len(a.Malformed) > 0 {
		c.add("not JSON", "%q", a.Malformed)
	}
	if a.Late {
		c.add("late", "something follows [DONE]")
	}
	switch {
	case c.events == 0:
		c.add("empty", "there is no event")
	case c.closed == "":
		c.add("open", "no event closes the response")
	}
	return c.problems
}

type responsesCheck struct {
	problems
	events     int
	last       int64 // sequence number
	unnumbered int   // events without a number since the last one
	id         string
	items      []*checkedItem
	closed     string // the type of the event that closed the response
}

// checkedItem is one item on its way.
type checkedItem struct {
	streamedItem
	id      string
	ended   bool
	partial bool // a delta of its arguments was seen
}

func (c *responsesCheck) event(e event, data gjson.Result) {
	kind := data.Get("type").String()
	if e.name != "" && e.name != kind {
		c.add("event line", "the event line says %q, the data %q", e.name, kind)
	}
	if c.closed != "" {
		c.add("after the end", "%s comes after %s", kind, c.closed)
	}
	if c.events == 0 && kind != "response.created" {
		c.add("first event", "the first event is %s", kind)
	}
	if c.events > 0 && kind == "response.created" {
		c.add("created twice", "event %d is another response.created", c.events)
	}
	c.number(data)
	c.events++
	switch index := data.Get("output_index"); {
	case data.Get("response").IsObject():
		c.response(kind, data.Get("response"))
	case kind == "response.output_item.added":
		c.begin(index.Int(), data.Get("item"))
	case index.Exists():
		c.proceed(index.Int(), kind, data)
	}
}

func (c *responsesCheck) number(data gjson.Result) {
	number := data.Get("sequence_number")
	if number.Type != gjson.Number {
		c.unnumbered++
		return
	}
	n := number.Int()
	switch {
	case n <= c.last:
		c.add("sequence number back", "%d comes after %d", n, c.last)
	case c.last < 0 && c.unnumbered == 0 && n != 0:
		c.add("sequence number begins", "the first is %d", n)
	case n != c.last+1 && c.unnumbered == 0:
		c.add("sequence number gap", "%d comes after %d", n, c.last)
	}
	c.last, c.unnumbered = n, 0
}

func (c *responsesCheck) begin(index int64, item gjson.Result) {
	if index != int64(len(c.items)) {
		c.add("output index", "an item begins at %d after %d items", index, len(c.items))
	}
	for _, other := range c.items {
		if other.id != "" && other.id == item.Get("id").String() {
			c.add("item id repeats", "items %d and %d are %s", other.index, index, other.id)
		}
	}
	c.items = append(c.items, &checkedItem{streamedItem: streamedItem{index: index, added: item}, id: item.Get("id").String()})
}

func (c *responsesCheck) proceed(index int64, kind string, data gjson.Result) {
	var item *checkedItem
	for _, i := range c.items {
		if i.index == index {
			item = i
		}
	}
	switch {
	case item == nil:
		c.add("no such item", "%s is of item %d, which has not begun", kind, index)
		return
	case item.ended:
		c.add("item ended", "%s is of item %d, which has ended", kind, index)
	}
	id := data.Get("item_id")
	if kind == "response.output_item.done" {
		id = data.Get("item.id")
	}
	if id.Exists() && item.id != "" && id.String() != item.id {
		c.add("item id changes", "item %d was %s and is %s in %s", index, item.id, id.String(), kind)
	}
	if isCallEvent(kind) && strings.HasSuffix(kind, ".done") && item.partial && !strings.HasPrefix(kind, "response.shell_call_command.") {
		before := item.arguments
		item.event(kind, data)
		if before != item.arguments {
			c.add("pieces", "item %d was told as %q piece by piece and is %q", index, before, item.arguments)
		}
		return
	}
	item.partial = item.partial || (isCallEvent(kind) && strings.HasSuffix(kind, ".delta"))
	item.event(kind, data)
	if kind == "response.output_item.done" {
		c.end(item, data.Get("item"))
	}
}

// end compares an item with the sum of its pieces.
func (c *responsesCheck) end(item *checkedItem, done gjson.Result) {
	item.ended = true
	if was, is := item.added.Get("type").String(), done.Get("type").String(); was != is {
		c.add("item type", "item %d began as %s and ends as %s", item.index, was, is)
	}
	if item.arguments == "" && len(item.commands) == 0 {
		return
	}
	told := *item
	told.done = gjson.Result{}
	of := callTypes[done.Get("type").String()].arguments
	was, is := told.whole().Get(of), done.Get(of)
	switch done.Get("type").String() {
	case "shell_call":
		was, is = was.Get("commands"), is.Get("commands")
	case "apply_patch_call":
		was, is = was.Get("diff"), is.Get("diff")
	}
	if !sameValue(was, is) {
		c.add("pieces", "item %d was told as %s and is %s", item.index, was.Raw, is.Raw)
	}
}

func (c *responsesCheck) response(kind string, response gjson.Result) {
	if id := response.Get("id").String(); c.id != "" && id != c.id {
		c.add("response id", "%s says %s, not %s", kind, id, c.id)
	} else {
		c.id = id
	}
	status := strings.TrimPrefix(kind, "response.")
	switch kind {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
	default:
		return
	}
	c.closed = kind
	if got := response.Get("status").String(); got != status {
		c.add("status", "%s has the status %s", kind, got)
	}
	for _, item := range c.items {
		if !item.ended && kind != "response.failed" {
			c.add("item open", "%s comes before item %d has ended", kind, item.index)
		}
	}
	c.closing(response.Get("output").Array())
}

// closing compares the output of the closing response with the items streamed.
// Some servers leave it empty.
func (c *responsesCheck) closing(output []gjson.Result) {
	if len(output) == 0 {
		if len(c.items) > 0 {
			c.add("closing output empty", "%d items were streamed", len(c.items))
		}
		return
	}
	if len(output) != len(c.items) {
		c.add("closing output length", "it has %d items, %d were streamed", len(output), len(c.items))
		return
	}
	for i, item := range output {
		if !sameItem(item, c.items[i].whole()) {
			c.add("closing output differs", "item %d was streamed as %s and is %s", i, c.items[i].whole().Raw, item.Raw)
		}
	}
}

// whole judges an answer that was not streamed.
func (c *responsesCheck) whole(response gjson.Result) {
	seen := make(map[string]bool)
	for i, item := range response.Get("output").Array() {
		id := item.Get("id").String()
		if id != "" && seen[id] {
			c.add("item id repeats", "%s", id)
		}
		seen[id] = true
		if isCall(item) && callID(item) == "" {
			c.add("call id", "item %d has none", i)
		}
	}
}

// sameItem compares two copies of an item, except for content that is encrypted
// differently in each copy.
func sameItem(a, b gjson.Result) bool {
	return sameValue(plain(a), plain(b))
}

func plain(item gjson.Result) gjson.Result {
	var value map[string]any
	if json.Unmarshal([]byte(item.Raw), &value) != nil {
		return item
	}
	delete(value, "encrypted_content")
	return gjson.ParseBytes(quoted(value))
}

func sameValue(a, b gjson.Result) bool { return reflect.DeepEqual(a.Value(), b.Value()) }
