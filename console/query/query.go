// Package query reads the queries of lists and streams.
package query

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"
)

// ErrCursor refuses a cursor that no list returned.
var ErrCursor = errors.New("is not a next_cursor of this list; leave it out to begin again")

// MaxLimit is the most records of a page.
const MaxLimit = 500

// Parameter is one name that a query may give a value.
type Parameter struct {
	Name string
	Read func(value string) error // its error follows the name
}

// Read reads a raw query of parameters, each of which is given once. A name that is
// not known is an error: a misspelt filter that is ignored lists too much. kind is
// the word for a parameter in errors.
func Read(raw, kind string, known []Parameter) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return errors.New("the query is not well formed; encode it as name=value&name=value")
	}
	for name, given := range values {
		i := slices.IndexFunc(known, func(p Parameter) bool { return p.Name == name })
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

func namesOf(known []Parameter) string {
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

// Of is a parameter whose value is stored in to.
func Of[T any](name string, to *T, parse func(value string) (T, error)) Parameter {
	return Parameter{name, func(value string) (err error) {
		*to, err = parse(value)
		return err
	}}
}

// Text accepts every value.
func Text(value string) (string, error) { return value, nil }

// OneOf accepts the allowed values, and the empty one.
func OneOf[T ~string](allowed ...T) func(value string) (T, error) {
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

// RecordID accepts the id of a record as a cursor, and the empty value.
func RecordID(value string) (string, error) {
	if _, err := ulid.ParseStrict(value); value != "" && err != nil {
		return "", ErrCursor
	}
	return value, nil
}

// Limit accepts the number of records of a page.
func Limit(value string) (int, error) {
	limit, err := strconv.Atoi(value)
	if err != nil || limit < 1 || limit > MaxLimit {
		return 0, fmt.Errorf("%q is not a number from 1 to %d", value, MaxLimit)
	}
	return limit, nil
}
