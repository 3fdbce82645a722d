package cassettes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// Some recorded lines are not JSON on purpose, so their type and id are found
// without parsing them.
var (
	typeField = regexp.MustCompile(`"type"\s*:\s*"([^"]*)"`)
	idField   = regexp.MustCompile(`^\{"id"\s*:\s*"([^"]+)"`)
)

// readChunks puts the framing back around one chunk a line. Where a file holds
// several responses one after the other, each becomes an exchange; for chat
// the unsplit body is one more, since a provider did send such a thing.
func readChunks(dialect Dialect, raw []byte) []Exchange {
	var responses [][][]byte
	current := ""
	for line := range bytes.Lines(raw) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			continue
		}
		begins := len(responses) == 0
		switch dialect {
		case Responses:
			begins = begins || eventType(line) == "response.created"
		case Chat:
			if id := idField.FindSubmatch(line); id != nil {
				begins = begins || (current != "" && current != string(id[1]))
				current = string(id[1])
			}
		}
		if begins {
			responses = append(responses, nil)
		}
		last := len(responses) - 1
		responses[last] = append(responses[last], line)
	}
	var exchanges []Exchange
	for _, lines := range responses {
		exchanges = append(exchanges, Exchange{Body: frame(dialect, lines)})
	}
	if dialect == Chat && len(responses) > 1 {
		var lines [][]byte
		for _, response := range responses {
			lines = append(lines, response...)
		}
		exchanges = append(exchanges, Exchange{Variant: "unsplit", Body: frame(dialect, lines)})
	}
	return exchanges
}

func frame(dialect Dialect, lines [][]byte) []byte {
	var body bytes.Buffer
	for _, line := range lines {
		if dialect != Chat {
			fmt.Fprintf(&body, "event: %s\n", eventType(line))
		}
		fmt.Fprintf(&body, "data: %s\n\n", line)
	}
	if dialect == Chat {
		body.WriteString("data: [DONE]\n\n")
	}
	return body.Bytes()
}

func eventType(line []byte) string {
	var event struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(line, &event) == nil {
		return event.Type
	}
	if found := typeField.FindSubmatch(line); found != nil {
		return string(found[1])
	}
	return ""
}

// readJSON reads a whole answer, or an array of the chunks of a stream.
func readJSON(raw []byte) ([]Exchange, error) {
	if begin := bytes.TrimLeft(raw, " \t\r\n"); len(begin) == 0 || begin[0] != '[' {
		return []Exchange{{Body: raw}}, nil
	}
	var chunks []json.RawMessage
	if err := json.Unmarshal(raw, &chunks); err != nil {
		return nil, fmt.Errorf("reading the array of chunks: %w", err)
	}
	lines := make([][]byte, len(chunks))
	for i, chunk := range chunks {
		line, err := compact(chunk)
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", i, err)
		}
		lines[i] = line
	}
	return []Exchange{{Body: frame(Chat, lines)}}, nil
}

// compact writes JSON on one line, numbers and key order kept.
func compact(raw []byte) ([]byte, error) {
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		return nil, err
	}
	return line.Bytes(), nil
}
