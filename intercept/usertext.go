package intercept

import (
	"bytes"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// ReminderMark begins the parts of a message that agents add to what the user wrote.
const ReminderMark = "<system-reminder>"

// UserText is a text by which a request is identified: that of a message, which may be long, after
// a prefix. The message is decoded only when the text is needed.
type UserText struct {
	Prefix  string
	Content []byte // of the message, as JSON; it aliases the body
	// Reminder is the beginning of the parts that the user did not write, "" for none.
	Reminder string
}

// WriteTo implements [io.WriterTo]. A message without escapes is not copied.
func (t UserText) WriteTo(w io.Writer) (n int64, err error) {
	prefix, err := io.WriteString(w, t.Prefix)
	if err != nil {
		return int64(prefix), err
	}
	message, err := w.Write(t.message())
	return int64(prefix) + int64(message), err
}

// String is the whole text.
func (t UserText) String() string { return t.Prefix + string(t.message()) }

// HasMessage reports whether the message has a text.
func (t UserText) HasMessage() bool { return len(t.message()) > 0 }

// message is the text of the message. It may alias the content.
func (t UserText) message() []byte {
	if quoted := t.Content; len(quoted) > 1 && quoted[0] == '"' && quoted[len(quoted)-1] == '"' {
		if bytes.IndexByte(quoted, '\\') < 0 {
			return quoted[1 : len(quoted)-1]
		}
		text, _ := jsontext.AppendUnquote(make([]byte, 0, len(quoted)), quoted) // it was read strictly
		return text
	}
	content := gjson.ParseBytes(t.Content)
	if t.Reminder == "" || !content.IsArray() {
		return []byte(strictjson.ContentText(content))
	}
	var text []byte
	content.ForEach(func(_, part gjson.Result) bool {
		if written := part.Get("text").String(); !strings.HasPrefix(written, t.Reminder) {
			text = append(text, written...)
		}
		return true
	})
	return text
}
