package messages

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Splice implements [intercept.Request]. It renders only the messages that change; all
// other bytes of the body are kept. A request that continues a thread has no history.
func (r *request) Splice(hidden [][]byte) int {
	records := intercept.Records[answerRecord](hidden)
	s := splicer{History: r.History(), joined: make(map[int]joined)}
	id := r.continued()
	end := id
	if id != "" {
		end = s.follow(records, id)
	} else {
		s.match(r.Opening(), records)
	}
	if !s.Changed() {
		return 0
	}
	span, _ := r.At("messages")
	p := strictjson.Patch{JSON: string(strictjson.Replace(r.Envelope().Body, span, s.Render(s.message)))}
	if id != "" {
		p.Set(previousPath, strictjson.Quote(end))
	}
	if p.Err != nil || r.SetBody([]byte(p.JSON)) != nil {
		return 0
	}
	r.alias = id
	return r.Spliced(s.History)
}

// match finds the answers that the history has.
func (s *splicer) match(opening intercept.UserText, records []*answerRecord) {
	for _, m := range intercept.MatchTurns(opening, s.Turns(historyTurn), records) {
		s.complete(m.Turn.First, m.Answer, m.Found)
		s.Place(&m.Answer.TurnFingerprint, m.Sure, m.Unique)
	}
}

// historyTurn describes a message of the assistant.
func historyTurn(m gjson.Result) intercept.HistoryTurn {
	content := m.Get("content")
	t := intercept.HistoryTurn{Text: intercept.StripSpace(strictjson.ContentText(content))}
	for _, c := range callBlocks(contentBlocks(content)) {
		t.Calls = append(t.Calls, intercept.NewCallFingerprint(c.Get("id").Str, c.Get("name").Str, c.Get("input").Raw))
	}
	return t
}

// splicer is a history in which blocks join messages of the user.
type splicer struct {
	*intercept.History
	joined map[int]joined // by the place of the message
}

// joined are blocks that join a message of the user: results of calls at its beginning, and texts after the results.
type joined struct{ results, texts []string }

// join adds blocks to the next message of the user, from a place on. Results are before the next message of the
// assistant; messages of the system may precede those of the agent's own calls.
func (s *splicer) join(place int, blocks joined) {
	if len(blocks.results)+len(blocks.texts) == 0 {
		return
	}
	for ; place < len(s.Items); place++ {
		role := s.Items[place].Get("role").Str
		if role == "user" {
			s.At(place)
			s.joined[place] = blocks
			return
		}
		if role != "system" && len(blocks.results) > 0 {
			break
		}
	}
	s.At(place).Before = append(s.At(place).Before, userMessage(slices.Concat(blocks.results, blocks.texts)))
}

// complete puts back what the agent does not show of an answer at the message at a place. Text and calls that the agent
// has changed are kept.
func (s *splicer) complete(place int, rec *answerRecord, found intercept.Found) {
	m, part := s.Items[place], s.At(place)
	content := m.Get("content")
	shown := contentBlocks(content)
	part.Before = append(part.Before, rec.Turns...)
	part.Note(rec.NotesOn(callBlocks(shown)))
	s.join(place+1, joined{results: rec.Results})
	if len(rec.Turns) == 0 && !slices.ContainsFunc(rec.Pieces, piece.differs) {
		return
	}
	blocks := rec.changed(content)
	if found.Text && found.Calls {
		blocks = rec.content(content.IsArray(), shown)
	}
	part.Replace = []string{}
	if len(blocks) > 0 {
		part.Replace = []string{withContent(m, blocks)}
	}
}

// message is a message with the blocks that join it, and with notes before the results of edited calls.
func (s *splicer) message(place int, m gjson.Result, notes intercept.Notes) string {
	if m.Get("role").Str != "user" {
		return m.Raw
	}
	content, add := m.Get("content"), s.joined[place]
	blocks := slices.Clone(add.results)
	changed, results := len(add.results)+len(add.texts) > 0, len(blocks)
	for i, b := range contentBlocks(content) {
		raw := b.Raw
		if b.Get("type").Str == "tool_result" {
			raw = notes.Annotate(b, b.Get("tool_use_id").Str, "content")
			if results == len(add.results)+i {
				results++
			}
		}
		changed = changed || raw != b.Raw
		blocks = append(blocks, raw)
	}
	if content.Type == gjson.String && strings.TrimSpace(content.Str) != "" {
		blocks = append(blocks, textBlock(content.Str))
	}
	if !changed {
		return m.Raw
	}
	return withContent(m, slices.Insert(blocks, results, add.texts...))
}

// withContent is a message with other blocks.
func withContent(m gjson.Result, blocks []string) string {
	p := strictjson.Patch{JSON: m.Raw}
	if p.Set("content", "["+strings.Join(blocks, ",")+"]"); p.Err != nil {
		return m.Raw
	}
	return p.JSON
}
