package approvals

import (
	"bytes"
	"encoding/json"
)

// EncodeJSON encodes a record as one line of JSON, with its members in the order of its
// fields and without escapes for HTML, which would change the text of arguments.
func EncodeJSON(record any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(record); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
