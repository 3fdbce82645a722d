package proxy

import (
	"bytes"
	"regexp"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
	"github.com/valyala/fasthttp"
)

// Servers that check requests quote them in their errors. Where heldcall has put
// back what the agent must not see, or told the model of a denial, such an error is
// not passed on.

// gramLength is how many letters and digits in a row, which stand in what upstream
// was sent and not in what the agent has sent, count as a quotation: fewer stand in
// many a text by chance.
const gramLength = 10

// maxQuoting is the longest error that is searched for quotations; a longer one
// counts as one that quotes.
const maxQuoting = 256 << 10

type gram [gramLength]byte

// quotesHidden reports whether an upstream's error quotes what stands in the request
// that upstream got and not in the one that the agent sent.
func (x *exchange) quotesHidden(body []byte) bool {
	agents, sent := x.fasthttp.Request.Body(), x.sends.Body
	if len(body) == 0 || bytes.Equal(agents, sent) {
		return false
	}
	return len(body) > maxQuoting || quotes(body, sent, agents)
}

// quotes reports whether text and from have letters and digits in a row in common
// that known has not. What stands between those is not compared: whoever quotes a
// JSON text writes it anew.
func quotes(text, from, known []byte) bool {
	in := make(map[gram]bool) // whether from has it, too
	eachGram(text, func(g gram) { in[g] = false })
	eachGram(from, func(g gram) {
		if _, ok := in[g]; ok {
			in[g] = true
		}
	})
	eachGram(known, func(g gram) { delete(in, g) })
	for _, common := range in {
		if common {
			return true
		}
	}
	return false
}

// eachGram walks the stretches of gramLength letters and digits of a text.
func eachGram(text []byte, visit func(gram)) {
	var g gram
	n := 0
	for _, c := range text {
		if c-'0' > 9 && c|' '-'a' > 25 {
			continue
		}
		copy(g[:], g[1:])
		g[gramLength-1] = c
		if n++; n >= gramLength {
			visit(g)
		}
	}
}

// plainCode is what an error may call itself.
var plainCode = regexp.MustCompile(`^[a-z_]{1,64}$`)

// withoutQuotation is the error in place of one that quotes what was hidden: with
// its status, so that the agent tries again or does not as it would have, and with
// the name that the upstream gives it.
func withoutQuotation(status int, body []byte) *intercept.Error {
	named := ""
	for _, path := range []string{"error.code", "error.type", "code", "type"} {
		if code := gjson.GetBytes(body, path); named == "" && plainCode.MatchString(code.Str) {
			named = ", " + code.Str
		}
	}
	return &intercept.Error{
		Code: intercept.CodeUpstreamUnreachable, HTTP: status,
		Reason: "the upstream refused the request (" + fasthttp.StatusMessage(status) + named + "), in words that quote what is hidden from the agent",
	}
}
