package conversation

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// renames are the names that a command-line agent changes each time it is started. Everybody
// else may use the same fields to tell users apart, so they are names only in the requests of that
// agent.
type renames struct {
	headers []string
	fields  map[string]rename
	// item is a member of the items of the history that has names, "" for none.
	item       string
	itemRename rename
}

// rename divides the value of a field into the names in it and the rest; kept is nil if there is
// none.
type rename func(value jsontext.Value) (kept, names jsontext.Value)

var (
	noRenames = &renames{}

	// codex sends its session in headers, as the cache key, in client_metadata, and in that again
	// as JSON in a text. Items name the turn and the time at which they were made.
	codex = &renames{
		headers: []string{"session-id", "session_id", "thread-id", "thread_id", "conversation-id", "conversation_id", "x-codex-parent-thread-id", "x-codex-turn-metadata"},
		fields: map[string]rename{
			promptCacheKey: whole,
			"client_metadata": members(map[string]rename{
				"session_id": whole, "thread_id": whole, "turn_id": whole, "root_turn_id": whole, "x-codex-window-id": whole,
				"x-codex-turn-metadata": inText(members(map[string]rename{
					"session_id": whole, "thread_id": whole, "turn_id": whole, "root_turn_id": whole, "window_id": whole, "context_window_id": whole, "turn_started_at_unix_ms": whole,
				})),
			}),
		},
		item: "internal_chat_message_metadata_passthrough", itemRename: members(map[string]rename{"turn_id": whole, "create_time": whole}),
	}
	claudeCode = &renames{
		headers: []string{"x-claude-code-session-id", "x-claude-code-agent-id", "x-claude-code-parent-agent-id"},
		fields:  map[string]rename{"metadata": members(map[string]rename{"user_id": claudeUser})},
	}
	opencode = &renames{
		headers: []string{"x-session-id", "x-session-affinity", "x-opencode-session"},
		fields:  map[string]rename{promptCacheKey: whole},
	}
	pi = &renames{
		headers: []string{"session_id", "session-id", "x-session-affinity"},
		fields:  map[string]rename{promptCacheKey: whole},
	}
)

const promptCacheKey = "prompt_cache_key"

// renames returns the names that the agent of the request changes at each start, by its User-Agent.
func (r *Request) renames() *renames {
	product, _, _ := strings.Cut(r.UserAgent, "/")
	product, _, _ = strings.Cut(product, " ")
	switch {
	case product == "codex", strings.HasPrefix(product, "codex_"), strings.HasPrefix(product, "codex-"):
		return codex
	case product == "claude-cli":
		return claudeCode
	case product == "opencode":
		return opencode
	case product == "pi", r.hasPiSession():
		return pi
	}
	return noRenames
}

// hasPiSession reports whether a request by OpenAI's SDK for JavaScript is one of pi, which leaves
// the User-Agent as it is: the session of such a request is in two headers and the cache key.
func (r *Request) hasPiSession() bool {
	version, sdk := strings.CutPrefix(r.UserAgent, "OpenAI/JS ")
	if !sdk || strings.Contains(version, " ") {
		return false
	}
	key := gjson.GetBytes(r.Envelope.Body, promptCacheKey)
	named := slices.ContainsFunc(r.sessionHeaders(), func(h SessionHeader) bool {
		return h.Name == "session_id" && h.Digest == DigestHeader([]byte(key.Str))
	})
	return named && key.Str != "" && r.ClientRequest == key.Str
}

// hasHeader reports whether a header has one of the names. Its name is in lower case.
func (a *renames) hasHeader(name string) bool { return slices.Contains(a.headers, name) }

// field returns how a field of the body has names, nil if it has none.
func (a *renames) field(name string) rename { return a.fields[name] }

// whole is a field that is one of the names.
func whole(value jsontext.Value) (kept, names jsontext.Value) { return nil, value }

// members is an object with members that have names. Another value has none.
func members(of map[string]rename) rename {
	return func(value jsontext.Value) (kept, names jsontext.Value) {
		all, err := readMembers(value)
		if err != nil {
			return value, jsontext.Value("null")
		}
		var rest, renamed []member
		for _, m := range all {
			rename := of[m.name]
			if rename == nil {
				rest = append(rest, m)
				continue
			}
			left, fresh := rename(m.value)
			renamed = append(renamed, member{m.name, fresh})
			if left != nil {
				rest = append(rest, member{m.name, left})
			}
		}
		return object(rest), object(renamed)
	}
}

// object is an object with some members.
func object(members []member) jsontext.Value {
	text := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			text = append(text, ',')
		}
		text, _ = jsontext.AppendQuote(text, m.name)
		text = append(append(text, ':'), m.value...)
	}
	return append(text, '}')
}

// inText is JSON in a text that has names. Another text has none.
func inText(rename rename) rename {
	return func(value jsontext.Value) (kept, names jsontext.Value) {
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return value, jsontext.Value("null")
		}
		inner, err := inOrder(bytes.TrimSpace(text))
		if err != nil {
			return value, jsontext.Value("null")
		}
		return rename(inner)
	}
}

// claudeUser is Claude Code's user id, which ends with its session after _session_, or is JSON
// with a member session_id.
func claudeUser(value jsontext.Value) (kept, names jsontext.Value) {
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return value, jsontext.Value("null")
	}
	if mark := bytes.LastIndex(text, []byte(sessionMark)); mark >= 0 {
		kept, _ = jsontext.AppendQuote(nil, text[:mark])
		names, _ = jsontext.AppendQuote(nil, text[mark:])
		return kept, names
	}
	return inText(members(map[string]rename{"session_id": whole}))(value)
}

const sessionMark = "_session_"
