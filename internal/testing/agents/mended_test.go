//go:build agents

package agents_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/testdeps"
)

// mendedNames are spellings of the shell of opencode. It runs at least the first as its shell.
var mendedNames = []string{"Bash", "BASH", "functions.bash", "bash_tool", "bash:0"}

// TestMendedNames: opencode runs its shell for a name in another case, and through heldcall a command that a rule denies
// does not run under any name.
func TestMendedNames(t *testing.T) {
	program, dir := testdeps.Heldcall(t), testdeps.Install(t, "npm")
	for _, a := range fleet(t) {
		if !strings.HasPrefix(a.name, "opencode") {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			upstream := serve(t, &task{agent: a, model: mendedModel(a)})
			at := endpoint{openAI: upstream, anthropic: strings.TrimSuffix(upstream, "/v1")}
			alone := newRun(t, a, at)
			alone.play(t, outside(t, a.elsewhere), a.connect(alone, dir, at))
			if ran := alone.touched(); len(ran) == 0 {
				t.Errorf("alone, the agent mends no name: the test shows nothing")
			} else {
				t.Logf("alone, the agent runs its shell for %q", ran)
			}

			h := configure(t, serve(t, &task{agent: a, model: mendedModel(a)}))
			policy := filepath.Join(filepath.Dir(h.config), "policy.yaml")
			if err := os.WriteFile(policy, []byte("default: allow\nrules:\n  - deny: [\"bash(touch *)\"]\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			held := newRun(t, a, h.endpoint)
			asked := h.review(t, func(approvals.Request) *fakemodel.Ruling { return &fakemodel.Ruling{Action: approvals.ActionApprove} })
			a.playHeld(t, held, h, dir, program)
			if ran := held.touched(); len(ran) > 0 {
				t.Errorf("denied commands have run under the names %q", ran)
			}
			if open := asked(); len(open) > 0 || !strings.Contains(held.output, conclusion) {
				t.Errorf("people were asked %d times", len(open))
			}
		})
	}
}

// mendedModel calls the shell of an agent once under each name, and concludes.
func mendedModel(a agent) fakemodel.Model {
	calls := make([]fakemodel.Call, len(mendedNames))
	for i, name := range mendedNames {
		calls[i] = a.call(fmt.Sprintf("call_%d", i), fmt.Sprintf("touch ran-%d", i))
		calls[i].Name = name
	}
	told := func(c fakemodel.Conversation) bool {
		for _, m := range c.Messages {
			if m.Role == "tool" {
				return true
			}
		}
		return false
	}
	return fakemodel.Model{Rules: []fakemodel.Rule{
		{When: told, Say: fakemodel.Say(fakemodel.Answer{Text: conclusion})},
		{When: func(fakemodel.Conversation) bool { return true }, Say: fakemodel.Say(fakemodel.Answer{Text: opening, Calls: calls})},
	}}
}

// touched are the names under which commands have run.
func (r *run) touched() (names []string) {
	for i, name := range mendedNames {
		if _, err := os.Stat(filepath.Join(r.work, fmt.Sprintf("ran-%d", i))); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// TestScriptsOfCodex: the script of Codex' exec is read as Codex offers the tool: what rules allow in it runs unasked, and what
// they deny does not run.
func TestScriptsOfCodex(t *testing.T) {
	program, dir := testdeps.Heldcall(t), testdeps.Install(t, "npm")
	agents := fleet(t)
	a := agents[slices.IndexFunc(agents, func(a agent) bool { return a.name == "codex-code-mode" })]
	var parts []fakemodel.Part
	for i, command := range []string{"touch ran-0", "mkdir ran-1"} { // in the namespace in which Codex offers the tool
		item, err := json.Marshal(map[string]string{
			"type": "custom_tool_call", "status": "completed", "call_id": fmt.Sprint("call_", i), "name": "exec", "namespace": "functions", "input": a.call("", command).Arguments,
		})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, fakemodel.Part{Item: string(item)})
	}
	k := &task{agent: a, model: mendedModel(a)}
	k.model.Rules[1].Say = fakemodel.Say(fakemodel.Answer{Parts: parts})
	h := configure(t, serve(t, k))
	policy := filepath.Join(filepath.Dir(h.config), "policy.yaml")
	if err := os.WriteFile(policy, []byte("default: ask\nrules:\n  - allow: [\"shell(touch *)\"]\n  - deny: [\"shell(mkdir *)\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRun(t, a, h.endpoint)
	asked := h.review(t, func(approvals.Request) *fakemodel.Ruling { return &fakemodel.Ruling{Action: approvals.ActionDeny} })
	a.playHeld(t, r, h, dir, program)
	for _, request := range asked() {
		t.Errorf("people are asked about %s: %s, flags %q; the tool is %.300s", request.ArgsPreview, request.Reason, request.Details.Flags, request.Tool.Description)
	}
	if ran := r.touched(); !slices.Equal(ran, mendedNames[:1]) {
		t.Errorf("%d of the two scripts have run", len(ran))
	}
}
