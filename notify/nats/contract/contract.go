// Package contract describes heldcall's messages over NATS as an AsyncAPI 3.0 document:
// the subjects of [subjects] and [nats.Endpoints], and the Go types that go over them.
// `make contract` writes it to docs/asyncapi.yaml.
package contract

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/nats-io/nats.go/micro"
	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/subjects"
	"github.com/heldcall/heldcall/internal/schema"
	"github.com/heldcall/heldcall/notify/nats"
)

// Document is the contract.
func Document() object {
	w := &writer{types: schema.New(), channels: object{}, operations: object{}, messages: object{}, replies: object{}}
	w.publishes("requests", subjects.Request, subjects.StreamRequests, "A new request, once.", reflect.TypeFor[approvals.Request]())
	events := w.publishes("events", subjects.Event, subjects.StreamEvents, "An entry of the audit log.", reflect.TypeFor[approvals.Event]())
	events["parameters"].(object)["id"] = object{"description": "The id of the grant or request of the event, else of the run, else of the event itself."}
	for _, e := range nats.Endpoints() {
		w.answers(e)
	}
	for verb, is := range map[micro.Verb]reflect.Type{
		micro.PingVerb: reflect.TypeFor[micro.Ping](), micro.InfoVerb: reflect.TypeFor[micro.Info](), micro.StatsVerb: reflect.TypeFor[micro.Stats](),
	} {
		w.discovers(verb, is)
	}
	w.channels["inbox"] = object{
		"address":     nil,
		"description": "The reply subject of a request: an inbox of the client.",
		"messages":    w.replies,
	}
	return object{
		"asyncapi": "3.0.0",
		"info": object{
			"title": "heldcall over NATS", "version": "v1",
			"description": about,
			"license":     object{"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
		},
		"defaultContentType": "application/json",
		"servers":            servers(),
		"channels":           w.channels,
		"operations":         w.operations,
		"components":         object{"schemas": w.types.Named, "messages": w.messages, "securitySchemes": securitySchemes()},
	}
}

const about = `The subjects on which clients of NATS read requests and decide them; docs/nats.md explains them.
The application of this document is heldcall: clients subscribe to the subjects that it sends on,
and publish on those that it receives.
A token of a subject is a name, or "=" and its base64url if the name has characters other
than letters, digits, "-" and "_".`

// YAML is the document as a file.
func YAML() ([]byte, error) {
	var out strings.Builder
	out.WriteString("# Generated from the code by `make contract`. Do not edit.\n")
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(Document()); err != nil {
		return nil, fmt.Errorf("write the contract: %w", err)
	}
	return []byte(out.String()), encoder.Close()
}

func servers() object {
	byToken := []object{{"$ref": "#/components/securitySchemes/reviewer"}}
	return object{
		"embedded": object{
			"host": "127.0.0.1:4143", "protocol": "nats", "security": byToken,
			"description": "The server that `heldcall serve` runs for clients on the same machine. Without reviewers in the configuration it needs no sign-in.",
		},
		"external": object{
			"host": "{host}", "protocol": "nats", "security": byToken,
			"variables":   object{"host": object{"description": "host:port of nats.url in heldcall's configuration", "default": "127.0.0.1:4222"}},
			"description": "The operator's own server or cluster. `heldcall nats permissions` prints the rights that its users need.",
		},
	}
}

func securitySchemes() object {
	return object{"reviewer": object{"type": "userPassword", "description": "A reviewer's name, and as password their token; on an external server what its operator has given them."}}
}
