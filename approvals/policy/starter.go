package policy

import (
	"bytes"
	_ "embed"
)

//go:embed starter.yaml
var starter []byte

// Starter is a commented policy to start from, with safe defaults for coding
// agents.
func Starter() []byte { return bytes.Clone(starter) }
