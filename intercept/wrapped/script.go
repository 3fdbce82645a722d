package wrapped

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// codeTool is the tool of Codex's code mode. Its input is JavaScript that calls tools by
// tools.NAME(argument).
const (
	codeTool      = "exec"
	codeNamespace = "functions." // in which newer versions offer it
)

// codeTools are the names of tools whose names in a script are certain. Codex writes _ for other
// characters, so a name of an MCP server may stand for several.
var codeTools = strings.Fields("exec_command write_stdin apply_patch update_plan view_image list_dir read_file grep_files request_user_input shell shell_command spawn_agent send_input wait_agent close_agent tool_search")

// runsScripts reports whether a definition is that of the tool of Codex.
func runsScripts(tool intercept.Tool) bool {
	return tool.FreeText && strings.Contains(tool.Description, "JavaScript")
}

// scriptCalls returns the calls of tools in a script: a list of awaited calls with literal arguments,
// the results of which are only shown. A script that does anything else is not read.
func scriptCalls(src string) ([]intercept.Call, bool) {
	tokens, ok := tokenize(src)
	if !ok {
		return nil, false
	}
	s := &script{tokens: tokens}
	for s.peek().kind != 0 {
		if s.accept(';') {
			continue
		}
		if !s.statement() || !s.ends() {
			return nil, false
		}
	}
	return s.calls, len(s.calls) > 0
}

type script struct {
	tokens  []token
	calls   []intercept.Call
	results []string // names of results
	depth   int      // of the literal that is read
}

func (s *script) peek() token { return s.tokens[0] }

func (s *script) next() token {
	t := s.tokens[0]
	if t.kind != 0 {
		s.tokens = s.tokens[1:]
	}
	return t
}

// accept reads a sign if it is next.
func (s *script) accept(sign byte) bool {
	if s.peek().kind != sign {
		return false
	}
	s.next()
	return true
}

// word reads a name if it is next.
func (s *script) word(name string) bool {
	if t := s.peek(); t.kind != 'a' || t.text != name {
		return false
	}
	s.next()
	return true
}

// ends reports whether a statement ends here.
func (s *script) ends() bool {
	t := s.peek()
	return t.kind == ';' || t.kind == 0 || (t.newline && t.kind == 'a')
}

func (s *script) statement() bool {
	first := s.peek()
	switch {
	case first.kind != 'a':
		return false
	case first.text == "const" || first.text == "let" || first.text == "var":
		s.next()
		return s.declaration()
	case first.text == "await":
		return s.awaited()
	case first.text == "text" || first.text == "notify" || first.text == "image":
		s.next()
		return s.accept('(') && s.shown() && s.accept(')')
	}
	return false
}

// reserved are names that mean something else in a script.
var reserved = strings.Fields("tools text notify image JSON Promise Object Array String await async const let var function return if else for while do new class this null true false undefined eval arguments globalThis exit store load yield_control ALL_TOOLS import export")

// declaration reads NAME = await ..., or [NAME, NAME] = await ...
func (s *script) declaration() bool {
	var names []string
	if s.accept('[') {
		for ok := true; ok; ok = s.accept(',') {
			names = append(names, s.next().text)
		}
		if !s.accept(']') {
			return false
		}
	} else {
		names = []string{s.next().text}
	}
	for _, name := range names {
		if name == "" || !isNameByte(name[0]) || isDigit(name[0]) || slices.Contains(reserved, name) || slices.Contains(s.results, name) {
			return false
		}
		s.results = append(s.results, name)
	}
	return s.accept('=') && s.awaited()
}

// awaited reads await tools.NAME(...), or await Promise.all([tools.NAME(...), ...]).
func (s *script) awaited() bool {
	if !s.word("await") {
		return false
	}
	if !s.word("Promise") {
		return s.call()
	}
	if !s.accept('.') || !s.word("all") || !s.accept('(') || !s.accept('[') {
		return false
	}
	for s.peek().kind != ']' {
		if !s.call() || (s.peek().kind != ']' && !s.accept(',')) {
			return false
		}
	}
	return s.accept(']') && s.accept(')')
}

// call reads tools.NAME(...).
func (s *script) call() bool {
	if !s.word("tools") || !s.accept('.') {
		return false
	}
	name := s.next()
	if name.kind != 'a' || (strings.ContainsAny(name.text, "_$") && !slices.Contains(codeTools, name.text)) || !s.accept('(') {
		return false
	}
	c := intercept.Call{Name: name.text, Arguments: "{}"}
	switch t := s.peek(); t.kind {
	case ')':
	case '"':
		s.next()
		c.Arguments, c.FreeText = t.text, true
	case '{':
		var ok bool
		if c.Arguments, ok = s.literal(); !ok {
			return false
		}
	default:
		return false
	}
	s.calls = append(s.calls, c)
	return s.accept(')')
}

// maxLiteral is how deep a literal may be.
const maxLiteral = 32

// literal reads a literal and returns it as JSON.
func (s *script) literal() (string, bool) {
	switch t := s.next(); t.kind {
	case '"':
		return strictjson.Quote(t.text), true
	case '0':
		return t.text, true
	case '-':
		number := s.next()
		return "-" + number.text, number.kind == '0' && strings.Trim(number.text, "0.") != ""
	case 'a':
		return t.text, t.text == "true" || t.text == "false" || t.text == "null"
	case '[':
		return s.list(']', s.literal)
	case '{':
		var keys []string
		return s.list('}', func() (string, bool) {
			key := s.next()
			if (key.kind != 'a' && key.kind != '"') || key.text == "__proto__" || slices.Contains(keys, key.text) || !s.accept(':') {
				return "", false
			}
			keys = append(keys, key.text)
			value, ok := s.literal()
			return strictjson.Quote(key.text) + ":" + value, ok
		})
	}
	return "", false
}

// list reads the rest of an array or object.
func (s *script) list(end byte, item func() (string, bool)) (string, bool) {
	if s.depth++; s.depth > maxLiteral {
		return "", false
	}
	defer func() { s.depth-- }()
	var items []string
	for !s.accept(end) {
		one, ok := item()
		if !ok || (s.peek().kind != end && !s.accept(',')) {
			return "", false
		}
		items = append(items, one)
	}
	return map[byte]string{']': "[", '}': "{"}[end] + strings.Join(items, ",") + string(end), true
}

// shown reads the argument of text: literals, results and parts of them, joined by +, also as JSON.
func (s *script) shown() bool {
	for ok := true; ok; ok = s.accept('+') {
		if !s.operand() {
			return false
		}
	}
	return true
}

func (s *script) operand() bool {
	switch t := s.next(); t.kind {
	case '"', '0':
		return true
	case '$':
		return !slices.ContainsFunc(strings.Split(t.text, " "), func(path string) bool { return !s.isPart(path) })
	case 'a':
		if t.text == "JSON" {
			return s.accept('.') && s.word("stringify") && s.accept('(') && s.shown() && s.accept(')')
		}
		return slices.Contains(s.results, t.text) && s.part()
	}
	return false
}

// part reads the rest of a part of a result: names and numbers.
func (s *script) part() bool {
	for {
		switch {
		case s.accept('.'):
			if s.next().kind != 'a' {
				return false
			}
		case s.accept('['):
			if s.next().kind != '0' || !s.accept(']') {
				return false
			}
		default:
			return true
		}
	}
}

// isPart reports whether the text of ${...} is a result or a part of one.
func (s *script) isPart(path string) bool {
	names := strings.Split(path, ".")
	return slices.Contains(s.results, names[0]) && !slices.ContainsFunc(names, func(name string) bool {
		return name == "" || strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf || !isNameByte(byte(r)) }) >= 0
	})
}
