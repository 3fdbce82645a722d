package approvals

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxSearch bounds the text of a search, in bytes.
const maxSearch = 500

// Search finds requests by words.
type Search struct{ words []string }

// NewSearch makes a search of the words of a text; an empty one finds everything.
func NewSearch(text string) Search {
	return Search{strings.Fields(foldCase(text))}
}

// foldCase makes letters alike that differ in case only; the lower case of a
// capital alone is not always that of its other small forms.
func foldCase(text string) string { return strings.ToLower(strings.ToUpper(text)) }

// Finds reports whether every word is somewhere in the request: in the tool's
// name, the arguments, who asks, the model, the rule, what the user said last, what
// reviewers decided and noted, or in one of its ids. Letter case is no difference.
func (s Search) Finds(r *Request) bool {
	if len(s.words) == 0 {
		return true
	}
	text := foldCase(searchedText(r))
	for _, word := range s.words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// searchedText returns the texts of a request that a search reads, one on each line.
func searchedText(r *Request) string {
	texts := []string{
		r.ToolName, r.Resource, r.Title, r.Principal.Agent, r.Principal.User, r.Principal.Tenant, r.Model, r.Rule, r.Reason,
		r.ID, r.RunID, r.SessionID, r.TurnID, r.ToolCallID, r.Context.LastUserMessage, string(r.Arguments), r.Details.RawArguments,
	}
	for _, d := range r.Decisions {
		texts = append(texts, d.ReviewerID, d.OnBehalfOf, d.Note, string(d.ModifiedArgs))
		texts = append(texts, unescaped(d.ModifiedArgs)...)
	}
	return strings.Join(append(texts, unescaped(r.Arguments)...), "\n")
}

// unescaped are the texts in JSON as they read, where they are written otherwise.
func unescaped(value []byte) []string {
	if bytes.IndexByte(value, '\\') < 0 {
		return nil
	}
	var texts []string
	decoder := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return texts
		}
		if token.Kind() == '"' {
			texts = append(texts, token.String())
		}
	}
}
