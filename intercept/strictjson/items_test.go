package strictjson

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// itemLog writes down what an [ItemReader] gets.
type itemLog []string

func (l *itemLog) Part(name, value []byte)   { *l = append(*l, fmt.Sprintf("part %s=%s", name, value)) }
func (l *itemLog) Member(name, value []byte) { *l = append(*l, fmt.Sprintf("%s=%s", name, value)) }
func (l *itemLog) ItemEnd()                  { *l = append(*l, "end") }
func (l *itemLog) Reset()                    { *l = nil }

var itemCases = []struct{ body, want string }{
	{`{}`, ``},
	{`{"items":[]}`, ``},
	{`{"items":"x"}`, ``},
	{`{"items":{"a":[{"b":1}]}}`, ``},
	{`{"other":[{"a":1}],"nested":{"items":[{"a":1}]}}`, ``},
	{`{"items":[1,"x",[{"a":1}],null]}`, `end end end end`},
	{`{"items":[{"role":"user"},{"a":{"b":[{"c":1}]}}]}`, `role="user" end a={"b":[{"c":1}]} end`},
	{
		`{ "items" : [ { "a" : [ { "b" : 1 , "c" : [ { "d" : 2 } ] } , 3 ] , "e" : 4 } ] , "z" : 0 }`,
		`part b=1 part c=[ { "d" : 2 } ] a=[ { "b" : 1 , "c" : [ { "d" : 2 } ] } , 3 ] e=4 end`,
	},
	{`{"items":[{"\u0061":[{"\u0062":1}]}]}`, `part b=1 a=[{"\u0062":1}] end`}, // not quick
}

func TestItems(t *testing.T) {
	for _, tt := range itemCases {
		var log itemLog
		_, err := ScanFields([]byte(tt.body), []string{"items"}, nil, List{"items", &log})
		if got := strings.Join(log, " "); err != nil || got != tt.want {
			t.Errorf("%s:\n got %s (%v)\nwant %s", tt.body, got, err, tt.want)
		}
	}
}

// FuzzItems holds the items that the quick reader finds against the slow way.
func FuzzItems(f *testing.F) {
	for _, tt := range itemCases {
		f.Add([]byte(tt.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var quickly, slowly itemLog
		q := quick{b: body, lists: []List{{"items", &quickly}}}
		if !q.whole(nil) {
			return
		}
		if jsontext.Value(body).Kind() == '{' {
			fields, err := ReadFields(body, "items")
			if err != nil {
				t.Fatal(err)
			}
			readItems(fields.Raw("items"), &slowly)
		}
		if !slices.Equal(quickly, slowly) {
			t.Fatalf("%q:\nquick %q\n slow %q", body, quickly, slowly)
		}
	})
}
