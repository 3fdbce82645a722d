package intercepttest

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

// StoredTurns puts the hidden turns of testdata/stored.json, in the form in which versions before have stored them, back
// into the histories beside them.
func StoredTurns(t *testing.T, d intercept.Dialect) {
	t.Helper()
	raw, err := os.ReadFile("testdata/stored.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Path, Request, Spliced string
		Records                []string
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatal("there are no stored turns")
	}
	for _, c := range cases {
		r, err := d.Request(intercept.Envelope{Method: http.MethodPost, Path: c.Path, Body: []byte(c.Request)})
		if err != nil {
			t.Fatalf("%s: %v", c.Request, err)
		}
		var records [][]byte
		for _, record := range c.Records {
			records = append(records, []byte(record))
		}
		r.Splice(records)
		if got := string(r.Envelope().Body); got != c.Spliced {
			t.Errorf("%s\ngot  %s\nwant %s", c.Request, got, c.Spliced)
		}
	}
}
