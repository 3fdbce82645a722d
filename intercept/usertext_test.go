package intercept

import (
	"strings"
	"testing"
)

func TestUserText(t *testing.T) {
	for _, tt := range []struct{ name, content, reminder, want string }{
		{"no message", "", "", ""},
		{"null", "null", "", ""},
		{"a number", "12", "", "12"},
		{"an empty text", `""`, "", ""},
		{"a text", `"do it"`, "", "do it"},
		{"escapes", `"\u0061\n\\\"\ud83d\ude00\/é"`, "", "a\n\\\"😀/é"},
		{"parts", `[{"type":"text","text":"a\n"},{"type":"image"},{"text":"b"}]`, "", "a\nb"},
		{"no parts", `[]`, "", ""},
		{"a reminder among the parts", `[{"text":"<note>x"},{"text":"b"}]`, "<note>", "b"},
		{"a reminder as the text", `"<note>x"`, "<note>", "<note>x"},
		{"reminders only", `[{"text":"<note>x"}]`, "<note>", ""},
	} {
		text := UserText{Prefix: "1\n", Content: []byte(tt.content), Reminder: tt.reminder}
		var written strings.Builder
		n, err := text.WriteTo(&written)
		if err != nil || n != int64(written.Len()) || written.String() != "1\n"+tt.want || text.String() != written.String() || text.HasMessage() != (tt.want != "") {
			t.Errorf("%s: %q and %q (%d, %v), want %q", tt.name, text.String(), written.String(), n, err, tt.want)
		}
	}
}
