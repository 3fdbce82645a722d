package rule

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// Edit is one change that a rewrite rule makes to arguments.
type Edit struct {
	path string         // as sjson writes it
	set  jsontext.Value // nil: the value is deleted
}

// contradicts reports whether two changes touch the same value and differ.
func (e Edit) contradicts(other Edit) bool {
	if e.path == other.path {
		return !bytes.Equal(e.set, other.set)
	}
	return strings.HasPrefix(e.path, other.path+".") || strings.HasPrefix(other.path, e.path+".")
}

// apply changes strict arguments. A value that is equal already keeps its text.
func (e Edit) apply(text []byte) ([]byte, error) {
	found := gjson.GetBytes(text, e.path)
	if e.set == nil {
		if !found.Exists() {
			return text, nil
		}
		return sjson.DeleteBytes(slices.Clone(text), e.path)
	}
	if found.Exists() && canonicalValue(found.Raw) == canonicalValue(string(e.set)) {
		return text, nil
	}
	return sjson.SetRawBytes(slices.Clone(text), e.path, e.set)
}

func canonicalValue(text string) string {
	v := jsontext.Value(text)
	if err := v.Format(jsontext.ReorderRawObjects(true)); err != nil {
		return text
	}
	return string(v)
}

// Change is the effect of the rewrite rules that cover a call.
type Change struct {
	Patterns []*Pattern // those that cover it, the first of each rule
	Text     string     // the new arguments; "" if they stay as they are
	Problem  string     // why they cannot be applied, or ""
}

// Where names the rules.
func (c *Change) Where() string {
	var all []string
	for _, p := range c.Patterns {
		if !slices.Contains(all, p.Where) {
			all = append(all, p.Where)
		}
	}
	return strings.Join(all, ", ")
}

// Apply makes the changes one after another.
func (c *Change) Apply(arguments string) {
	before := []byte(match.OrEmptyObject(arguments))
	text := before
	var done []Edit
	for _, p := range c.Patterns {
		for _, e := range p.Rule.Edits {
			if i := slices.IndexFunc(done, e.contradicts); i >= 0 {
				c.Problem = fmt.Sprintf("is changed in two ways by rewrite rules, at %s and %s", done[i].path, e.path)
				return
			}
			done = append(done, e)
			var err error
			if text, err = e.apply(text); err != nil {
				c.Problem = fmt.Sprintf("has arguments that the rule at %s cannot change", p.Where)
				return
			}
		}
	}
	if doubts := match.CheckArguments(string(text)); len(doubts) > 0 {
		c.Problem = "would have arguments that are not strict after it is changed"
		return
	}
	if !bytes.Equal(text, before) {
		c.Text = string(text)
	}
}
