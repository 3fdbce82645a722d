package conversation

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/heldcall/heldcall/intercept"
)

// TaskDigest returns a digest of who asks (principal, API key, upstream) and of the user's last
// message without its numbers and dates. It is equal for requests that repeat another one, and for
// those of an agent that was started again and writes the time into its prompt. The upstream of a
// request is always the same. The one that goes upstream may have been changed, unless unchanged is
// true: then the agent's is read again.
func (c *Conversation) TaskDigest(upstream string, unchanged bool) string {
	if c.task != "" {
		return c.task
	}
	r, sent := c.Request, c.Parsed
	if !unchanged {
		if again, err := r.Dialect.Request(r.Envelope); err == nil {
			sent = again
		}
	}
	sum := sha256.Sum256([]byte(PrincipalKey(r.Principal, r.Dialect.Name(), upstream, r.DigestKey(), undated(sent.LastUser()))))
	c.task = hex.EncodeToString(sum[:16])
	return c.task
}

// CallKey returns a key of a call of the agent: see [heldturns.Delivery].
func (c *Conversation) CallKey(call intercept.Call) string {
	return callKey(c.callsKey(), cmp.Or(call.ID, intercept.UnnamedCallID(call.Name)))
}

// ResultKeys returns the keys of the calls whose results are new in the request.
func (c *Conversation) ResultKeys() (keys []string) {
	ids := c.Parsed.ResultIDs()
	if len(ids) == 0 {
		return nil
	}
	agent := c.callsKey()
	for _, id := range ids {
		if id != "" {
			keys = append(keys, callKey(agent, id))
		}
	}
	return keys
}

// callsKey is what the keys of all calls of the agent begin with.
func (c *Conversation) callsKey() string {
	return PrincipalKey(c.Request.Principal, "call", c.Request.DigestKey())
}

func callKey(agent, id string) string {
	sum := sha256.Sum256([]byte(agent + lengthPrefixed(id)))
	return hex.EncodeToString(sum[:16])
}

// undated returns a text with one mark in place of each number and date.
func undated(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	for len(text) > 0 {
		n := dateLength(text)
		if n > 0 {
			out.WriteByte('#')
		} else {
			n = wordLength(text)
			out.WriteString(text[:n])
		}
		text = text[n:]
	}
	return out.String()
}

// maxBeforeNumber bounds the part of a date before its first number, in bytes.
const maxBeforeNumber = 40

// dateLength returns the length of the number or date that a text begins with, 0 for none: numbers
// and words of dates with separators between them, among which is a number.
func dateLength(text string) int {
	length, number := 0, false
	for at := 0; at < len(text) && (number || at < maxBeforeNumber); {
		n := wordLength(text[at:])
		word := text[at : at+n]
		switch {
		case isDigit(word[0]):
			number = true
		case n <= maxDateWord && dateWords[strings.ToLower(word)]:
		case at > 0 && n == 1 && strings.Contains(dateSeparators, word):
			at++
			continue
		case number:
			return length
		default:
			return 0
		}
		at += n
		length = at
	}
	if !number {
		return 0
	}
	return length
}

// dateSeparators are the characters between the parts of a date.
const dateSeparators = " ,./:-+_()"

// dateWords are the words in dates, in lower case.
var dateWords = wordSet("jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october nov november dec december " +
	"mon monday tue tues tuesday wed wednesday thu thur thurs thursday fri friday sat saturday sun sunday " +
	"st nd rd th am pm t z utc gmt cet cest bst est edt cst cdt mst mdt pst pdt ist jst")

// maxDateWord is the length of the longest of them.
const maxDateWord = len("september")

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// wordLength returns the length of the digits, the letters or the one other byte that a text begins
// with.
func wordLength(text string) int {
	same := isLetter
	switch {
	case isDigit(text[0]):
		same = isDigit
	case !isLetter(text[0]):
		return 1
	}
	n := 1
	for n < len(text) && same(text[n]) {
		n++
	}
	return n
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// isLetter reports whether a byte is of a letter; those of other alphabets are not told from
// symbols.
func isLetter(b byte) bool { return ('a' <= b|0x20 && b|0x20 <= 'z') || b >= 0x80 }
