package toolschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of a schema: the time and memory of its compiler grow faster than any of these.
// Schemas of real tools are far below.
const (
	maxSchemaDepth    = 64   // of JSON, for arguments too
	maxSubschemas     = 2000 // objects and booleans, each of which may be a schema
	maxSchemaRefs     = 256  // different references; each may be compiled separately
	maxSchemaPatterns = 64
	maxPattern        = 256  // bytes of a pattern
	maxPatternSize    = 4096 // characters of a pattern with expanded repeats
	maxSchemaPath     = 1024 // bytes of the names in the path to a schema; each schema stores its path
	maxNumber         = 32   // bytes of a number's text, for arguments too
	maxExponent       = 308  // of a number, for arguments too
)

// drafts are the dialects of JSON Schema that are read, without the scheme.
var drafts = []string{
	"json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema",
	"json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema", "json-schema.org/draft-04/schema",
}

// knownPlace matches references to places of schemas in every dialect. For another place the
// compiler parses and checks the schema again from there.
var knownPlace = regexp.MustCompile(`^(?:/(?:\$defs|definitions|properties)/[^/]+|/(?:items|additionalProperties|not)|/(?:anyOf|allOf|oneOf)/(?:0|[1-9][0-9]*))*$`)

// schemaScan reads the text of a schema before it is compiled. It takes every member with the
// name of a keyword for a keyword, so it may count too many, never too few.
type schemaScan struct {
	subschemas, patterns int
	refs                 map[string]bool
	oldDraft, defs       bool                       // a draft that has no $defs; a reference to one
	names                [maxSchemaDepth + 1]string // of the members that were opened, by depth
}

// scanSchema returns an error for a schema that is too costly to compile.
func scanSchema(schema json.RawMessage) error {
	scan := &schemaScan{refs: map[string]bool{}}
	if err := eachToken(schema, scan.token); err != nil {
		return err
	}
	if scan.oldDraft && scan.defs {
		return errors.New("its dialect has no $defs")
	}
	return nil
}

// scanArguments returns an error for arguments that are too costly to check.
func scanArguments(arguments json.RawMessage) error {
	return eachToken(arguments, func(*jsontext.Decoder, jsontext.Token) error { return nil })
}

// eachToken reads JSON of bounded depth and numbers. Names may be repeated: the compiler uses
// the last one, and all of them count for the limits.
func eachToken(text json.RawMessage, visit func(*jsontext.Decoder, jsontext.Token) error) error {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if d.StackDepth() > maxSchemaDepth {
			return fmt.Errorf("nested deeper than %d", maxSchemaDepth)
		}
		if token.Kind() == '0' {
			if err := checkNumber(token.String()); err != nil {
				return err
			}
		}
		if err := visit(d, token); err != nil {
			return err
		}
	}
}

// checkNumber refuses numbers with many digits.
func checkNumber(number string) error {
	if len(number) > maxNumber {
		return fmt.Errorf("a number of more than %d characters", maxNumber)
	}
	_, exponent, scientific := strings.Cut(strings.ToLower(number), "e")
	if !scientific {
		return nil
	}
	if n, err := strconv.Atoi(exponent); err != nil || n > maxExponent || n < -maxExponent {
		return fmt.Errorf("a number with an exponent beyond %d", maxExponent)
	}
	return nil
}

// token counts one token of a schema.
func (s *schemaScan) token(d *jsontext.Decoder, token jsontext.Token) error {
	depth := d.StackDepth()
	within, length := d.StackIndex(depth)
	switch kind := token.Kind(); {
	case kind == '[':
		s.names[depth] = ""
	case kind == '{', kind == 't', kind == 'f':
		if s.subschemas++; s.subschemas > maxSubschemas {
			return fmt.Errorf("more than %d schemas", maxSubschemas)
		}
	case kind != '"' || within != '{':
	case length%2 == 0:
		return s.keyword(s.names[depth], token.String())
	default:
		s.names[depth] = token.String()
		path := 0
		for _, name := range s.names[:depth+1] {
			path += len(name)
		}
		if path > maxSchemaPath {
			return fmt.Errorf("names of more than %d bytes lead to a schema", maxSchemaPath)
		}
		if s.names[depth-1] == "patternProperties" {
			return s.pattern(s.names[depth])
		}
	}
	return nil
}

// keyword checks a member whose value is a string.
func (s *schemaScan) keyword(name, value string) error {
	switch name {
	case "pattern":
		return s.pattern(value)
	case "$schema":
		draft := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(value, "https://"), "http://"), "#")
		if !slices.Contains(drafts, draft) {
			return fmt.Errorf("%.80q is not a known dialect of JSON Schema", value)
		}
		s.oldDraft = s.oldDraft || strings.Contains(draft, "/draft-0")
	case "$dynamicRef", "$recursiveRef":
		return fmt.Errorf("%s is not followed", name)
	case "$ref":
		return s.ref(value)
	}
	return nil
}

func (s *schemaScan) pattern(pattern string) error {
	if s.patterns++; s.patterns > maxSchemaPatterns {
		return fmt.Errorf("more than %d patterns", maxSchemaPatterns)
	}
	if len(pattern) > maxPattern {
		return fmt.Errorf("a pattern of more than %d bytes", maxPattern)
	}
	return nil
}

func (s *schemaScan) ref(to string) error {
	pointer, local := strings.CutPrefix(to, "#")
	if !local {
		return fmt.Errorf("%.80q: references to other documents are not followed", to)
	}
	if len(pointer) > maxSchemaPath {
		return fmt.Errorf("a reference of more than %d bytes", maxSchemaPath)
	}
	if s.refs[pointer] {
		return nil
	}
	s.refs[pointer] = true
	if strings.HasPrefix(pointer, "/") && !knownPlace.MatchString(pointer) {
		return fmt.Errorf("%.80q does not refer to a usual place of a schema", to)
	}
	s.defs = s.defs || strings.Contains(pointer, "/$defs/")
	if len(s.refs) > maxSchemaRefs {
		return errors.New("too many references")
	}
	return nil
}

// sizedPattern is a compiled pattern with its number of characters: the cost of a match at
// one character of a text.
type sizedPattern struct {
	*regexp.Regexp
	size int
}

// compilePattern compiles a pattern to check arguments with.
func compilePattern(pattern string) (jsonschema.Regexp, error) {
	size, err := sizePattern(pattern)
	if err != nil {
		return nil, err
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return &sizedPattern{compiled, size}, nil
}

// anyText is a pattern that is not compiled because it is never matched.
type anyText string

func (p anyText) String() string        { return string(p) }
func (anyText) MatchString(string) bool { return true }

// readPattern checks the size of a pattern and does not compile it.
func readPattern(pattern string) (jsonschema.Regexp, error) {
	_, err := sizePattern(pattern)
	return anyText(pattern), err
}

// sizePattern returns the size of a pattern before it is compiled.
func sizePattern(pattern string) (int, error) {
	if len(pattern) > maxPatternSize {
		return 0, fmt.Errorf("a pattern of more than %d bytes", maxPatternSize)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	size := expandedSize(parsed)
	if size > maxPatternSize {
		return 0, fmt.Errorf("a pattern of more than %d characters with expanded repeats", maxPatternSize)
	}
	return size, nil
}

// expandedSize returns the number of characters of a pattern with expanded repeats. The
// parser limits the product of nested counts to a thousand, so this does not overflow.
func expandedSize(re *syntax.Regexp) int {
	size := 1
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, sub := range re.Sub {
		size += expandedSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return size
}
