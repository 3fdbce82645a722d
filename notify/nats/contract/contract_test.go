package contract_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/approvals/store/subjects"
	"github.com/heldcall/heldcall/internal/testing/golden"
	"github.com/heldcall/heldcall/notify/nats"
	"github.com/heldcall/heldcall/notify/nats/contract"
	"github.com/heldcall/heldcall/notify/nats/contract/contracttest"
)

var update = flag.Bool("update", false, "rewrite docs/asyncapi.yaml")

const file = "../../../docs/asyncapi.yaml"

func TestFileIsUpToDate(t *testing.T) {
	want, err := contract.YAML()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, file, want, *update, "make contract")
}

func load(t *testing.T) *contracttest.Contract {
	t.Helper()
	c, err := contracttest.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return c
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
	text, err := contracttest.JSON(file)
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
	text, err := contracttest.JSON(file)
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
	c, tried := load(t), 0
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
	c, tried := load(t), 0
	command := regexp.MustCompile(`(?m)request (heldcall\.v1\.\S+|\$SRV\.\S+) '(.*)'`)
	for _, page := range []string{"../../../docs/nats.md", "../../../README.md", "../../../internal/demo/prompt.go"} {
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
	content, err := os.ReadFile("../../../docs/nats.md")
	if err != nil {
		t.Fatal(err)
	}
	c, words := load(t), string(content)
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
	for _, channel := range load(t).Channels {
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
