package turn

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses"
	"github.com/heldcall/heldcall/proxy/hosted"
)

// What becomes of a request that offers the model tools that the provider runs.
func TestHostedTools(t *testing.T) {
	search, mcp := `{"type":"web_search"}`, `{"type":"mcp","server_label":"x","server_url":"https://x.example/mcp","require_approval":"never"}`
	many := search
	for i := range 128 {
		many += fmt.Sprintf(`,{"type":"mcp","server_label":"x","server_url":"https://x%d.example/mcp"}`, i)
	}
	for name, tt := range map[string]struct {
		rules   string
		tools   string
		down    bool
		refused intercept.Code // "" for none
		events  string         // types in the audit log
		changed bool           // the offer, so that calls are asked about
	}{
		"none":            {rules: allowAll},
		"allowed":         {rules: "hosted_tools: [web_search]\n", tools: search, events: "call_allowed"},
		"refused":         {rules: "hosted_tools: [code_interpreter]\n", tools: search, refused: intercept.CodeHostedToolRefused, events: "call_denied"},
		"asked about":     {rules: "hosted_mcp: ask\nhosted_tools: [\"mcp:*\"]\n", tools: mcp, events: "call_allowed", changed: true},
		"too many":        {rules: allowAll, tools: many, refused: intercept.CodeBadRequest},
		"not recorded":    {rules: "hosted_tools: [web_search]\n", tools: search, down: true, refused: intercept.CodeStoreUnavailable, events: "call_allowed"},
		"one of two":      {rules: "hosted_tools: [web_search]\n", tools: search + "," + mcp, refused: intercept.CodeHostedToolRefused, events: "call_allowed call_denied"},
		"the same, twice": {rules: "hosted_tools: [web_search]\n", tools: search + "," + search, events: "call_allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tt.rules)
			if tt.down {
				b.gate.failed = errors.New("down")
			}
			r := requestTo(responses.Dialect{}, "/responses", `{"model":"m","input":"do it","tools":[`+tt.tools+`]}`)
			c := b.prepared(t, r)
			tools := hosted.Tools{Engine: b.Engine, Offers: &b.Offers, Conversation: c}
			refusal := tools.Judge(t.Context(), c.Parsed)
			if (refusal == nil) != (tt.refused == "") || (refusal != nil && refusal.Code != tt.refused) {
				t.Errorf("refused with %v", refusal)
			}
			var types []string
			for _, e := range b.gate.events {
				types = append(types, string(e.Type))
			}
			if got := strings.Join(types, " "); got != tt.events {
				t.Errorf("the audit log has %q", got)
			}
			if changed := string(c.Parsed.Envelope().Body) != string(r.Envelope.Body); changed != tt.changed || tools.Approval != tt.changed {
				t.Errorf("sent: %s", c.Parsed.Envelope().Body)
			}
		})
	}
}
