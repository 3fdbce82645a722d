package approvals

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxSearch is the longest text of a search, in bytes.
const maxSearch = 500

// Search finds requests by words.
type Search struct{ words []string }

// NewSearch returns a search for the words of a text. An empty text finds everything.
func NewSearch(text string) Search {
	return Search{strings.Fields(foldCase(text))}
}

// ByWords reports whether the search has words. One without finds everything.
func (s Search) ByWords() bool { return len(s.words) > 0 }

// foldCase returns a text without differences of case. ToLower alone is not enough: some
// letters have several lower-case forms.
func foldCase(text string) string { return strings.ToLower(strings.ToUpper(text)) }

// Finds reports whether the request contains every word, ignoring case: in the name of
// the tool, the arguments, the principal, the model, the rule, the last user message, the
// decisions and their notes, or one of the ids.
func (s Search) Finds(r *Request) bool {
	return !s.ByWords() || s.FindsText(foldCase(r.searchedText()))
}

// FindsText is Finds for the [SearchText] of a request. It returns true for that of a large one.
func (s Search) FindsText(text string) bool {
	if text == "" {
		return true
	}
	for _, word := range s.words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// maxSearchText is the size of a request in bytes up to which it has a [SearchText].
const maxSearchText = 64 << 10

// SearchText returns what a search reads of a request, without differences of case. It returns "" for a large request.
func (r *Request) SearchText() string {
	if r.Size() > maxSearchText {
		return ""
	}
	return foldCase(r.searchedText())
}

// searchedText returns the texts of a request that a search reads, one on each line.
func (r *Request) searchedText() string {
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

// unescaped returns the decoded strings of a JSON value with escapes.
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
