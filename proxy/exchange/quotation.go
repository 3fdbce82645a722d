package exchange

import (
	"bytes"
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// sequenceLength is how many letters and digits in a row, which are in the request that
// upstream got and not in the agent's, count as a quotation: shorter ones occur in many
// texts by chance.
const sequenceLength = 10

// maxSearched is the longest error that is searched for quotations; a longer one counts as
// one that quotes.
const maxSearched = 256 << 10

type sequence [sequenceLength]byte

// Servers that check requests quote them in their errors: where heldcall has put back what the
// agent must not see, or has sent the model a denial, such an error is not passed on.

// Quotes reports whether an upstream's error quotes parts of the last request that are not in the
// agent's.
func (x *Exchange) Quotes(failure, agents []byte) bool {
	return quotesHidden(failure, x.Next.Body, agents)
}

// QuotationCheck returns [Exchange.Quotes] for the errors of an answer, nil if nothing is hidden:
// upstream has got the request of the agent.
func (x *Exchange) QuotationCheck(agents []byte) func(failure []byte) bool {
	sent := x.Next.Body
	if bytes.Equal(agents, sent) {
		return nil
	}
	return func(failure []byte) bool { return quotesHidden(failure, sent, agents) }
}

// quotesHidden reports whether an error quotes parts of the sent request that are not in the
// agent's.
func quotesHidden(body, sent, agents []byte) bool {
	if len(body) == 0 || bytes.Equal(agents, sent) {
		return false
	}
	return len(body) > maxSearched || quotes(body, sent, agents)
}

// quotes reports whether text and from have letters and digits in a row in common that
// known has not. The characters between those are not compared: a server that quotes a
// JSON text encodes it again.
func quotes(text, from, known []byte) bool {
	in := make(map[sequence]bool) // whether from has it, too
	eachSequence(text, func(s sequence) { in[s] = false })
	eachSequence(from, func(s sequence) {
		if _, ok := in[s]; ok {
			in[s] = true
		}
	})
	eachSequence(known, func(s sequence) { delete(in, s) })
	for _, common := range in {
		if common {
			return true
		}
	}
	return false
}

// eachSequence visits all letters and digits of a text, sequenceLength in a row.
func eachSequence(text []byte, visit func(sequence)) {
	var g sequence
	n := 0
	for _, c := range text {
		if c-'0' > 9 && c|' '-'a' > 25 {
			continue
		}
		copy(g[:], g[1:])
		g[sequenceLength-1] = c
		if n++; n >= sequenceLength {
			visit(g)
		}
	}
}

// Explain adds the status and the message of an upstream's error to one that heldcall writes itself, and its code where
// that tells the agent to send the whole conversation. The message is left out if it may quote what is hidden from the
// agent, whose request had the given body. limit bounds the bytes that are read.
func (x *Exchange) Explain(e *intercept.Error, limit int, agents []byte) {
	r := x.Response
	e.Reason += " (" + statusText(r.Status()) + ")"
	body, err := r.ReadAll(limit)
	if err != nil || !IdentityEncoded(r.ContentEncoding()) {
		return
	}
	e.Reason += string(x.Upstream.Redact([]byte(message(body, x.Next.Body, agents)))) // decoded: the body may have spelled the key otherwise
	if gjson.GetBytes(body, "error.code").Str == string(intercept.CodePreviousNotFound) {
		e.Code, e.HTTP = intercept.CodePreviousNotFound, r.Status()
	}
}

// maxMessage is the longest message of an error that [message] returns, in bytes.
const maxMessage = 2000

// message returns the message of an upstream's error, after ": ", for an error that heldcall
// writes itself. It returns "" if there is none, if it is too long, or if the error quotes parts
// of the sent request that are not in the agent's.
func message(body, sent, agents []byte) string {
	text := gjson.GetBytes(body, "error.message").Str
	if text == "" || len(text) > maxMessage || !gjson.ValidBytes(body) || quotesHidden(body, sent, agents) {
		return ""
	}
	return ": " + strings.ToValidUTF8(text, "\uFFFD")
}

// plainCode is what an error may call itself.
var plainCode = regexp.MustCompile(`^[a-z_]{1,64}$`)

// statusText is the name of a status, or its number if it has none, such as 529 of a provider
// that is overloaded.
func statusText(status int) string {
	return cmp.Or(http.StatusText(status), "status "+strconv.Itoa(status))
}

// threadErrors are the codes after which Anthropic's SDKs send the whole conversation.
var threadErrors = []string{"thread_not_found", "thread_already_continued", "thread_continue_in_flight"}

// WithoutQuotation is the error in place of one that quotes what was hidden: with
// its status, so that the agent tries again or does not as it would have, and with
// the name that the upstream gives it. Agents send the whole conversation after an error about a thread
// of Messages or a previous response, which they know by its code.
func WithoutQuotation(status int, body []byte) *intercept.Error {
	if slices.Contains(threadErrors, gjson.GetBytes(body, "error.details.error_code").Str) {
		return &intercept.Error{Code: intercept.CodeThreadNotFound, Reason: "the upstream cannot continue the thread; send the whole conversation"}
	}
	if gjson.GetBytes(body, "error.code").Str == string(intercept.CodePreviousNotFound) {
		return &intercept.Error{Code: intercept.CodePreviousNotFound, HTTP: status, Reason: "the upstream cannot continue the answer; send the whole conversation"}
	}
	named := ""
	for _, path := range []string{"error.code", "error.type", "code", "type"} {
		if code := gjson.GetBytes(body, path); named == "" && plainCode.MatchString(code.Str) {
			named = ", " + code.Str
		}
	}
	return &intercept.Error{
		Code: intercept.CodeUpstreamUnreachable, HTTP: status,
		Reason: "the upstream refused the request (" + statusText(status) + named + "); its error text was withheld: it quotes content that is hidden from the agent",
	}
}
