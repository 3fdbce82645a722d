package demo

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// The messages of the demo's users. The scripted model knows no others.
const (
	TaskTidy     = "Tidy this project: remove what it does not need."
	TaskTwo      = "Clean up the cache, and write into the notes that you did."
	TaskBackUp   = "Back up the report."
	TaskSettings = "Which settings does this project have?"
	TaskSpace    = "Free some space."
	TaskShorten  = "Make the notes shorter."
	TaskPublish  = "Publish the report."
	TaskUpload   = "Upload the report."
	TaskRead     = "What do the notes and the report tell?"
	TaskAccount  = "What did you do, and what not?"
)

// scriptedModel follows fixed rules: its answer depends only on the conversation of the
// request. It asks to remove more than it should.
func scriptedModel() *fakemodel.Model {
	say := func(text string, calls ...fakemodel.Call) func(fakemodel.Conversation) fakemodel.Answer {
		return fakemodel.Say(fakemodel.Answer{Text: text + "\n", Calls: calls})
	}
	return &fakemodel.Model{Rules: []fakemodel.Rule{
		{When: fakemodel.UserSays(TaskTidy), Say: say("First I look around.", call("list_files", `{}`))},
		{When: fakemodel.ToolAnswers("list_files", ""), Say: say("The cache can be built again, and the drafts look old.", command("rm -r cache drafts"))},
		{When: keepTheDrafts, Say: say("Then I leave the drafts and remove the cache alone.", command("rm -r cache"))},
		{When: fakemodel.UserSays(TaskTwo), Say: say("I do both at once.",
			command("rm -r cache"), call("write_file", `{"path":"notes.txt","content":"The cache was removed.\n"}`))},
		{When: fakemodel.UserSays(TaskBackUp), Say: say("I copy it.", command("cp report.txt report.bak"))},
		{When: fakemodel.UserSays(TaskSettings), Say: say("They are in .env.", call("read_file", `{"path":".env"}`))},
		{When: fakemodel.UserSays(TaskSpace), Say: say("I should not choose alone.", call("request_decision", whatToRemove))},
		{When: fakemodel.ToolAnswers("request_decision", `"selected":["cache"]`), Say: say("Then I remove the cache.", command("rm -r cache"))},
		{When: fakemodel.UserSays(TaskShorten), Say: say("I do not know how short.", call("request_clarification", howShort))},
		{When: fakemodel.UserSays(TaskPublish), Say: say("I need to know two things.", call("request_input", whereAndWhen))},
		{When: fakemodel.UserSays(TaskUpload), Say: say("I need the token of the server.", call("request_env_var", whichToken))},
		{When: fakemodel.ToolAnswers("request_env_var", "secret://TOKEN"), Say: say("I have the handle of the token.", command("upload report.txt secret://TOKEN"))},
		{When: fakemodel.UserSays(TaskRead), Say: say("I read both.", call("read_file", `{"path":"notes.txt"}`), call("read_file", `{"path":"report.txt"}`))},
		{When: fakemodel.UserSays(TaskAccount), Say: account},
		{When: anyResult, Say: conclude},
	}, Otherwise: fakemodel.Answer{Text: "I am a script and know only the demo's tasks.\n"}}
}

// pause is what the model takes between its words and its calls.
const pause = 100 * time.Millisecond

// unhurried lets a model pause before its first call, so that people see its
// words before they are asked.
func unhurried(script fakemodel.Script) fakemodel.Script {
	return func(r *fakemodel.Request) fakemodel.Reply {
		reply := script(r)
		for i := range reply.Body {
			if bytes.Contains(reply.Body[i].Bytes, []byte(`"tool_calls":[`)) {
				reply.Body[i].Delay = pause
				break
			}
		}
		return reply
	}
}

func call(tool, arguments string) fakemodel.Call {
	return fakemodel.Call{Name: tool, Arguments: arguments}
}

// command is a call of run_command; text needs no JSON escapes.
func command(text string) fakemodel.Call { return call("run_command", `{"command":"`+text+`"}`) }

// keepTheDrafts fits when a reviewer refused and spoke of the drafts.
func keepTheDrafts(c fakemodel.Conversation) bool {
	for _, r := range c.Results() {
		note := strings.ToLower(r.Content)
		if refused(note) && strings.Contains(note, "draft") {
			return true
		}
	}
	return false
}

func anyResult(c fakemodel.Conversation) bool { return len(c.Results()) > 0 }

// conclude ends a task with the results of its last calls.
func conclude(c fakemodel.Conversation) fakemodel.Answer {
	var said []string
	for _, r := range c.Results() {
		said = append(said, verdictOf(r))
	}
	return fakemodel.Answer{Text: strings.Join(said, "\n") + "\n"}
}

// verdictOf describes in the model's words the result of a call.
func verdictOf(r fakemodel.Result) string {
	switch told := strings.ToLower(r.Content); {
	case strings.Contains(told, "nobody answered"):
		return r.Tool + ": no answer in time, so it was not run."
	case strings.Contains(told, `"answered_by":"person"`), strings.HasPrefix(told, `{"token":`):
		return r.Tool + ": answered."
	case refused(told):
		return r.Tool + ": refused, so I leave it."
	case strings.Contains(told, "reviewer changed"):
		return r.Tool + ": done, as the reviewer changed it."
	case strings.HasPrefix(told, "failed"):
		return r.Tool + ": it failed."
	}
	return r.Tool + ": done."
}

func refused(told string) bool {
	return strings.Contains(told, "refused this call") || strings.Contains(told, "already denied")
}

// account lists every call of the conversation that the model can see.
func account(c fakemodel.Conversation) fakemodel.Answer {
	told := make(map[string]string)
	for _, m := range c.Messages {
		if m.Role == "tool" {
			told[m.ToolCallID] = m.Content
		}
	}
	lines := []string{"I asked for:"}
	for _, m := range c.Messages {
		for i := range m.Calls {
			verdict := verdictOf(fakemodel.Result{Tool: m.Calls[i].Name, Content: told[m.Calls[i].ID]})
			lines = append(lines, fmt.Sprintf("- %s (%s)", verdict, m.Calls[i].Arguments))
		}
	}
	return fakemodel.Answer{Text: strings.Join(lines, "\n") + "\n"}
}
