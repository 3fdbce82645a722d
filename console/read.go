package console

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
)

// maxBody bounds the body of a decision, in bytes: arguments that a reviewer edited
// may be long.
const maxBody = 8 << 20

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, problem.New(http.StatusRequestEntityTooLarge, problem.CodeTooLarge,
			fmt.Sprintf("the body is larger than %d bytes; send less", tooLarge.Limit))
	}
	if err != nil {
		return nil, problem.New(http.StatusBadRequest, problem.CodeBadRequest, "the body could not be read to its end")
	}
	return body, nil
}

// readJSON reads a body as strict JSON of T. field names it in errors, and reason is
// the reason of one that cannot be read; "" is that of the decoder.
func readJSON[T any](w http.ResponseWriter, r *http.Request, field, reason string) (value T, err error) {
	body, err := readBody(w, r)
	if err != nil {
		return value, err
	}
	return decodeJSON[T](body, field, reason)
}

// decodeJSON is [readJSON] of a body that was read.
func decodeJSON[T any](body []byte, field, reason string) (value T, err error) {
	if err := json.Unmarshal(body, &value, json.RejectUnknownMembers(true)); err != nil {
		return value, &approvals.InvalidError{Field: field, Reason: cmp.Or(reason, err.Error())}
	}
	return value, nil
}

// answerAll answers a list that takes no filter.
func answerAll[T any](w http.ResponseWriter, r *http.Request, items []T) error {
	if r.URL.RawQuery != "" {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, "this list takes no filter; remove the query")
	}
	return answer(w, listOf[T]{Items: items})
}
