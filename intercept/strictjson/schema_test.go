package strictjson

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestSchema(t *testing.T) {
	schema := &Schema{
		Types: Object,
		Fields: map[string]*Schema{
			"index": {Types: Number},
			"role":  {Types: String | Null, Values: []string{"assistant"}},
			"calls": {Types: Array, Items: &Schema{Types: Object, Fields: map[string]*Schema{"id": {Types: String}}}},
			"none":  {Types: Array},
			"extra": {Types: Object | Array, Open: true},
		},
		Required: []string{"index"},
	}
	deep := strings.Repeat(`{"a":`, maxDepth+1) + "1" + strings.Repeat("}", maxDepth+1)
	for payload, want := range map[string]bool{
		`{"index":0}`:                                     true,
		`{"index":0,"role":"assistant"}`:                  true,
		`{"index":0,"role":null}`:                         true,
		`{"index":0,"role":"user"}`:                       false,
		`{"index":0,"role":5}`:                            false,
		`{"index":"0"}`:                                   false,
		`{"index":1e9}`:                                   true,
		`{"index":1e999}`:                                 false,
		`{"index":-1e999}`:                                false,
		`{"index":null}`:                                  false,
		`{"role":"assistant"}`:                            false,
		`{"index":0,"other":1}`:                           false,
		`{"index":0,"Index":0}`:                           false,
		`{"index":0,"calls":[{"id":"a"},{"id":"b"}]}`:     true,
		`{"index":0,"calls":[{"id":"a"},{"id":1}]}`:       false,
		`{"index":0,"calls":[{"id":"a","__proto__":{}}]}`: false,
		`{"index":0,"calls":{}}`:                          false,
		`{"index":0,"none":[]}`:                           true,
		`{"index":0,"none":[1]}`:                          false,
		`{"index":0,"extra":{"google":{"sign":"x"}}}`:     true,
		`{"index":0,"extra":[{"a":{"__proto__":1}}]}`:     false,
		`{"index":0,"extra":{"constructor":1}}`:           false,
		`{"index":0,"extra":` + deep + `}`:                false,
		`[]`:                                              false,
		`null`:                                            false,
	} {
		if got := schema.Fits(gjson.Parse(payload)); got != want {
			t.Errorf("Fits(%s) = %v, want %v", payload, got, want)
		}
	}
}
