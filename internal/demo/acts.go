package demo

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// What the model asks for, as reviewers see it.
const (
	listFiles    = `list_files {}`
	removeBoth   = `run_command {"command":"rm -r cache drafts"}`
	removeCache  = `run_command {"command":"rm -r cache"}`
	writeNotes   = `write_file {"path":"notes.txt","content":"The cache was removed.\n"}`
	copyReport   = `run_command {"command":"cp report.txt report.bak"}`
	whatToRemove = `{"question":"What may be removed?","options":[{"id":"cache","label":"The cache","recommended":true,"risk_level":"low"},{"id":"drafts","label":"The drafts","risk_level":"high"}]}`
	askWhat      = "request_decision " + whatToRemove
	howShort     = `{"question":"How short?","default":"One line"}`
	askShort     = "request_clarification " + howShort
	whereAndWhen = `{"questions":[{"id":"where","kind":"decision","question":"Where?","options":[{"id":"web","label":"On the web"},{"id":"mail","label":"By mail","recommended":true}]},{"id":"when","kind":"clarification","question":"When?"}]}`
	askBoth      = "request_input " + whereAndWhen
	whichToken   = `{"message":"To upload the report","fields":[{"name":"TOKEN","required":true}]}`
	askToken     = "request_env_var " + whichToken
	token        = "hK7-qW2z-Lm9x"
	upload       = `run_command {"command":"upload report.txt secret://TOKEN"}`
	readNotes    = `read_file {"path":"notes.txt"}`
	readReport   = `read_file {"path":"report.txt"}`
	readSecret   = `read_file {"path":".env"}`

	// In the audit log: a call that passes as it streams, and then what it was.
	letThrough = "call_allowed list_files allowed_by_rule"
	passedOn   = "call_released list_files allowed_by_rule"
)

var (
	untouched    = []string{".env", "cache/index.bin", "cache/thumbs.bin", "drafts/plan.txt", "notes.txt", "report.txt"}
	withoutCache = []string{".env", "drafts/plan.txt", "notes.txt", "report.txt"}
	approve      = approvals.Decision{Action: approvals.ActionApprove}
)

// acts are every way a call can end, and every kind of request to people. Each is followed up by a question that the
// model can answer only if it still knows what the agent never saw.
func acts() []act { return slices.Concat(answered(), unasked(), asking(), handing()) }

// answered are the acts in which a person decides.
func answered() []act {
	return []act{{
		name: "approved", title: "1. A person approves: the agent gets the call unchanged",
		says:    []string{TaskTidy, TaskAccount},
		rulings: map[string]ruling{removeBoth: {Decision: approve}},
		want: outcome{
			received: []string{listFiles, removeBoth}, files: []string{".env", "notes.txt", "report.txt"},
			made: []string{listFiles, removeBoth}, told: []string{"cache/index.bin", "ran rm -r cache drafts"},
			says: `- run_command: done. ({"command":"rm -r cache drafts"})`,
			events: []string{
				letThrough, passedOn, "approval_required run_command", "approval_decision run_command approve by local over rest",
				"call_released run_command allowed_by_person", "call_result run_command",
			},
		},
	}, {
		name: "denied", title: "2. A person denies with a reason: the model continues in the same answer, and its next call is judged too",
		says: []string{TaskTidy, TaskAccount},
		rulings: map[string]ruling{
			removeBoth:  {Decision: approvals.Decision{Action: approvals.ActionDeny, Note: "Keep the drafts."}},
			removeCache: {Decision: approve, overNATS: true},
		},
		want: outcome{
			received: []string{listFiles, removeCache}, files: withoutCache,
			made: []string{listFiles, removeBoth, removeCache}, told: []string{"cache/index.bin", "Keep the drafts.", "ran rm -r cache"},
			says: `- run_command: refused, so I leave it. ({"command":"rm -r cache drafts"})`,
			events: []string{
				letThrough, passedOn, "approval_required run_command", "approval_decision run_command deny by local over rest",
				"call_denied run_command denied_by_person", "denial_told run_command denied_by_person",
				"approval_required run_command", "approval_decision run_command approve by local over nats",
				"call_released run_command allowed_by_person", "call_result run_command",
			},
		},
	}, {
		name: "edited", title: "3. A person edits the arguments: the agent runs the reviewer's version, and the model learns of it",
		says: []string{TaskTidy, TaskAccount},
		rulings: map[string]ruling{removeBoth: {Decision: approvals.Decision{
			Action: approvals.ActionModifyArgs, ModifiedArgs: json.RawMessage(`{"command":"rm -r cache"}`), Note: "The cache only.",
		}}},
		want: outcome{
			received: []string{listFiles, removeCache}, files: withoutCache,
			made: []string{listFiles, removeCache}, told: []string{"cache/index.bin", "The cache only."},
			says: `- run_command: done, as the reviewer changed it. ({"command":"rm -r cache"})`,
			events: []string{
				letThrough, passedOn, "approval_required run_command", "approval_decision run_command modify_args by local over rest",
				"call_modified run_command modified", "call_released run_command modified", "call_result run_command",
			},
		},
	}, {
		name: "mixed", title: "4. Two calls at once, one of them denied: the agent gets the other one alone",
		says: []string{TaskTwo, TaskAccount},
		rulings: map[string]ruling{
			removeCache: {Decision: approve},
			writeNotes:  {Decision: approvals.Decision{Action: approvals.ActionDeny, Note: "The notes are mine."}, overNATS: true},
		},
		want: outcome{
			received: []string{removeCache}, files: withoutCache,
			made: []string{removeCache, writeNotes}, told: []string{"ran rm -r cache", "The notes are mine."},
			says: `- write_file: refused, so I leave it. ({"path":"notes.txt","content":"The cache was removed.\n"})`,
			events: []string{
				"approval_required run_command", "approval_required write_file",
				"approval_decision run_command approve by local over rest", "approval_decision write_file deny by local over nats",
				"call_released run_command allowed_by_person", "call_denied write_file denied_by_person",
				"call_result run_command",
			},
		},
	}}
}

// unasked are the acts without a decision of a person.
func unasked() []act {
	return []act{{
		name: "expired", title: "5. No answer within the policy's one second: the model learns of a time-out, not of a denial",
		says: []string{TaskBackUp, TaskAccount},
		want: outcome{
			files: untouched, made: []string{copyReport}, told: []string{"nobody answered in time"},
			says: `- run_command: no answer in time, so it was not run. ({"command":"cp report.txt report.bak"})`,
			events: []string{
				"approval_required run_command", "approval_expired run_command expired",
				"call_denied run_command expired", "denial_told run_command expired",
			},
		},
	}, {
		name: "rule", title: "6. Policy denies: no person is asked",
		says: []string{TaskSettings, TaskAccount},
		want: outcome{
			files: untouched, made: []string{readSecret}, told: []string{"Secrets stay where they are."},
			says:   `- read_file: refused, so I leave it. ({"path":".env"})`,
			events: []string{"call_denied read_file denied_by_rule", "denial_told read_file denied_by_rule"},
		},
	}}
}

// asking are the acts in which the model asks people.
func asking() []act {
	return []act{{
		name: "question", title: "7. The model asks a person to decide: the agent sees neither the question nor the answer",
		says: []string{TaskSpace, TaskAccount},
		rulings: map[string]ruling{
			askWhat:     {Decision: approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Selected: []string{"cache"}}}},
			removeCache: {Decision: approve, overNATS: true},
		},
		want: outcome{
			received: []string{removeCache}, files: withoutCache,
			made: []string{askWhat, removeCache}, told: []string{`"selected":["cache"],"answered_by":"person"`, "ran rm -r cache"},
			says: "- request_decision: answered. (" + whatToRemove + ")",
			events: []string{
				"approval_required request_decision", "approval_decision request_decision answer by local over rest",
				"question_answered request_decision answered",
				"approval_required run_command", "approval_decision run_command approve by local over nats",
				"call_released run_command allowed_by_person", "call_result run_command",
			},
		},
	}, {
		name: "words", title: "8. The model asks what is meant: a person answers in words",
		says:    []string{TaskShorten, TaskAccount},
		rulings: map[string]ruling{askShort: {Decision: answer(approvals.Response{Answer: "Leave them as they are."}), overNATS: true}},
		want: outcome{
			files: untouched, made: []string{askShort}, told: []string{`"answer":"Leave them as they are."`},
			says: "- request_clarification: answered. (" + howShort + ")",
			events: []string{
				"approval_required request_clarification", "approval_decision request_clarification answer by local over nats",
				"question_answered request_clarification answered",
			},
		},
	}, {
		name: "several", title: "9. The model asks several questions at once: a person answers each",
		says: []string{TaskPublish, TaskAccount},
		rulings: map[string]ruling{askBoth: {Decision: approvals.Decision{Action: approvals.ActionAnswer, Responses: map[string]approvals.Response{
			"where": {Selected: []string{"mail"}}, "when": {Answer: "On Monday."},
		}}}},
		want: outcome{
			files: untouched, made: []string{askBoth}, told: []string{`"selected":["mail"]`},
			says: "- request_input: answered. (" + whereAndWhen + ")",
			events: []string{
				"approval_required request_input", "approval_decision request_input answer by local over rest",
				"question_answered request_input answered",
			},
		},
	}}
}

func answer(r approvals.Response) approvals.Decision {
	return approvals.Decision{Action: approvals.ActionAnswer, Response: r}
}

// handing are the acts about what the model may read: a secret, and results of calls.
func handing() []act {
	return []act{{
		name: "secret", title: "10. The model asks for a secret: it gets a handle, and the agent the value",
		says: []string{TaskUpload, TaskAccount},
		rulings: map[string]ruling{
			askToken: {Decision: answer(approvals.Response{Values: map[string]string{"TOKEN": token}})},
			upload:   {Decision: approve},
		},
		want: outcome{
			received: []string{strings.ReplaceAll(upload, "secret://TOKEN", token)}, files: untouched, secret: token,
			made: []string{askToken, upload}, told: []string{`{"TOKEN":"secret://TOKEN"}`, "ran upload report.txt secret://TOKEN"},
			says: `- run_command: done. ({"command":"upload report.txt secret://TOKEN"})`,
			events: []string{
				"approval_required request_env_var", "approval_decision request_env_var answer by local over rest",
				"question_answered request_env_var answered",
				"approval_required run_command", "approval_decision run_command approve by local over rest",
				"secret_used run_command allowed_by_person", "call_released run_command allowed_by_person", "call_result run_command",
			},
		},
	}, {
		name: "results", title: "11. Results are judged: policy redacts one, and a person replaces the other before the model reads it",
		says:    []string{TaskRead, TaskAccount},
		rulings: map[string]ruling{`read_file "All is well.\n"`: {Decision: approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: json.RawMessage(`"It is not final.\n"`)}}},
		want: outcome{
			received: []string{readNotes, readReport}, files: untouched,
			made: []string{readNotes, readReport}, told: []string{"Call [redacted].", "It is not final."},
			says: `- read_file: done. ({"path":"report.txt"})`,
			events: []string{
				"call_allowed read_file allowed_by_rule", "call_released read_file allowed_by_rule",
				"call_allowed read_file allowed_by_rule", "call_released read_file allowed_by_rule",
				"approval_required read_file", "approval_decision read_file modify_args by local over rest",
				"result_redacted read_file", "result_redacted read_file modified",
			},
		},
	}}
}
