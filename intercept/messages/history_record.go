package messages

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// answerRecord describes an answer that the agent got in another form than the model wrote it,
// because calls were denied or edited. Messages and blocks are kept as they were sent, so that each splice
// has the same bytes.
type answerRecord struct {
	intercept.TurnFingerprint
	intercept.KeptAnswer
	// Turns are the messages of whole turns that the agent did not get as such. They
	// precede the message that it got.
	Turns []string `json:"turns,omitempty"`
	// Pieces are the blocks of the message that the agent got, with the hidden blocks
	// between them.
	Pieces []piece `json:"pieces,omitempty"`
	// Results answer the hidden calls among the pieces.
	Results []string `json:"results,omitempty"`
	// Decided are texts about parked calls, in a record of [notice.DecidedLater].
	Decided []string `json:"decided,omitempty"`
}

// piece is a block of the message that the agent got, or a hidden block in it.
type piece struct {
	// Key is the [blockKey] of the block in the agent's history, "" for a hidden block.
	Key string `json:"key,omitempty"`
	// Raw is the block as the model wrote it, "" for a call that the agent got: the
	// agent's history has the arguments that ran.
	Raw string `json:"raw,omitempty"`
	// Before reports that the block is in Turns and does not belong to the message.
	Before bool `json:"before,omitempty"`
}

// differs reports whether only one of the model's and the agent's message has the block.
func (p piece) differs() bool { return p.Key == "" || p.Before }

// content returns the blocks of the message as the model wrote it: the agent's blocks
// without those of Turns and with the hidden ones. If the agent shows its blocks in
// another form, the recorded blocks replace them.
func (rec *answerRecord) content(array bool, shown []gjson.Result) (content []string) {
	unmatched := shown
	for _, p := range rec.Pieces {
		switch {
		case p.Key == "":
			content = append(content, p.Raw)
		case len(unmatched) > 0 && blockKey(unmatched[0].Raw) == p.Key:
			if !p.Before {
				content = append(content, unmatched[0].Raw)
			}
			unmatched = unmatched[1:]
		}
	}
	if array && len(unmatched) == 0 {
		return content
	}
	return rec.recorded(callBlocks(shown))
}

// recorded returns the recorded blocks of the message, with the agent's calls.
func (rec *answerRecord) recorded(calls []gjson.Result) (content []string) {
	for _, p := range rec.Pieces {
		switch {
		case p.Before || isBlank(p.Raw):
		case p.Raw != "":
			content = append(content, p.Raw)
		case len(calls) > 0:
			content = append(content, calls[0].Raw)
			calls = calls[1:]
		}
	}
	return content
}

// changed returns the blocks of a message that the agent has changed, without those of
// Turns, followed by the hidden blocks.
func (rec *answerRecord) changed(content gjson.Result) (list []string) {
	earlier := make(map[string]int)
	for _, p := range rec.Pieces {
		if p.Before && p.Key != "" {
			earlier[p.Key]++
		}
	}
	for _, b := range contentBlocks(content) {
		if k := blockKey(b.Raw); earlier[k] > 0 {
			earlier[k]--
			continue
		}
		list = append(list, b.Raw)
	}
	if content.Type == gjson.String && !isBlank(textBlock(content.Str)) {
		list = append(list, textBlock(content.Str))
	}
	for _, p := range rec.Pieces {
		if p.Key == "" {
			list = append(list, p.Raw)
		}
	}
	return list
}

// fingerprint identifies a message of a history: by its tool results or, if it has none,
// by its text. Messages of the system have none: agents insert them at other places in each request.
func fingerprint(m gjson.Result) string {
	parts := []string{m.Get("role").Str}
	if parts[0] == "system" {
		return ""
	}
	m.Get("content").ForEach(func(_, part gjson.Result) bool {
		if part.Get("type").Str == "tool_result" {
			parts = append(parts, part.Get("tool_use_id").Str, intercept.StripSpace(strictjson.ContentText(part.Get("content"))))
		}
		return true
	})
	if len(parts) > 1 {
		return intercept.Fingerprint(parts...)
	}
	text := ""
	if parts[0] == "user" {
		text = userText([]byte(m.Get("content").Raw)).String()
	}
	if text == "" {
		text = strictjson.ContentText(m.Get("content"))
	}
	return intercept.Fingerprint(append(parts, intercept.StripSpace(text))...)
}
