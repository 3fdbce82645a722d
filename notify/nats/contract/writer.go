package contract

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/nats-io/nats.go/micro"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/schema"
	"github.com/heldcall/heldcall/notify/nats"
)

type writer struct {
	types                          schema.Set
	channels, operations, messages object
	replies                        object // messages that are sent to inboxes
}

func (w *writer) publishes(name, subject, stream, summary string, is reflect.Type) object {
	message := w.message(w.types.Written(is))
	channel := object{
		"address": subject, "summary": summary, "parameters": parameters(subject), "messages": object{message: messageRef(message)},
		"x-heldcall-stream": stream,
	}
	w.channels[name] = channel
	w.operations[name] = object{
		"action": "send", "summary": summary, "channel": object{"$ref": "#/channels/" + name},
		"messages": []object{{"$ref": "#/channels/" + name + "/messages/" + message}},
	}
	return channel
}

func (w *writer) answers(e nats.Endpoint) {
	takes := w.nothing()
	if e.Takes != nil && e.Micro {
		takes = w.message(w.types.ReadStrictly(e.Takes))
	} else if e.Takes != nil {
		takes = w.message(w.types.Read(e.Takes))
	}
	gives := w.message(w.types.Written(e.Gives))
	operation := w.exchange(e.Name, e.Subject, e.About, takes, gives, w.failure())
	operation["bindings"] = object{"nats": object{"queue": nats.QueueGroup}}
	if e.Role != "" {
		operation["x-heldcall-role"] = string(e.Role)
	}
}

func (w *writer) discovers(verb micro.Verb, is reflect.Type) {
	subject, err := micro.ControlSubject(verb, nats.ServiceName, "")
	if err != nil {
		panic("contract: " + err.Error()) // the verb and the name are constants
	}
	word := strings.ToLower(verb.String())
	w.exchange("service."+word, subject, "NATS's own "+word+" of the micro service; without the name at the end, of all services.", w.nothing(), w.message(w.types.Written(is)))
}

func (w *writer) exchange(name, subject, summary, takes string, gives ...string) object {
	channel := object{"address": subject, "summary": summary, "messages": object{takes: messageRef(takes)}}
	if p := parameters(subject); len(p) > 0 {
		channel["parameters"] = p
	}
	w.channels[name] = channel
	replies := []object{}
	for _, message := range gives {
		w.replies[message] = messageRef(message)
		replies = append(replies, object{"$ref": "#/channels/inbox/messages/" + message})
	}
	operation := object{
		"action": "receive", "summary": summary, "channel": object{"$ref": "#/channels/" + name},
		"messages": []object{{"$ref": "#/channels/" + name + "/messages/" + takes}},
		"reply":    object{"channel": object{"$ref": "#/channels/inbox"}, "messages": replies},
	}
	w.operations[name] = operation
	return operation
}

func (w *writer) message(payload object) string {
	reference := payload["$ref"].(string)
	name := reference[strings.LastIndexByte(reference, '/')+1:]
	m := object{"name": name, "payload": payload}
	if all := examples()[name]; len(all) > 0 {
		m["examples"] = all
	}
	w.messages[name] = m
	return name
}

func (w *writer) failure() string {
	is := reflect.TypeFor[nats.Failure]()
	name := w.message(w.types.Written(is))
	w.messages[name].(object)["summary"] = "The error of a message that was refused. The micro service also sends code and message as headers."
	w.types.Named[name].(object)["properties"].(object)["code"] = object{"type": "string", "enum": nats.Codes()}
	return name
}

func (w *writer) nothing() string {
	w.messages["Nothing"] = object{"name": "Nothing", "summary": "An empty message."}
	return "Nothing"
}

func messageRef(name string) object { return object{"$ref": "#/components/messages/" + name} }

var parameter = regexp.MustCompile(`\{(\w+)\}`)

func parameters(subject string) object {
	all := object{}
	for _, match := range parameter.FindAllStringSubmatch(subject, -1) {
		name := match[1]
		known, ok := tokens()[name]
		if !ok {
			panic(fmt.Sprintf("contract: the token {%s} has no description", name)) // a test writes all of them
		}
		all[name] = known
	}
	return all
}

func tokens() map[string]object {
	return map[string]object{
		"tenant":   {"description": "The tenant of the agent's principal; default if it has none."},
		"kind":     {"enum": schema.Values(reflect.TypeFor[approvals.Kind]())},
		"type":     {"enum": schema.Values(reflect.TypeFor[approvals.EventType]())},
		"reviewer": {"description": "The reviewer who decides; NATS permissions define who may publish on it. local if no reviewers are configured."},
		"run":      {"description": "The run_id of the requests."},
		"id":       {"description": "The id of the request."},
	}
}
