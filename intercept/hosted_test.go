package intercept

import (
	"fmt"
	"testing"
)

func TestHostedBeside(t *testing.T) {
	form := RequestForm{API: "test", Fields: HostedFields}
	for body, want := range map[string]string{
		`{}`: "[]",
		`{"web_search_options":null,"search_parameters":{"mode":"off"},"enable_search":false,"plugins":[]}`:              "[]",
		`{"web_search_options":{},"search_parameters":{},"enable_search":true}`:                                          "[{web_search_options false} {search_parameters false} {enable_search false}]",
		`{"search_parameters":{"mode":"auto"},"plugins":[{"id":"web"},{"id":"x","enabled":false},"y",{"enabled":null}]}`: "[{search_parameters false} {plugin:web false} {plugin: false} {plugin: false}]",
		`{"plugins":{"id":"web"},"search_par\u0061meters":"on"}`:                                                         "[{search_parameters false} {plugins false}]",
	} {
		asked, err := form.Accept(Envelope{Body: []byte(body)})
		if got := fmt.Sprint(asked.HostedBeside()); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", body, got, err, want)
		}
	}
}
