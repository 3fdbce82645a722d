package contract

import "github.com/heldcall/heldcall/internal/schema"

type object = schema.Object

func examples() map[string][]object {
	const id, at, until = "01JD3K6Z7Q8XK2M4N5P6R7S8T9", "2026-11-21T10:00:00Z", "2026-11-21T10:05:00Z"
	principal := object{"tenant": "default", "user": "ann", "agent": "coder"}
	request := object{
		"id": id, "kind": "permission", "status": "pending", "principal": principal, "session_id": "s-1", "run_id": "r-1", "turn_id": "01JD3K6Z7Q8XK2M4N5P6R7S8T8",
		"dialect": "chat", "model": "gpt-5", "tool_call_id": "call_1", "tool_name": "bash", "arguments": object{"command": "rm -r cache"}, "resource": "rm -r cache",
		"args_preview": "rm -r cache", "tool": object{"description": "Runs a command."}, "title": "Allow bash?", "description": "", "risk_level": "high",
		"effects": []object{{"kind": "destroy", "target": "cache", "reversible": false}},
		"reason":  "no rule decides it", "rule": "default", "suggested_patterns": []string{"bash(rm -r cache)"}, "context": object{"last_user_message": "Free some space."},
		"allow_remember": true, "reviewers": []string{}, "required_approvals": 1, "created_at": at, "expires_at": until, "on_timeout": "deny", "decisions": []object{}, "details": object{},
	}
	return map[string][]object{
		"Request": {{"summary": "A pending request.", "payload": request}},
		"Event": {{"summary": "Its event in the audit log.", "payload": object{
			"id": id, "type": "approval_required", "time": at, "tenant": "default", "principal": principal, "request_id": id, "session_id": "s-1", "run_id": "r-1",
			"dialect": "chat", "model": "gpt-5", "tool_call_id": "call_1", "tool_name": "bash", "rule": "default", "before": object{"command": "rm -r cache"},
			"seq": 1, "prev_hash": "", "hash": "3f8bb0c5a1d0e0c4a8e0c1c44a1a35a3f6b1e2ad2fb0dd7f5b3d1c8f5b4bb7a1",
		}}},
		"DecisionPayload": {
			{"summary": "Approve the call.", "payload": object{"action": "approve"}},
			{"summary": "Deny the call; the model reads the note.", "payload": object{"action": "deny", "note": "Not on a Friday."}},
			{"summary": "Approve the call with other arguments.", "payload": object{"action": "modify_args", "modified_args": object{"command": "ls"}}},
			{"summary": "Approve the call, and allow matching calls of this agent.", "payload": object{"action": "allow_always", "patterns": []string{"bash(npm run *)"}, "scope": "agent"}},
		},
		"SignalPayload":       {{"summary": "Stop the run.", "payload": object{"action": "abort_run"}}},
		"RequestQueryPayload": {{"summary": "The pending requests.", "payload": object{"status": "pending"}}},
		"GrantQueryPayload":   {{"summary": "The grants of ann's agents.", "payload": object{"user": "ann"}}},
		"ByIDPayload":         {{"payload": object{"id": id}}},
		"GrantPayload":        {{"summary": "Always allow matching calls.", "payload": object{"effect": "allow", "principal": object{"tenant": "default"}, "patterns": []string{"bash(npm run *)"}}}},
		"Failure":             {{"summary": "No request has the id.", "payload": object{"code": "unknown_request", "message": "there is no request with this id; heldcall.v1.svc.requests.list lists them"}}},
	}
}
