package exchange

import "testing"

func TestASCIICompatible(t *testing.T) {
	for contentType, want := range map[string]bool{
		"": true, "application/json": true, "application/json; charset=utf-8": true, "text/event-stream;charset=UTF-8": true, `application/json; charset="utf-8"`: true,
		"application/json; charset=": true, "application/json;charset=ISO-8859-1": true, "text/event-stream; x=y": true, "multipart/form-data; boundary=charset": true,
		"application/json; charset=utf-16": false, "application/json; CharSet=UTF-7": false, `text/event-stream; charset="Shift_JIS"`: false, "text/plain ; charset = utf-16le": false,
		"application/json; charset=utf-8; charset=utf-16": false, "application/json; charset*=us-ascii''utf-16": false, "application/json; charset=iso-2022-jp; x=y": false,
	} {
		if got := ASCIICompatible([]byte(contentType)); got != want {
			t.Errorf("%q: %t", contentType, got)
		}
	}
}
