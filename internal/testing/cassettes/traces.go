package cassettes

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// readTrace reads a Go httprr trace: after its first line, records of a line
// with two lengths, a raw request and a raw response.
func readTrace(raw []byte) ([]Exchange, error) {
	const magic = "httprr trace v1\n"
	rest, found := strings.CutPrefix(string(raw), magic)
	if !found {
		return nil, fmt.Errorf("it does not begin with %q", magic)
	}
	var exchanges []Exchange
	for rest != "" {
		line, after, _ := strings.Cut(rest, "\n")
		var request, response int
		if _, err := fmt.Sscanf(line, "%d %d", &request, &response); err != nil {
			return nil, fmt.Errorf("record %d begins with %q, not with two lengths", len(exchanges), line)
		}
		if request < 0 || response < 0 || request+response > len(after) {
			return nil, fmt.Errorf("record %d is cut off", len(exchanges))
		}
		e, err := readTraced(after[:request], after[request:request+response])
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", len(exchanges), err)
		}
		exchanges = append(exchanges, e)
		rest = after[request+response:]
	}
	return exchanges, nil
}

func readTraced(request, response string) (Exchange, error) {
	head, body, found := strings.Cut(response, "\r\n\r\n")
	if !found {
		return Exchange{}, fmt.Errorf("the response has no end of its head")
	}
	status, fields, _ := strings.Cut(head, "\r\n")
	words := strings.Fields(status)
	if len(words) < 2 {
		return Exchange{}, fmt.Errorf("the response begins with %q, not with a status line", status)
	}
	code, err := strconv.Atoi(words[1])
	if err != nil {
		return Exchange{}, fmt.Errorf("the response begins with %q, not with a status line", status)
	}
	lines := textproto.NewReader(bufio.NewReader(strings.NewReader(fields + "\r\n\r\n")))
	header, err := lines.ReadMIMEHeader()
	if err != nil {
		return Exchange{}, fmt.Errorf("reading the response's head: %w", err)
	}
	asking, asked, _ := strings.Cut(request, "\r\n\r\n")
	method, target, _ := strings.Cut(asking, " ")
	target, _, _ = strings.Cut(target, " ")
	return Exchange{
		Method: method, URL: target,
		Status: code, Header: http.Header(header), Body: []byte(body), RequestBody: []byte(asked),
	}, nil
}

// readSessionRecord reads a session record of the Azure test proxy.
func readSessionRecord(raw []byte) ([]Exchange, error) {
	var record struct {
		Entries []struct {
			RequestMethod   string
			RequestURI      string
			RequestBody     json.RawMessage
			StatusCode      int
			ResponseHeaders map[string]nameList
			ResponseBody    json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &record); err != nil {
		return nil, fmt.Errorf("reading the session record: %w", err)
	}
	var exchanges []Exchange
	for i, entry := range record.Entries {
		e := Exchange{Method: entry.RequestMethod, URL: entry.RequestURI, Status: entry.StatusCode, Header: make(http.Header)}
		for name, values := range entry.ResponseHeaders {
			for _, value := range values {
				e.Header.Add(name, value)
			}
		}
		var err error
		if e.Body, err = sessionBody(entry.ResponseBody); err != nil {
			return nil, fmt.Errorf("response of entry %d: %w", i, err)
		}
		if e.RequestBody, err = sessionBody(entry.RequestBody); err != nil {
			return nil, fmt.Errorf("request of entry %d: %w", i, err)
		}
		exchanges = append(exchanges, e)
	}
	return exchanges, nil
}

// sessionBody is a recorded body: an array of lines, or JSON.
func sessionBody(raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	if raw[0] == '{' {
		return compact(raw)
	}
	var lines []string
	if err := json.Unmarshal(raw, &lines); err != nil {
		return nil, fmt.Errorf("it is neither an object nor an array of lines: %w", err)
	}
	return []byte(strings.Join(lines, "")), nil
}
