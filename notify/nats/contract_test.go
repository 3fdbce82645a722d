package nats_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/micro"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/subjects"
	"github.com/heldcall/heldcall/internal/testing/apidoc"
	"github.com/heldcall/heldcall/notify/nats"
	"github.com/heldcall/heldcall/notify/nats/contracttest"
)

const contractFile = "../../docs/asyncapi.yaml"

func loadContract(t *testing.T) *contracttest.Contract {
	t.Helper()
	c, err := contracttest.Load(contractFile)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// published are the types of messages that no one has asked for, by channel.
func published() map[string]reflect.Type {
	return map[string]reflect.Type{"requests": reflect.TypeFor[approvals.Request](), "events": reflect.TypeFor[approvals.Event]()}
}

// discovered is the answers of the micro service to the verbs of NATS, by channel.
func discovered() map[string]reflect.Type {
	return map[string]reflect.Type{
		"service.ping": reflect.TypeFor[micro.Ping](), "service.info": reflect.TypeFor[micro.Info](), "service.stats": reflect.TypeFor[micro.Stats](),
	}
}

// The file has the subjects that heldcall sends on and answers at, and no other.
func TestSubjectsAreThoseOfTheContract(t *testing.T) {
	c := loadContract(t)
	addresses := map[string]string{"inbox": "", "requests": subjects.Request, "events": subjects.Event}
	for _, verb := range []micro.Verb{micro.PingVerb, micro.InfoVerb, micro.StatsVerb} {
		subject, err := micro.ControlSubject(verb, nats.ServiceName, "")
		if err != nil {
			t.Fatal(err)
		}
		addresses["service."+strings.ToLower(verb.String())] = subject
	}
	for _, e := range nats.Endpoints() {
		addresses[e.Name] = e.Subject
		operation := c.Operations[e.Name]
		if operation.Summary != e.About || operation.Role != string(e.Role) || operation.Bindings.NATS.Queue != nats.QueueGroup {
			t.Errorf("the operation %s is %+v", e.Name, operation)
		}
	}
	for name, channel := range c.Channels {
		address, ok := addresses[name]
		if !ok || address != channel.Address {
			t.Errorf("the contract has %s at %q, heldcall at %q", name, channel.Address, address)
		}
		checkParameters(t, name, channel)
		delete(addresses, name)
		operation, action := c.Operations[name], "receive"
		if published()[name] != nil {
			action = "send"
		}
		if name != "inbox" && (operation.Action != action || operation.Summary != channel.Summary || operation.Channel.Name() != name) {
			t.Errorf("the operation %s is %+v", name, operation)
		}
	}
	for name := range addresses {
		t.Errorf("the contract does not have %s", name)
	}
	if len(c.Operations) != len(c.Channels)-1 { // inboxes are the clients'
		t.Errorf("%d operations for %d channels", len(c.Operations), len(c.Channels))
	}
	for name, stream := range map[string]string{"requests": subjects.StreamRequests, "events": subjects.StreamEvents} {
		if got := c.Document.Part(apidoc.Pointer("channels", name))["x-heldcall-stream"]; got != stream {
			t.Errorf("%s is in the stream %v", name, got)
		}
	}
}

// checkParameters compares the parameters of a channel with its address.
func checkParameters(t *testing.T, name string, channel contracttest.Channel) {
	t.Helper()
	values := map[string][]string{"kind": apidoc.Values(reflect.TypeFor[approvals.Kind]()), "type": apidoc.Values(reflect.TypeFor[approvals.EventType]())}
	tokens := regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(channel.Address, -1)
	if len(tokens) != len(channel.Parameters) {
		t.Errorf("%s has the parameters %v for %s", name, channel.Parameters, channel.Address)
	}
	for _, token := range tokens {
		parameter := channel.Parameters[token[1]]
		if !slices.Equal(parameter.Enum, values[token[1]]) || (parameter.Enum == nil) == (parameter.Description == "") {
			t.Errorf("%s: the parameter %s is %+v", name, token[1], parameter)
		}
	}
}

// The messages of the file have every field of the types that go over the subjects, and no
// other.
func TestMessagesAreThoseOfTheContract(t *testing.T) {
	c := loadContract(t)
	c.Document.OtherValues = nats.Codes()
	used, replies, named := map[string]bool{"Failure": true}, map[string]bool{"Failure": true}, map[string]reflect.Type{}
	compare := func(channel string, references []contracttest.Reference, form apidoc.Form, types ...reflect.Type) {
		t.Helper()
		if len(references) != len(types) {
			t.Errorf("%s has the messages %v", channel, references)
			return
		}
		for i, of := range types {
			name := references[i].Name()
			used[name] = true
			if of == nil {
				if name != "Nothing" || len(c.Messages[name].Payload) > 0 {
					t.Errorf("%s has the message %s", channel, name)
				}
				continue
			}
			if of == reflect.TypeFor[nats.Failure]() {
				form = apidoc.Written
			}
			if want := apidoc.Name(form, of); name != want {
				t.Errorf("%s has the message %s, not %s", channel, name, want)
			}
			c.Document.Compare(t, apidoc.Pointer("components", "messages", name, "payload"), of, form, json.Marshal, withCode)
			for name, part := range apidoc.Named(form, of) {
				named[name] = part
				if form != apidoc.Strict { // schemas within a strict message are compared as part of it
					c.Document.Compare(t, apidoc.Pointer("components", "schemas", name), part, form, json.Marshal, withCode)
				}
			}
		}
	}
	answers := func(name string, of reflect.Type) {
		t.Helper()
		reply := c.Operations[name].Reply
		if reply == nil {
			t.Errorf("%s has no reply", name)
			return
		}
		for _, message := range reply.Messages {
			replies[message.Name()] = true
		}
		types := []reflect.Type{of}
		if discovered()[name] == nil {
			types = append(types, reflect.TypeFor[nats.Failure]())
		}
		compare(name, reply.Messages, apidoc.Written, types...)
	}
	for name, of := range published() {
		compare(name, c.Operations[name].Messages, apidoc.Written, of)
	}
	for name, of := range discovered() {
		compare(name, c.Operations[name].Messages, apidoc.Read, nil)
		answers(name, of)
	}
	for _, e := range nats.Endpoints() {
		form := apidoc.Read
		if e.Micro {
			form = apidoc.Strict
		}
		compare(e.Name, c.Operations[e.Name].Messages, form, e.Takes)
		answers(e.Name, e.Gives)
	}
	unused(t, "message", slices.Sorted(maps.Keys(c.Messages)), used)
	unused(t, "reply", slices.Sorted(maps.Keys(c.Channels["inbox"].Messages)), replies)
	for name := range c.Document.Part("/components/schemas") {
		if named[name] == nil {
			t.Errorf("the contract has the schema %s, which is in no message", name)
		}
	}
	for _, channel := range c.Channels {
		for name, message := range channel.Messages {
			if message.To != "#/components/messages/"+name {
				t.Errorf("the message %s is %s", name, message.To)
			}
		}
	}
}

// withCode gives a failure a code that there is.
func withCode(value reflect.Value) {
	if failure, ok := value.Addr().Interface().(*nats.Failure); ok {
		failure.Code = nats.Codes()[0]
	}
}

func unused(t *testing.T, what string, names []string, used map[string]bool) {
	t.Helper()
	for _, name := range names {
		if !used[name] {
			t.Errorf("the contract has the %s %s, which nobody sends", what, name)
		}
	}
	if len(names) != len(used) {
		t.Errorf("the contract has %d of %d of kind %s", len(names), len(used), what)
	}
}

// The file is valid by the JSON Schema of AsyncAPI.
func TestFileIsAsyncAPI(t *testing.T) {
	packed, err := os.Open("testdata/asyncapi-3.0.0.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	official, err := jsonschema.UnmarshalJSON(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	const name = "http://asyncapi.com/definitions/3.0.0/asyncapi.json"
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, official); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := contracttest.JSON(contractFile)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(document); err != nil {
		t.Errorf("docs/asyncapi.yaml is not AsyncAPI 3.0.0: %v", err)
	}
	document.(map[string]any)["channels"].(map[string]any)["decide"].(map[string]any)["subject"] = "x"
	if schema.Validate(document) == nil {
		t.Error("the schema takes a channel with a field that there is not: it checks nothing")
	}
}

// References of the document lead somewhere in it. The schema of AsyncAPI does not
// look at that.
func TestReferencesLeadSomewhere(t *testing.T) {
	text, err := contracttest.JSON(contractFile)
	if err != nil {
		t.Fatal(err)
	}
	document := gjson.ParseBytes(text)
	found := 0
	var walk func(gjson.Result)
	walk = func(value gjson.Result) {
		value.ForEach(func(key, part gjson.Result) bool {
			if key.String() == "$ref" {
				found++
				path := strings.NewReplacer(".", `\.`, "/", ".").Replace(strings.TrimPrefix(part.String(), "#/"))
				if !document.Get(path).Exists() {
					t.Errorf("%s leads nowhere", part)
				}
			}
			if part.IsObject() || part.IsArray() {
				walk(part)
			}
			return true
		})
	}
	walk(document)
	if found < 50 {
		t.Errorf("only %d references were found", found)
	}
}

func TestExamplesAreMessages(t *testing.T) {
	c, tried := loadContract(t), 0
	for name, m := range c.Messages {
		for _, example := range m.Examples {
			tried++
			if err := c.Payload(name, example.Payload); err != nil {
				t.Errorf("the example of %s: %v", name, err)
			}
		}
	}
	if tried < 10 {
		t.Errorf("only %d examples were tried", tried)
	}
}

// The contract has the messages in documents and in the help of programs.
func TestCommandsInTheDocumentsAreMessages(t *testing.T) {
	c, tried := loadContract(t), 0
	command := regexp.MustCompile(`(?m)request (heldcall\.v1\.\S+|\$SRV\.\S+) '(.*)'`)
	for _, page := range []string{"../../docs/nats.md", "../../README.md", "../../internal/demo/prompt.go"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range command.FindAllStringSubmatch(string(text), -1) {
			tried++
			subject := strings.ReplaceAll(found[1], "%[1]s", "ID")
			if err := c.Message(subject, []byte(found[2])); err != nil {
				t.Errorf("%s: %s '%s': %v", page, subject, found[2], err)
			}
		}
	}
	if tried < 12 {
		t.Errorf("only %d commands were found", tried)
	}
}

// docs/nats.md agrees with the contract: the subjects, the request that it shows, the
// fields of a decision and the codes of errors.
func TestWordsAndContractAgree(t *testing.T) {
	content, err := os.ReadFile("../../docs/nats.md")
	if err != nil {
		t.Fatal(err)
	}
	c, words := loadContract(t), string(content)
	for name, channel := range c.Channels {
		if channel.Address == "" {
			continue // the client chooses its inbox
		}
		said := channel.Address
		if rest, ok := strings.CutPrefix(said, "heldcall.v1.svc."); ok {
			said = "." + rest // the first of them stands there in full
		}
		if strings.HasPrefix(said, "heldcall.v1.grants") {
			said = "." + said[strings.LastIndexByte(said, '.')+1:]
		}
		if strings.HasPrefix(said, "$SRV") {
			said = "$SRV."
		}
		if !strings.Contains(words, said) {
			t.Errorf("docs/nats.md does not have the subject %s of %s", channel.Address, name)
		}
	}
	for _, code := range nats.Codes() {
		if !strings.Contains(words, "| `"+code+"` |") {
			t.Errorf("docs/nats.md does not have the code %s", code)
		}
	}
	shown := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(words)
	if shown == nil {
		t.Fatal("docs/nats.md shows no request")
	}
	if err := c.Message("heldcall.v1.requests.default.permission.ID", []byte(shown[1])); err != nil {
		t.Errorf("the request that docs/nats.md shows: %v", err)
	}
}

// Whatever the contract has is shared with whom it is for, and nothing is shared that
// it does not have.
func TestRightsAreThoseOfTheContract(t *testing.T) {
	given := slices.Concat(subjects.Feeds(), subjects.ReadingServices(), subjects.EveryReviewersServices())
	used := map[string]bool{}
	for _, channel := range loadContract(t).Channels {
		if channel.Address == "" {
			continue
		}
		at := slices.IndexFunc(given, func(right string) bool { return within(channel.Address, right) })
		if at < 0 {
			t.Errorf("no reviewer has the right to %s", channel.Address)
			continue
		}
		used[given[at]] = true
	}
	for _, right := range given {
		if !used[right] {
			t.Errorf("%s is given, and is in no channel of the contract", right)
		}
	}
}

// within reports whether a subject with {names} is one that wildcards select.
func within(subject, wildcard string) bool {
	tokens := strings.Split(subject, ".")
	for i, part := range strings.Split(wildcard, ".") {
		switch {
		case part == ">":
			return i < len(tokens)
		case i >= len(tokens), part != "*" && part != tokens[i]:
			return false
		}
	}
	return len(tokens) == len(strings.Split(wildcard, "."))
}
