package cassettes

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"go.yaml.in/yaml/v3"
)

// cassette is one YAML document of any of the four forms.
type cassette struct {
	Interactions     []interaction `yaml:"interactions"`      // VCR.py, go-vcr
	HTTPInteractions []interaction `yaml:"http_interactions"` // Ruby VCR
	When             *struct {
		Method string    `yaml:"method"`
		Path   string    `yaml:"path"`
		Body   yaml.Node `yaml:"body"`
	} `yaml:"when"` // httpmock, with then
	Then *struct {
		Status int    `yaml:"status"`
		Body   string `yaml:"body"`
		Header []struct {
			Name  string `yaml:"name"`
			Value string `yaml:"value"`
		} `yaml:"header"`
	} `yaml:"then"`
}

type interaction struct {
	Request  message `yaml:"request"`
	Response message `yaml:"response"`
}

// message is a recorded request or response. Body is text or, in VCR.py and
// Ruby VCR, a map with the text as string.
type message struct {
	Method     string              `yaml:"method"`
	URI        string              `yaml:"uri"`
	URL        string              `yaml:"url"` // go-vcr
	Body       yaml.Node           `yaml:"body"`
	ParsedBody yaml.Node           `yaml:"parsed_body"` // VCR.py as pydantic-ai keeps it
	Headers    map[string]nameList `yaml:"headers"`
	Code       int                 `yaml:"code"`   // go-vcr
	Status     yaml.Node           `yaml:"status"` // a map with the code, or text
}

// nameList is one header's values: a list, or a single text.
type nameList []string

// UnmarshalYAML reads a list of texts or one text.
func (l *nameList) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.SequenceNode {
		return node.Decode((*[]string)(l))
	}
	var one string
	err := node.Decode(&one)
	*l = nameList{one}
	return err
}

// UnmarshalJSON reads a list of texts or one text.
func (l *nameList) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte("[")) {
		return json.Unmarshal(raw, (*[]string)(l))
	}
	var one string
	err := json.Unmarshal(raw, &one)
	*l = nameList{one}
	return err
}

func readCassette(raw []byte) ([]Exchange, error) {
	var exchanges []Exchange
	documents := yaml.NewDecoder(bytes.NewReader(raw))
	for {
		var c cassette
		err := documents.Decode(&c)
		if errors.Is(err, io.EOF) {
			return exchanges, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the cassette: %w", err)
		}
		for _, i := range append(c.Interactions, c.HTTPInteractions...) {
			e, err := i.exchange()
			if err != nil {
				return nil, fmt.Errorf("interaction %d: %w", len(exchanges), err)
			}
			exchanges = append(exchanges, e)
		}
		if c.Then != nil {
			e, err := c.mocked()
			if err != nil {
				return nil, fmt.Errorf("document %d: %w", len(exchanges), err)
			}
			exchanges = append(exchanges, e)
		}
	}
}

func (c *cassette) mocked() (Exchange, error) {
	e := Exchange{Status: c.Then.Status, Body: []byte(c.Then.Body), Header: make(http.Header)}
	for _, field := range c.Then.Header {
		e.Header.Add(field.Name, field.Value)
	}
	if c.When == nil {
		return e, nil
	}
	e.Method, e.URL = strings.ToUpper(c.When.Method), c.When.Path
	var err error
	e.RequestBody, err = recordedText(&c.When.Body)
	return e, err
}

func (i *interaction) exchange() (Exchange, error) {
	e := Exchange{Header: make(http.Header), Method: strings.ToUpper(i.Request.Method), URL: i.Request.URI + i.Request.URL}
	for name, values := range i.Response.Headers {
		for _, value := range values {
			e.Header.Add(name, value)
		}
	}
	var err error
	if e.Status, err = i.Response.status(); err != nil {
		return e, err
	}
	if e.Body, err = i.Response.body(); err != nil {
		return e, fmt.Errorf("response: %w", err)
	}
	if e.RequestBody, err = i.Request.body(); err != nil {
		return e, fmt.Errorf("request: %w", err)
	}
	return e, nil
}

func (m *message) status() (int, error) {
	if m.Status.Kind != yaml.MappingNode {
		return m.Code, nil
	}
	var status struct {
		Code int `yaml:"code"`
	}
	err := m.Status.Decode(&status)
	return status.Code, err
}

func (m *message) body() ([]byte, error) {
	if m.ParsedBody.Kind != 0 {
		return encodeNode(&m.ParsedBody)
	}
	return recordedText(&m.Body)
}

// recordedText is a body that was recorded as text, or as a map around it.
func recordedText(node *yaml.Node) ([]byte, error) {
	switch {
	case node.Kind == 0 || node.Tag == "!!null":
		return nil, nil
	case node.Kind == yaml.MappingNode:
		return textWithin(node)
	}
	var text string
	if err := node.Decode(&text); err != nil {
		return nil, err
	}
	if node.Tag == "!binary" { // as Ruby tags it; !!binary is decoded already
		return fromBase64(text)
	}
	return []byte(text), nil
}

func textWithin(node *yaml.Node) ([]byte, error) {
	var around struct {
		Text   yaml.Node `yaml:"string"`
		Base64 string    `yaml:"base64_string"` // Ruby VCR, for bodies that are no text
	}
	if err := node.Decode(&around); err != nil {
		return nil, err
	}
	if around.Base64 != "" {
		return fromBase64(around.Base64)
	}
	return recordedText(&around.Text)
}

func fromBase64(text string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
}
