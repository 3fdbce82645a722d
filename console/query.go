package console

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"
)

// errCursor refuses a cursor that no list returned.
var errCursor = errors.New("is not a next_cursor of this list; leave it out to begin again")

// maxPage is the most records of a page.
const maxPage = 500

// parameter is one name that a query may give a value.
type parameter struct {
	Name string
	Read func(value string) error // its error follows the name
}

// readQuery reads a raw query of parameters, each of which is given once. A name that is
// not known is an error: a misspelt filter that is ignored lists too much. kind is
// the word for a parameter in errors.
func readQuery(raw, kind string, known []parameter) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return errors.New("the query is not well formed; encode it as name=value&name=value")
	}
	for name, given := range values {
		i := slices.IndexFunc(known, func(p parameter) bool { return p.Name == name })
		switch {
		case i < 0:
			return fmt.Errorf("%s: is not a %s; use %s", name, kind, namesOf(known))
		case len(given) > 1:
			return fmt.Errorf("%s: is given more than once; give one value", name)
		}
		if err := known[i].Read(given[0]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func namesOf(known []parameter) string {
	names := make([]string, len(known))
	for i, p := range known {
		names[i] = p.Name
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// queryValue is a parameter whose value is stored in to.
func queryValue[T any](name string, to *T, parse func(value string) (T, error)) parameter {
	return parameter{name, func(value string) (err error) {
		*to, err = parse(value)
		return err
	}}
}

// anyText accepts every value.
func anyText(value string) (string, error) { return value, nil }

// oneOf accepts the allowed values, and the empty one.
func oneOf[T ~string](allowed ...T) func(value string) (T, error) {
	return func(value string) (T, error) {
		if value == "" || slices.Contains(allowed, T(value)) {
			return T(value), nil
		}
		names := make([]string, len(allowed))
		for i, a := range allowed {
			names[i] = string(a)
		}
		return "", fmt.Errorf("%q is not known; use %s", value, strings.Join(names, ", "))
	}
}

// recordID accepts the id of a record as a cursor, and the empty value.
func recordID(value string) (string, error) {
	if _, err := ulid.ParseStrict(value); value != "" && err != nil {
		return "", errCursor
	}
	return value, nil
}

// pageLimit accepts the number of records of a page.
func pageLimit(value string) (int, error) {
	limit, err := strconv.Atoi(value)
	if err != nil || limit < 1 || limit > maxPage {
		return 0, fmt.Errorf("%q is not a number from 1 to %d", value, maxPage)
	}
	return limit, nil
}
