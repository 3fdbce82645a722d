package console

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/heldcall/heldcall/console/problem"
)

// maxBody bounds the body of a decision, in bytes: arguments that a reviewer edited
// may be long.
const maxBody = 8 << 20

// readBody reads a body that may not be larger than maxBody.
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

// takesNoQuery refuses a request with a query.
func takesNoQuery(r *http.Request) error {
	if r.URL.RawQuery != "" {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, "this list takes no filter; remove the query")
	}
	return nil
}
