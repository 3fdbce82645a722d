package policy

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/internal/mask"
)

// SecretNames returns the names of the secrets whose handles the arguments of a call have, each
// once.
func SecretNames(arguments string, freeText bool) (names []string) {
	add := func(text string) {
		for _, at := range mask.Handles(text) {
			if !slices.Contains(names, at.Name) {
				names = append(names, at.Name)
			}
		}
	}
	texts, err := readStrings(arguments)
	if freeText || err != nil {
		add(arguments)
		return names
	}
	for _, item := range texts {
		add(item.text)
	}
	return names
}

// InsertSecrets returns the arguments of a call with values, by the names of secrets, in place of
// their handles secret://NAME: each as one literal, in the form of its place. Other handles stay,
// also those in the names of members. The error, for the model, does not contain a value: a value
// would change more than the literal in which its handle is, or the tools that agents may run for the
// name of the call want different forms.
func (p *Policy) InsertSecrets(c Call, values map[string]string) (string, error) {
	in := &inserter{tool: &call.Tool{}, programs: p.rules.Known.Programs, values: values}
	plain, err := in.arguments(c)
	if err != nil {
		return "", err
	}
	text := plain
	for _, in.tool = range p.evaluate(c).typedTools() {
		formed, err := in.arguments(c)
		switch {
		case err != nil:
			return "", err
		case formed == plain:
		case text != plain && text != formed:
			return "", fmt.Errorf("agents may run different tools for the name %s", match.Visible(c.Tool))
		default:
			text = formed
		}
	}
	return text, nil
}

// typedTools returns the tools that agents may run for the call and whose arguments have a form.
func (e *evaluation) typedTools() (tools []*call.Tool) {
	names := []string{e.c.Call.Tool}
	if !e.named() || e.c.Call.Unoffered != "" { // else its arguments are read as those of that tool
		names = append(names, e.otherNames()...)
	}
	for _, name := range names {
		if tool := e.policy.rules.Known.Tool(name); tool != nil && tool.Typed {
			tools = append(tools, tool)
		}
	}
	return tools
}

// inserter inserts the values of secrets into one call.
type inserter struct {
	tool     *call.Tool // without a kind if it is unknown
	programs *shell.Programs
	values   map[string]string
}

// arguments returns the arguments of a call with values in them.
func (in *inserter) arguments(call Call) (string, error) {
	if call.FreeText {
		return in.resource(call.Arguments)
	}
	if len(match.CheckArguments(call.Arguments)) > 0 {
		return "", errors.New("the arguments are not strict JSON")
	}
	texts, err := readStrings(call.Arguments)
	if err != nil {
		return "", err
	}
	out, at := []byte(nil), 0
	for i, item := range texts {
		text, err := in.text(texts, i)
		if err != nil {
			return "", err
		}
		if text == item.text {
			continue
		}
		quoted, err := jsontext.AppendQuote(nil, text)
		if err != nil {
			return "", errors.New("the value is not valid UTF-8")
		}
		out = append(append(out, call.Arguments[at:item.from]...), quoted...)
		at = item.to
	}
	return string(out) + call.Arguments[at:], nil
}

// stringValue is a string among the arguments that is the value of a member or an element.
type stringValue struct {
	path     []string // names and indexes
	text     string
	from, to int // with the quotes
}

// readStrings returns the strings of a JSON text that are values.
func readStrings(text string) (found []stringValue, err error) {
	if !strings.Contains(text, "secret") { // the usual case
		return nil, nil
	}
	d := jsontext.NewDecoder(bytes.NewReader([]byte(text)), jsontext.AllowDuplicateNames(true))
	for d.PeekKind() != 0 {
		if d.PeekKind() != '"' {
			if _, err := d.ReadToken(); err != nil {
				return nil, fmt.Errorf("read the arguments: %w", err)
			}
			continue
		}
		raw, err := d.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("read the arguments: %w", err)
		}
		if in, n := d.StackIndex(d.StackDepth()); in == '{' && n%2 == 1 {
			continue
		}
		end := int(d.InputOffset())
		item := stringValue{from: end - len(raw), to: end}
		for token := range d.StackPointer().Tokens() {
			item.path = append(item.path, token)
		}
		value, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return nil, fmt.Errorf("read the arguments: %w", err)
		}
		item.text = string(value)
		found = append(found, item)
	}
	if int(d.InputOffset()) < len(strings.TrimRight(text, " \t\r\n")) {
		return nil, errors.New("read the arguments: they are not JSON")
	}
	return found, nil
}

// text returns a string of the arguments with values in it.
func (in *inserter) text(all []stringValue, i int) (string, error) {
	item := &all[i]
	if isField(in.tool.Workdir, item.path) {
		return in.same(item.text)
	}
	if isField(in.tool.Fields, item.path) {
		return in.resource(item.text)
	}
	if n := len(item.path); n > 1 && isField(in.tool.Fields, item.path[:n-1]) { // an element of a list
		if in.tool.Kind != call.Shell || in.tool.Each {
			return in.resource(item.text)
		}
		return in.word(all, i)
	}
	return in.literal(item.text)
}

// isField reports whether a path is one of the fields, in any letter case.
func isField(fields [][]string, path []string) bool {
	return slices.ContainsFunc(fields, func(field []string) bool { return slices.EqualFunc(field, path, strings.EqualFold) })
}

// resource inserts values into what the tool is about.
func (in *inserter) resource(text string) (string, error) {
	switch {
	case in.tool.Patch:
		before, _ := match.PatchPaths(text)
		out, err := in.literal(text)
		if after, _ := match.PatchPaths(out); err == nil && !slices.Equal(before, after) {
			return "", errors.New("the value would change the path of a file")
		}
		return out, err
	case in.tool.Kind == call.Path:
		return in.same(text)
	case in.tool.Kind == call.URL:
		return in.url(text)
	case in.tool.Kind == call.Shell:
		return in.script(text)
	}
	return in.literal(text)
}

// places returns the handles of a text that have a value, the last first.
func (in *inserter) places(text string) []mask.Place {
	found := slices.DeleteFunc(mask.Handles(text), func(at mask.Place) bool { return in.values[at.Name] == "" })
	slices.Reverse(found)
	return found
}

// same refuses a text with handles.
func (in *inserter) same(text string) (string, error) {
	if len(in.places(text)) > 0 {
		return "", errors.New("it is in the path of a file, which a secret cannot change")
	}
	return text, nil
}

func (in *inserter) literal(text string) (string, error) {
	for _, at := range in.places(text) {
		text = text[:at.From] + in.values[at.Name] + text[at.To:]
	}
	return text, nil
}

// url inserts values with percent-encoding. They do not change scheme, host or port, nor the
// folders of the path.
func (in *inserter) url(text string) (string, error) {
	const marker = "heldcallmarker"
	for _, at := range in.places(text) {
		value := in.values[at.Name]
		out := text[:at.From] + strings.ReplaceAll(url.QueryEscape(value), "+", "%20") + text[at.To:]
		before, _ := match.ParseURL(text[:at.From] + marker + text[at.To:])
		after, _ := match.ParseURL(out)
		path := before.Path
		before.Path = strings.ReplaceAll(path, marker, value)
		if before.Host == "" || before != after || (path != before.Path && strings.ContainsAny(value, `/\`)) {
			return "", errors.New("it is at a place of the URL where the value would change the host or the path")
		}
		text = out
	}
	return text, nil
}

// maxHandles bounds the handles in a script: a script is parsed several times for each.
const maxHandles = 20

func (in *inserter) script(text string) (string, error) {
	places := in.places(text)
	if len(places) > maxHandles {
		return "", fmt.Errorf("the command has more than %d handles", maxHandles)
	}
	for _, at := range places {
		out, err := in.programs.Insert(text, at.From, at.To, in.values[at.Name])
		if err != nil {
			return "", err
		}
		text = out
	}
	return text, nil
}

// word inserts values into a word of a command that is a list of words. The last word of
// bash -c SCRIPT is a script.
func (in *inserter) word(all []stringValue, i int) (string, error) {
	path := all[i].path
	var words []string
	at := 0
	for k := range all {
		if p := all[k].path; len(p) == len(path) && slices.Equal(p[:len(p)-1], path[:len(path)-1]) {
			if k == i {
				at = len(words)
			}
			words = append(words, all[k].text)
		}
	}
	if _, isScript := shell.ShellCall(words); isScript && at == 2 {
		return in.script(words[at])
	}
	if len(in.places(words[at])) > 0 && at == 0 {
		return "", errors.New("it is the name of the program")
	}
	for _, p := range in.places(words[at]) {
		out, err := in.programs.InsertWord(words, at, p.From, p.To, in.values[p.Name])
		if err != nil {
			return "", err
		}
		words[at] = out
	}
	return words[at], nil
}
