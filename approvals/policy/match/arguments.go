package match

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of arguments; larger ones are never allowed.
const (
	MaxArguments = 4 << 20 // bytes
	MaxDepth     = 100     // objects and arrays within each other
)

// CheckArguments returns the reasons, one sentence each, why programs may read arguments
// differently, or none. Blank text is read as {}.
func CheckArguments(text string) []string {
	doubts, numbers := Doubts(text)
	return append(doubts, numbers...)
}

// Doubts is [CheckArguments] with the doubts about numbers apart.
func Doubts(text string) (doubts, numbers []string) {
	if len(text) > MaxArguments {
		return []string{fmt.Sprintf("The arguments are larger than %d MiB, the limit for judging.", MaxArguments>>20)}, nil
	}
	var room [maxPlain]Member
	if _, plain := plainMembers(text, room[:0]); plain {
		return nil, nil
	}
	return doubtsOf(text)
}

// doubtsOf is [Doubts] of arguments that are not plain.
func doubtsOf(text string) (doubts, numbers []string) {
	c := argumentsCheck{dec: decodeString(OrEmptyObject(text))}
	defer c.dec.release()
	if c.dec.PeekKind() != '{' {
		return []string{"The arguments are not a JSON object."}, nil
	}
	if err := c.walk(); err != nil {
		c.doubt(&c.doubts, InvalidJSON+": "+Visible(problemOf(err))+".")
	}
	return c.doubts, c.numbers
}

// InvalidJSON is the sentence about arguments that are not strict JSON, without its cause and
// full stop. Package intercept has the same.
const InvalidJSON = "The arguments are not valid JSON"

func problemOf(err error) string {
	var mistake *jsontext.SyntacticError
	if errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &mistake) {
		return "duplicate key " + strconv.Quote(mistake.JSONPointer.LastToken())
	}
	return strings.TrimPrefix(err.Error(), "jsontext: ")
}

// OrEmptyObject returns the text, or {} if it is blank, which some providers send.
func OrEmptyObject(text string) string {
	if strings.Trim(text, " \t\r\n") == "" {
		return "{}"
	}
	return text
}

// argumentsCheck finds text that the strict decoder accepts and that programs read differently.
type argumentsCheck struct {
	dec     *decoder
	names   []map[string]struct{} // folded, one map an open object or array
	doubts  []string
	numbers []string // doubts about numbers
}

// walk reads one value and finds that nothing follows it.
func (c *argumentsCheck) walk() error {
	for {
		if err := c.token(); err != nil {
			return err
		}
		switch depth := c.dec.StackDepth(); {
		case depth > MaxDepth:
			return fmt.Errorf("nested deeper than %d", MaxDepth)
		case depth == 0:
			if _, err := c.dec.ReadToken(); !errors.Is(err, io.EOF) {
				return errors.New("something follows the object")
			}
			return nil
		}
	}
}

func (c *argumentsCheck) token() error {
	in, index := c.dec.StackIndex(c.dec.StackDepth())
	isName := in == '{' && index%2 == 0
	t, err := c.dec.ReadToken()
	if err != nil {
		return err
	}
	switch t.Kind() {
	case '{', '[':
		c.names = append(c.names, nil)
	case '}', ']':
		c.names = c.names[:len(c.names)-1]
	case '"':
		if isName {
			c.name(t.String())
		}
	case '0':
		c.number(t.String())
	}
	return nil
}

// name checks a name. Some decoders ignore letter case, so two names that differ in it only are
// ambiguous.
func (c *argumentsCheck) name(name string) {
	seen := &c.names[len(c.names)-1]
	if *seen == nil {
		*seen = map[string]struct{}{}
	}
	folded := FoldCase(name)
	if _, twice := (*seen)[folded]; twice {
		c.doubt(&c.doubts, fmt.Sprintf("The arguments name %s twice in different letter case.", strconv.Quote(name)))
	}
	(*seen)[folded] = struct{}{}
}

// number checks a number. Some partial JSON parsers lose an exponent, and many programs read a
// number as a double.
func (c *argumentsCheck) number(text string) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.ContainsAny(text, "eE") || plainNumber(text) != plainNumber(strconv.FormatFloat(f, 'f', -1, 64)) {
		c.doubt(&c.numbers, "The arguments contain the number "+Shorten(text, 40)+", which programs read differently.")
	}
}

// plainNumber removes the sign of zero and trailing zeros of a fraction.
func plainNumber(text string) string {
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}

func (c *argumentsCheck) doubt(to *[]string, text string) {
	if len(*to) < 8 {
		*to = append(*to, text)
	}
}

// Canonical is strict arguments on one line: names sorted, numbers as written.
func Canonical(text string) string {
	v := jsontext.Value(OrEmptyObject(text))
	if err := v.Format(jsontext.ReorderRawObjects(true)); err != nil {
		return text
	}
	return string(v)
}
