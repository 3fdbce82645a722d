package responses

import (
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// priorTurns is what outlives a body: the turns of the model that heldcall continued, and
// the rulings on their calls and on those of the current body.
type priorTurns struct {
	denials int                  // turns with a denied call
	rounds  []answerRound        // the turns
	chain   []string             // upstream's ids of them
	output  []string             // their items that the agent has
	text    string               // their text for the user
	usage   []byte               // the sum of theirs
	ruled   []ruledCall          // the calls that were judged
	ran     map[string]hostedRun // the calls that the provider ran, by the question that was approved
}

// rule adds the rulings on calls.
func (p *priorTurns) rule(calls []*item) {
	for _, it := range calls {
		if r, ok := it.Ruling(); ok {
			p.ruled = append(p.ruled, ruledCall{Call: it.fingerprint(), Action: r.Action, Arguments: r.Arguments, ModelMessage: r.ModelMessage})
		}
	}
}

// addHosted adds the calls that the provider ran because they were approved.
func (p *priorTurns) addHosted(items []*item) {
	for _, it := range items {
		if it.entry.typ != "mcp_call" {
			continue
		}
		if approval := it.entry.field("approval_request_id").Str; approval != "" {
			if p.ran == nil {
				p.ran = make(map[string]hostedRun)
			}
			p.ran[approval] = runOf(gjson.Parse(it.entry.raw))
		}
	}
}

// add adds the turn of a body that heldcall continues.
func (p *priorTurns) add(b *body, r answerRound, denied bool) {
	for _, it := range b.items {
		if it.call == nil {
			p.output = append(p.output, it.entry.raw)
		}
	}
	p.rounds = append(p.rounds, r)
	p.text += b.text()
	p.usage = strictjson.AddUsage(p.usage, []byte(b.object.usage))
	p.chain = append(p.chain, b.responseID())
	if denied {
		p.denials++
	}
}

// list is a JSON array of items.
func list(items []string) []byte { return []byte("[" + strings.Join(items, ",") + "]") }
