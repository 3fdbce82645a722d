package intercept

import (
	"errors"
	"strings"
	"testing"
)

// A part in which nothing changes stays as it came; else it becomes whole events.
func TestRewrittenPart(t *testing.T) {
	rewrite := func(_ int, e Event) ([]Event, error) {
		switch e.Data {
		case `"gone"`:
			return nil, nil
		case `"between"`:
			return []Event{{Data: "1"}, e, {Data: "2"}}, nil
		case `"bad"`:
			return nil, errors.New("bad")
		}
		e.Data = strings.ReplaceAll(e.Data, "old", "new")
		return []Event{e}, nil
	}
	for part, want := range map[string]string{
		"event: x\ndata:  \"same\"\n\n":      "event: x\ndata:  \"same\"\n\n",
		"data: \"same\"":                     "data: \"same\"\n\n",
		"event: x\ndata: \"old\"\nid: 1\n\n": "event: x\ndata: \"new\"\n\n",
		"data: \"gone\"\n\n":                 "",
		"data: \"gone\"\ndata: \"same\"\n\n": "data: \"same\"\n\n",
		"data: \"between\"\n\n":              "data: 1\n\ndata: \"between\"\n\ndata: 2\n\n",
		": note\n\n":                         ": note\n\n",
		"data: \"bad\"\n\n":                  "an error",
	} {
		p := Part{Bytes: []byte(part)}
		if err := new(Stream).Parse(&p); err != nil {
			t.Fatal(err)
		}
		got := "an error"
		if events, err := p.Map(rewrite); err == nil {
			got = string((&Answer{}).rendered(&p, events))
		}
		if got != want {
			t.Errorf("%q: %q, want %q", part, got, want)
		}
	}
}
