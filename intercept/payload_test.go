package intercept

import "testing"

// What readers see in different ways is not understood.
func TestPayloadsThatReadersSeeDifferently(t *testing.T) {
	for part, want := range map[string]int{
		"data: {\"a\":1}\n\n":                     1,
		" data: {\"a\":1}\n\n":                    1, // all of it is indented
		"data: {\"a\":1}\ndata: {\"b\":2}\n\n":    2,
		"data: {\ndata: \"a\": {}\ndata: }\n\n":   1,
		"data: {\"a\":[\ndata: {}\ndata: ]}\n\n":  1,
		" data: [\ndata: {\"a\":1}\n data: ]\n\n": -1, // the standard reads the middle
		"data: [\ndata: {\"a\":1}\ndata: ]\n\n":   -1, // who takes each line reads the middle
		" data: {\"a\":1}\ndata: {\"b\":2}\n\n":   -1,
		": x\rdata: {\"a\":1}\n\n":                -1, // a comment for who knows line feeds only
		"data: {\"a\":1}\r\r":                     1,
		"event: x\r\ndata: {\"a\":1}\r\n\r\n":     1,
	} {
		list, err := Payloads([]byte(part))
		if n := len(list); err != nil && want >= 0 || err == nil && n != want {
			t.Errorf("%q: %d payloads, %v", part, n, err)
		}
	}
}
