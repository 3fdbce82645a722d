package query_test

import (
	"testing"

	"github.com/heldcall/heldcall/console/query"
)

type color string

func TestRead(t *testing.T) {
	const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	type values struct {
		text, cursor string
		color        color
		limit        int
	}
	for _, tt := range []struct {
		raw  string
		want values
		err  string // "" is none
	}{
		{raw: "", want: values{}},
		{raw: "q=two+words&color=red&cursor=" + id + "&limit=500", want: values{"two words", id, "red", 500}},
		{raw: "color=&cursor=", want: values{}},
		{raw: "q=%zz", err: "the query is not well formed; encode it as name=value&name=value"},
		{raw: "q=a;b", err: "the query is not well formed; encode it as name=value&name=value"},
		{raw: "q=a&q=b", err: "q: is given more than once; give one value"},
		{raw: "p=a", err: "p: is not a filter; use q, color, cursor or limit"},
		{raw: "color=blue", err: `color: "blue" is not known; use red, green`},
		{raw: "cursor=1", err: "cursor: " + query.ErrCursor.Error()},
		{raw: "limit=0", err: `limit: "0" is not a number from 1 to 500`},
		{raw: "limit=501", err: `limit: "501" is not a number from 1 to 500`},
		{raw: "limit=", err: `limit: "" is not a number from 1 to 500`},
	} {
		var got values
		err := query.Read(tt.raw, "filter", []query.Parameter{
			query.Of("q", &got.text, query.Text),
			query.Of("color", &got.color, query.OneOf[color]("red", "green")),
			query.Of("cursor", &got.cursor, query.RecordID),
			query.Of("limit", &got.limit, query.Limit),
		})
		switch {
		case tt.err == "" && (err != nil || got != tt.want):
			t.Errorf("%q: %+v, %v; want %+v", tt.raw, got, err, tt.want)
		case tt.err != "" && (err == nil || err.Error() != tt.err):
			t.Errorf("%q: error %v, want %s", tt.raw, err, tt.err)
		}
	}
}

func TestReadNamesASingleParameter(t *testing.T) {
	var text string
	err := query.Read("p=a", "parameter", []query.Parameter{query.Of("q", &text, query.Text)})
	if want := "p: is not a parameter; use q"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
