package cassettes

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// encodeNode writes a body that was recorded as YAML values as JSON again, the
// keys in their recorded order.
func encodeNode(node *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	if err := writeNode(&b, node); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func writeNode(b *bytes.Buffer, node *yaml.Node) error {
	switch node.Kind {
	case yaml.MappingNode:
		return writeMapping(b, node.Content)
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, element := range node.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeNode(b, element); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	case yaml.AliasNode:
		return writeNode(b, node.Alias)
	case yaml.ScalarNode:
		return writeScalar(b, node)
	}
	return fmt.Errorf("line %d: YAML node of kind %d has no JSON form", node.Line, node.Kind)
}

func writeMapping(b *bytes.Buffer, pairs []*yaml.Node) error {
	b.WriteByte('{')
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeText(b, pairs[i].Value); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := writeNode(b, pairs[i+1]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func writeScalar(b *bytes.Buffer, node *yaml.Node) error {
	switch node.Tag {
	case "!!null":
		b.WriteString("null")
	case "!!int", "!!float", "!!bool":
		var value any
		if err := node.Decode(&value); err != nil {
			return fmt.Errorf("line %d: %w", node.Line, err)
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("line %d: %w", node.Line, err)
		}
		b.Write(encoded)
	default:
		return writeText(b, node.Value)
	}
	return nil
}

func writeText(b *bytes.Buffer, text string) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the newline an Encoder adds
	return nil
}
