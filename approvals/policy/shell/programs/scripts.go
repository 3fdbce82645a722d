package programs

import "strings"

// isPrintScript reports whether a script of a kind only prints what it reads.
func isPrintScript(kind, script string) bool {
	switch kind {
	case "sed":
		return isPrintSed(script)
	case "awk":
		return isPrintAwk(script)
	case "printf":
		return printsTexts(script)
	}
	return false
}

// printsTexts reports whether a format of printf has conversions of texts only. %n sets a variable, and zsh
// evaluates numbers and widths as expressions that may set one.
func printsTexts(format string) bool {
	for {
		_, rest, found := strings.Cut(format, "%")
		if !found {
			return true
		}
		rest = strings.TrimLeft(rest, "-0123456789.")
		if rest == "" || strings.IndexByte("sbcq%", rest[0]) < 0 {
			return false
		}
		format = rest[1:]
	}
}

// awkWords are the words in a script of awk that run, read or show something else than its input.
var awkWords = []string{"system", "getline", "ENVIRON", "PROCINFO", "SYMTAB", "FUNCTAB", "ARGV", "ARGC", "ARGIND", "@", "|", "`", ">>", "/inet"}

// isPrintAwk reports whether a script of awk has none of awkWords, but ||, and no > within braces,
// where it may be a redirection.
func isPrintAwk(script string) bool {
	rest := strings.ReplaceAll(script, "||", " ")
	for _, word := range awkWords {
		if strings.Contains(rest, word) {
			return false
		}
	}
	_, actions, _ := strings.Cut(rest, "{")
	return !strings.Contains(strings.ReplaceAll(actions, ">=", " "), ">")
}

// isPrintSed reports whether a script of sed consists of addresses, p, d, q, =, s, y, groups, and a, i
// and c with a text in their line. s may have no flag that runs or writes.
func isPrintSed(script string) bool {
	s := sedScript{rest: script}
	for {
		s.skip(" ;\n")
		if s.rest == "" {
			return s.open == 0
		}
		if !s.command() {
			return false
		}
	}
}

type sedScript struct {
	rest string
	open int // groups
}

func (s *sedScript) skip(any string) { s.rest = strings.TrimLeft(s.rest, any) }

func (s *sedScript) next() byte {
	if s.rest == "" {
		return 0
	}
	c := s.rest[0]
	s.rest = s.rest[1:]
	return c
}

func (s *sedScript) command() bool {
	if !s.addresses() {
		return false
	}
	switch c := s.next(); c {
	case '{':
		s.open++
		return true
	case '}':
		if s.open--; s.open < 0 {
			return false
		}
	case 'p', 'd', '=':
	case 'q':
		s.skip("0123456789")
	case 'a', 'i', 'c':
		return s.text()
	case 's', 'y':
		if !s.substitution() {
			return false
		}
		if c == 's' {
			s.skip("gpIiMm0123456789")
		}
	default:
		return false
	}
	s.skip(" ")
	return s.rest == "" || strings.IndexByte(";\n}", s.rest[0]) >= 0
}

// text reads the text of a command, up to the end of the line. A backslash could continue it.
func (s *sedScript) text() bool {
	line, rest, _ := strings.Cut(s.rest, "\n")
	s.rest = rest
	return strings.TrimSpace(line) != "" && !strings.Contains(line, `\`)
}

func (s *sedScript) addresses() bool {
	for s.rest != "" {
		switch c := s.rest[0]; {
		case strings.IndexByte("0123456789$,~+! ", c) >= 0:
			s.rest = s.rest[1:]
		case c == '/':
			s.rest = s.rest[1:]
			if !s.until('/', true) {
				return false
			}
			s.skip("I")
		default:
			return true
		}
	}
	return false
}

func (s *sedScript) substitution() bool {
	delimiter := s.next()
	if strings.IndexByte("/|,#:@!%_~+", delimiter) < 0 || delimiter == 0 {
		return false
	}
	return s.until(delimiter, true) && s.until(delimiter, false)
}

// until skips the text up to a delimiter. Programs differ on a delimiter within [...] of an
// expression, so brackets must be closed before it.
func (s *sedScript) until(delimiter byte, expression bool) bool {
	for i := 0; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '\n':
			return false
		case c == '\\':
			if i++; i == len(s.rest) || s.rest[i] == '\n' {
				return false
			}
		case c == delimiter:
			s.rest = s.rest[i+1:]
			return true
		case c == '[' && expression:
			end := bracketEnd(s.rest[i:])
			if end < 0 || strings.IndexByte(s.rest[i:i+end], delimiter) >= 0 {
				return false
			}
			i += end
		}
	}
	return false
}

// bracketEnd is the index of the ] that ends the bracket expression with which a text begins, or -1
// if there is none, or programs may differ on it.
func bracketEnd(text string) int {
	from := 1
	if strings.HasPrefix(text[from:], "^") {
		from++
	}
	if strings.HasPrefix(text[from:], "]") {
		from++
	}
	end := strings.IndexByte(text[from:], ']')
	if end < 0 || strings.ContainsAny(text[from:from+end], "[\\\n") {
		return -1
	}
	return from + end
}
