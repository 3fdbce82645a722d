package watch

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// part is one part of a call as a person reads it. Its texts are those of the
// model; what draws them escapes them.
type part struct {
	label string
	text  string     // of a script, a content, an argument
	diff  []diffLine // of an edit or a patch
}

type member struct {
	name  string
	value json.RawMessage
}

var (
	scriptNames  = []string{"command", "cmd", "script", "commands", "CommandLine", "code"}
	patchNames   = []string{"patch", "input", "patchText", "diff"}
	contentNames = []string{"content", "contents", "file_text", "insert_text", "new_source", "code_edit", "text"}
	pathNames    = []string{"file_path", "filePath", "path", "target_file", "notebook_path", "TargetFile", "absolute_path", "filename"}
	editNames    = [][2]string{{"old_string", "new_string"}, {"oldString", "newString"}, {"old_str", "new_str"}, {"oldText", "newText"}, {"old_text", "new_text"}, {"search", "replace"}}
)

// present returns the arguments of a call in the order in which they are best read: the
// path first, then a script, a difference or a content, then the other arguments. None is left
// out.
func present(r *approvals.Request) []part {
	members, ok := membersOf(r.Arguments)
	if !ok {
		text := plainText(r.Arguments)
		if isPatch(text) && r.Kind != approvals.KindResult {
			return []part{{label: "patch", diff: patchLines(text)}}
		}
		if r.Details.FreeText {
			label := "input"
			if r.Kind == approvals.KindResult {
				label = approvals.WordsFor(r.Kind).Subject
			}
			return []part{{label: label, text: text}}
		}
		return []part{{label: "arguments (not valid JSON; as the model wrote them)", text: text}}
	}
	var parts []part
	take := func(names []string, show func(name, text string) (part, bool)) bool {
		for i, m := range members {
			text, isText := textOf(m.value)
			if !isText || !slices.Contains(names, m.name) {
				continue
			}
			if shown, ok := show(m.name, text); ok {
				parts = append(parts, shown)
				members = slices.Delete(members, i, i+1)
				return true
			}
		}
		return false
	}
	whole := func(name, text string) (part, bool) { return part{label: name, text: text}, true }
	take(pathNames, whole)
	if edit, rest, ok := takeEdit(members); ok {
		parts, members = append(parts, edit), rest
	} else if !take(patchNames, func(name, text string) (part, bool) {
		return part{label: name, diff: patchLines(text)}, isPatch(text)
	}) && !take(scriptNames, whole) {
		take(contentNames, whole)
	}
	for _, m := range members {
		parts = append(parts, part{label: m.name, text: plainText(m.value)})
	}
	return parts
}

func takeEdit(members []member) (edit part, rest []member, ok bool) {
	find := func(name string) int {
		return slices.IndexFunc(members, func(m member) bool { _, isText := textOf(m.value); return isText && m.name == name })
	}
	for _, names := range editNames {
		before, after := find(names[0]), find(names[1])
		if before < 0 || after < 0 {
			continue
		}
		a, _ := textOf(members[before].value)
		b, _ := textOf(members[after].value)
		rest = slices.DeleteFunc(slices.Clone(members), func(m member) bool { return m.name == names[0] || m.name == names[1] })
		return part{label: names[0] + " to " + names[1], diff: diffLines(a, b)}, rest, true
	}
	return part{}, members, false
}

// membersOf reads an object; anything else is none.
func membersOf(arguments json.RawMessage) (members []member, ok bool) {
	decoder := jsontext.NewDecoder(bytes.NewReader(arguments))
	if start, err := decoder.ReadToken(); err != nil || start.Kind() != '{' {
		return nil, false
	}
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, false
		}
		text := name.String()
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, false
		}
		members = append(members, member{text, json.RawMessage(bytes.Clone(value))})
	}
	end, err := decoder.ReadToken()
	return members, err == nil && end.Kind() == '}'
}

func textOf(value json.RawMessage) (text string, ok bool) {
	if len(value) == 0 || value[0] != '"' || json.Unmarshal(value, &text) != nil {
		return "", false
	}
	return text, true
}

// plainText is a text as it is, and any other value as JSON over several lines.
func plainText(value json.RawMessage) string {
	if text, ok := textOf(value); ok {
		return text
	}
	return sanitize.Indented(value)
}
