package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/heldcall/heldcall/console/problem"
)

// errCursor refuses a cursor that no list returned.
var errCursor = errors.New("is not a next_cursor of this list; leave it out to begin again")

// parameter is one name that a query may give a value.
type parameter struct {
	name string
	read func(value string) error // its error follows the name
}

// takesNoQuery refuses a request with a query.
func takesNoQuery(r *http.Request) error {
	if r.URL.RawQuery != "" {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, "this list takes no filter; remove the query")
	}
	return nil
}

// readQuery reads a query of parameters, each of which is given once. A name that is
// not known is an error: a misspelt filter that is ignored lists too much. Errors
// call the parameters what kind says.
func readQuery(query, kind string, known []parameter) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("the query is not well formed; encode it as name=value&name=value")
	}
	for name, given := range values {
		i := slices.IndexFunc(known, func(p parameter) bool { return p.name == name })
		switch {
		case i < 0:
			return fmt.Errorf("%s: is not a %s; use %s", name, kind, namesOf(known))
		case len(given) > 1:
			return fmt.Errorf("%s: is given more than once; give one value", name)
		}
		if err := known[i].read(given[0]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// namesOf lists the names as in "since, cursor or limit".
func namesOf(known []parameter) string {
	names := make([]string, len(known))
	for i, p := range known {
		names[i] = p.name
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// parameterOf is a parameter whose value is stored in to.
func parameterOf[T any](name string, to *T, parse func(value string) (T, error)) parameter {
	return parameter{name, func(value string) (err error) {
		*to, err = parse(value)
		return err
	}}
}

// anyText takes every value.
func anyText(value string) (string, error) { return value, nil }

// oneOf takes the values that are allowed, and the empty one.
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

// recordID takes the id of a record as a cursor, and the empty value.
func recordID(value string) (string, error) {
	if _, err := ulid.ParseStrict(value); value != "" && err != nil {
		return "", errCursor
	}
	return value, nil
}

// pageLimit takes the number of records of a page.
func pageLimit(value string) (int, error) {
	limit, err := strconv.Atoi(value)
	if err != nil || limit < 1 || limit > maxLimit {
		return 0, fmt.Errorf("%q is not a number from 1 to %d", value, maxLimit)
	}
	return limit, nil
}
