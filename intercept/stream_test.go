package intercept

import (
	"strings"
	"testing"
)

// What readers see in different ways is not understood.
func TestPayloadsThatReadersSeeDifferently(t *testing.T) {
	for part, want := range map[string]int{
		"data: {\"a\":1}\n\n":                                                 1,
		" data: {\"a\":1}\n\n":                                                1, // all of it is indented
		"data: {\"a\":1}\ndata: {\"b\":2}\n\n":                                2,
		"data: {\ndata: \"a\": {}\ndata: }\n\n":                               1,
		"data: {\"a\":[\ndata: {}\ndata: ]}\n\n":                              1,
		" data: [\ndata: {\"a\":1}\n data: ]\n\n":                             -1, // the standard reads the middle
		"data: [\ndata: {\"a\":1}\ndata: ]\n\n":                               -1, // who takes each line reads the middle
		" data: {\"a\":1}\ndata: {\"b\":2}\n\n":                               -1,
		": x\rdata: {\"a\":1}\n\n":                                            -1, // a comment for who knows line feeds only
		"data: {\"a\":1}\r\r":                                                 1,
		strings.Repeat("data:{}\n", maxPayloads) + "\n":                       maxPayloads,
		strings.Repeat("data:{}\n", maxPayloads+1) + "\n":                     -1,
		"data:[\n" + strings.Repeat("data:1,\n", maxPayloads) + "data:1]\n\n": 1, // one event of many lines
		"event: x\r\ndata: {\"a\":1}\r\n\r\n":                                 1,
	} {
		p := Part{Bytes: []byte(part)}
		err := new(Stream).Parse(&p)
		if n := len(p.Payloads); (err != nil && want >= 0) || (err == nil && n != want) {
			t.Errorf("%.100q: %d payloads, %v", part, n, err)
		}
	}
}

// What only some readers of a stream see is not understood beside what all see.
func TestPartsThatSomeReadersSkip(t *testing.T) {
	const plain = "data: {\"a\":1}\n\n"
	const calling = "data: {\"tool_calls\":[]}\n\n"
	indented, returns := " "+plain, strings.ReplaceAll(plain, "\n", "\r")
	for stream, understood := range map[string]bool{
		plain + plain:                                   true,
		indented + indented:                             true,
		returns + returns:                               true,
		"\xef\xbb\xbf" + plain + plain:                  true,
		plain + ": x\n\n" + plain:                       true,
		plain + strings.ReplaceAll(plain, "\n", "\r\n"): true,
		indented + "data: [DONE]\n\n":                   true,
		" " + calling + plain:                           false,
		" " + calling + " " + calling:                   true,
		plain + indented:                                false,
		indented + plain:                                true,
		plain + returns:                                 false,
		plain + ": x\r" + plain:                         false,
		plain + "\r" + plain:                            false,
		"\r" + plain:                                    false,
		plain + "\xef\xbb\xbf" + plain:                  false,
		plain + "\xef\xbb\xbfevent: x\n" + plain:        false,
		"\r\n" + plain + plain:                          true,
		"\r\r\n" + plain + plain:                        true,
		"\r" + returns + returns:                        true,
		"\r " + plain + plain:                           false,
		"\n\xef\xbb\xbf" + plain + plain:                false,
	} {
		for at := range len(stream) { // how the network cuts the stream decides nothing
			var b Body
			err := readBlock(&b, stream[:at])
			if err == nil {
				err = readBlock(&b, stream[at:]+": x\n")
			}
			if (err == nil) != understood {
				t.Errorf("%q, cut after %d: %v", stream, at, err)
			}
		}
	}
}

func readBlock(b *Body, block string) error {
	if _, err := b.Write([]byte(block)); err != nil {
		return err
	}
	for {
		part, ok, err := b.Next()
		if !ok || err != nil {
			return err
		}
		p := Part{Bytes: part}
		if err := b.frame().Parse(&p); err != nil {
			return err
		}
		if err := b.frame().Check(&p); err != nil {
			return err
		}
	}
}
