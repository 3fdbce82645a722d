// Package contracttest compares messages of NATS with docs/asyncapi.yaml, the file that
// developers of clients read.
package contracttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/internal/testing/apidoc"
)

// Contract is the file.
type Contract struct {
	Document   *apidoc.Document
	Servers    map[string]struct{ Host string }
	Channels   map[string]Channel
	Operations map[string]Operation
	Messages   map[string]Message
}

// Channel is a subject.
type Channel struct {
	Address    string
	Summary    string
	Messages   map[string]Reference
	Parameters map[string]struct {
		Description string
		Enum        []string
	}
}

// Operation is an operation at a channel.
type Operation struct {
	Action   string
	Summary  string
	Channel  Reference
	Messages []Reference
	Reply    *struct{ Messages []Reference }
	Bindings struct{ NATS struct{ Queue string } }
	Role     string `json:"x-heldcall-role"`
}

// Message is one in the components.
type Message struct {
	Payload  json.RawMessage
	Examples []struct{ Payload json.RawMessage }
}

// Reference is a reference to another part of the file.
type Reference struct {
	To string `json:"$ref"`
}

// Name is the last part of a reference.
func (r Reference) Name() string { return r.To[strings.LastIndexByte(r.To, '/')+1:] }

// Load reads the file.
func Load(file string) (*Contract, error) {
	text, err := JSON(file)
	if err != nil {
		return nil, err
	}
	var document struct {
		Servers    map[string]struct{ Host string }
		Channels   map[string]Channel
		Operations map[string]Operation
		Components struct{ Messages map[string]Message }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	schemas, err := apidoc.Open(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return &Contract{schemas, document.Servers, document.Channels, document.Operations, document.Components.Messages}, nil
}

// JSON is the file as JSON.
func JSON(file string) ([]byte, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	var document map[string]any
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return json.Marshal(document)
}

// Message checks a message on a subject.
func (c *Contract) Message(subject string, payload []byte) error {
	operation, err := c.at(subject)
	if err != nil {
		return err
	}
	_, err = c.which(operation.Messages, payload)
	return err
}

// Reply checks the reply to a message on a subject, and returns which of those that
// the contract has it is.
func (c *Contract) Reply(subject string, payload []byte) (string, error) {
	operation, err := c.at(subject)
	if err != nil {
		return "", err
	}
	if operation.Reply == nil {
		return "", fmt.Errorf("%s has no reply", subject)
	}
	return c.which(operation.Reply.Messages, payload)
}

// which of some messages a payload is: one, and only one.
func (c *Contract) which(messages []Reference, payload []byte) (string, error) {
	var is []string
	var failed error
	for _, m := range messages {
		if err := c.Payload(m.Name(), payload); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", m.Name(), err))
		} else {
			is = append(is, m.Name())
		}
	}
	if len(is) != 1 {
		return "", fmt.Errorf("it is %d messages of the contract (%v): %w", len(is), is, failed)
	}
	return is[0], nil
}

// Payload checks a payload as that of one message of the components.
func (c *Contract) Payload(message string, payload []byte) error {
	if c.Messages[message].Payload == nil {
		if len(payload) > 0 {
			return errors.New("it has a payload")
		}
		return nil
	}
	return c.Document.Check("/components/messages/"+message+"/payload", payload)
}

// at is the operation of a subject.
func (c *Contract) at(subject string) (Operation, error) {
	var found []Operation
	for name, channel := range c.Channels {
		if !channel.covers(subject) {
			continue
		}
		for _, operation := range c.Operations {
			if operation.Channel.Name() == name {
				found = append(found, operation)
			}
		}
	}
	if len(found) != 1 {
		return Operation{}, fmt.Errorf("%d channels of the contract have the subject %s", len(found), subject)
	}
	return found[0], nil
}

var parameter = regexp.MustCompile(`^\{\w+\}$`)

// covers reports whether a subject is one of a channel's.
func (c Channel) covers(subject string) bool {
	return slices.EqualFunc(strings.Split(c.Address, "."), strings.Split(subject, "."), func(form, token string) bool {
		return form == token || parameter.MatchString(form)
	})
}
