package app

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// A reference to the environment, ${NAME}, is replaced in the file's bytes by
// NAME between two private-use characters before YAML sees it: a brace would
// end an unquoted value. The value itself is put in when the YAML has been
// parsed, so nothing in it can be read as YAML.
const (
	markOpen  = "\ue000"
	markClose = "\ue001"
)

var (
	reference       = regexp.MustCompile(`\$?\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
	markedReference = regexp.MustCompile(markOpen + `(\$?)([A-Za-z_][A-Za-z0-9_]*)` + markClose)
)

// lineOfMark finds the first character that only heldcall may use.
func lineOfMark(content []byte) (int, bool) {
	i := bytes.IndexAny(content, markOpen+markClose)
	if i < 0 {
		return 0, false
	}
	return bytes.Count(content[:i], []byte("\n")) + 1, true
}

// markReferences marks every ${NAME}; a literal one, $${NAME}, keeps one $
// inside its marks.
func markReferences(content []byte) []byte {
	return reference.ReplaceAllFunc(content, func(match []byte) []byte {
		literal, name := "", match[2:len(match)-1]
		if match[1] == '$' {
			literal, name = "$", match[3:len(match)-1]
		}
		return []byte(markOpen + literal + string(name) + markClose)
	})
}

// unmarkReferences gives marked text back as it stood in the file.
func unmarkReferences(text string) string {
	return markedReference.ReplaceAllString(text, "$1$${$2}")
}

// expandReferences replaces every marked reference by its value. Its error names
// the variable that is not set.
func expandReferences(text string, lookup func(string) (string, bool)) (string, error) {
	var missing []string
	expanded := markedReference.ReplaceAllStringFunc(text, func(match string) string {
		name := match[len(markOpen) : len(match)-len(markClose)]
		if literal, ok := strings.CutPrefix(name, "$"); ok {
			return "${" + literal + "}"
		}
		value, ok := lookup(name)
		if !ok {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("the environment variable %s is not set; set it or write the value here", strings.Join(missing, ", "))
	}
	return expanded, nil
}
