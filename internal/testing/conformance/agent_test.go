//go:build conformance

package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/heldcall/heldcall/internal/testing/cassettes"
	"github.com/heldcall/heldcall/internal/testing/conformance"
)

// reply is what an agent received, byte for byte.
type reply struct {
	status int
	header http.Header
	body   []byte
	err    error // the body did not end as its framing requires
}

// agent is a plain HTTP client: the test sees the bytes without an SDK.
type agent struct{ client *http.Client }

func newAgent() agent {
	return agent{&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}}
}

func (a agent) ask(ctx context.Context, method, url, session string, body []byte) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer conformance")
	request.Header.Set("Anthropic-Version", "2023-06-01")
	request.Header.Set("X-Heldcall-Session", session)
	answer, err := a.client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	return reply{answer.StatusCode, answer.Header, raw, err}, nil
}

// habit is the way in which an agent carries a conversation on.
type habit string

const (
	replays        habit = "replays"                 // sends the whole conversation again
	stateless      habit = "replays, nothing stored" // the same, and nothing is stored
	goesOn         habit = "previous_response_id"    // names the answer that it continues
	refers         habit = "item_reference"          // names the items of the answer
	inConversation habit = "conversation"            // names a conversation that the provider keeps
)

// remembered reports whether the provider shows the model the calls that it has stored, so
// that they cannot be changed any more.
func (h habit) remembered() bool { return h == goesOn || h == inConversation }

// habits are those of a recorded answer's agents.
func habits(e cassettes.Exchange) []habit {
	switch {
	case e.Dialect != cassettes.Responses || e.Method == http.MethodGet:
		return []habit{replays}
	case gjson.GetBytes(e.RequestBody, "store").Type == gjson.False:
		return []habit{stateless}
	}
	return []habit{replays, stateless, goesOn, refers, inConversation}
}

// writer writes the requests of an agent of one dialect.
type writer interface {
	// path is the path of requests after the upstream's prefix.
	path() string
	// first is the request that the recorded one was, with the trial's marker in
	// it; where none was recorded, one that fits the answer. The parameters of
	// tools are opened to any object, so that edits may be anything.
	first(x *trial) []byte
	// next is what the agent sends next: its history, the answer as it received
	// it, and the result of every call in it.
	next(x *trial, received *conformance.Answer) []byte
	// settings are the fields that a continuation must have as the request has
	// them.
	settings() []string
}

func writerOf(d cassettes.Dialect) writer {
	switch d {
	case cassettes.Responses:
		return responsesAgent{}
	case cassettes.Messages:
		return messagesAgent{}
	case cassettes.Complete:
		return completeAgent{}
	}
	return chatAgent{}
}

// completeAgent is one of the legacy text completion, which carries no calls.
type completeAgent struct{ chatAgent }

func (completeAgent) path() string { return "/complete" }

func (completeAgent) first(x *trial) []byte {
	return with(x.exchange.RequestBody, "prompt", quote("conformance "+x.id))
}

// openParameters replaces the JSON Schema of every tool by one that takes any
// object.
func openParameters(tools string) string {
	var list []map[string]any
	if json.Unmarshal([]byte(tools), &list) != nil {
		return tools
	}
	for _, tool := range list {
		function, nested := tool["function"].(map[string]any)
		if !nested {
			function = tool
		}
		for _, key := range []string{"parameters", "input_schema"} {
			if _, has := function[key]; has {
				function[key] = map[string]any{"type": "object"}
				delete(function, "strict")
			}
		}
	}
	opened, err := json.Marshal(list)
	if err != nil {
		return tools
	}
	return string(opened)
}

// with is a JSON object with a field set.
func with(object []byte, path, value string) []byte {
	changed, err := sjson.SetRawBytes(object, path, []byte(value))
	if err != nil {
		panic(fmt.Sprintf("internal error: setting %s of %s: %v", path, object, err))
	}
	return changed
}

// longer is a JSON array with more elements at its end.
func longer(array string, elements ...string) string {
	body := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(array), "]"))
	if body != "[" && len(elements) > 0 {
		body += ","
	}
	return body + strings.Join(elements, ",") + "]"
}

func resultOf(i int) string { return fmt.Sprintf("result number %d of the agent", i) }

const goOn = "Go on."

// idOf is a call's id; clients make one up where there is none.
func idOf(call *conformance.Call, i int) string {
	if call.ID == "" {
		return fmt.Sprintf("call_made_up_by_client_%d", i)
	}
	return call.ID
}

func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic("internal error: a string is not JSON: " + err.Error())
	}
	return string(quoted)
}
