package socket

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// The types of messages: of the agent, and of the model API where they end an answer.
const (
	typeCreate     = "response.create"
	typeInterrupt  = "response.interrupt"
	typeCompleted  = "response.completed"
	typeIncomplete = "response.incomplete"
	typeFailed     = "response.failed"
	typeError      = "error"
)

// laneField names the lane of a message.
const laneField = "stream_id"

// failures are the answers to messages of the agent that are not passed on, by their types: they add to an answer
// whose calls the agent does not have yet. Others get an error.
var failures = map[string]string{"response.steer": "response.steer.failed", "response.inject": "response.inject.failed"}

// failure is the answer to a message that is not passed on, nil where that is an error.
func (m *clientMessage) failure() []byte {
	kind, known := failures[m.kind]
	if !known {
		return nil
	}
	answer := fmt.Appendf(nil, `{"type":%q,"error":{"code":"not_supported","message":%s,"type":"invalid_request_error"}`, kind, strictjson.Quote("heldcall: "+notPassed))
	for _, name := range []string{"response_id", "previous_response_id"} {
		if id := gjson.GetBytes(m.raw, name); id.Type == gjson.String {
			answer = fmt.Appendf(answer, `,%q:%s`, name, id.Raw)
		}
	}
	return append(answer, '}')
}

const notPassed = "this message is not passed on, as it changes an answer whose calls may be held; send it as a request when the answer has ended"

// interrupted is the end of an answer that the agent has interrupted.
func interrupted(response string) []byte {
	return fmt.Appendf(nil, `{"type":%q,"response":{"id":%s,"object":"response","status":"incomplete","incomplete_details":{"reason":"interrupted"},"output":[]}}`, typeIncomplete, strictjson.Quote(response))
}

// clientMessage is a message of the agent.
type clientMessage struct {
	raw  []byte
	kind string
	lane string
}

// readMessage reads a message of the agent, which must be a strict JSON object.
func readMessage(raw []byte) (clientMessage, error) {
	fields, err := strictjson.ReadFields(raw, "type", laneField)
	if err != nil {
		return clientMessage{}, err
	}
	m := clientMessage{raw: raw, kind: gjson.ParseBytes(fields.Raw("type")).Str}
	lane := gjson.ParseBytes(fields.Raw(laneField))
	if lane.Exists() && lane.Type != gjson.String && lane.Type != gjson.Null {
		return clientMessage{}, errors.New(laneField + " is not a text")
	}
	m.lane = lane.Str
	return m, nil
}

// request is the body with which the agent would ask for the same over HTTP.
func (m *clientMessage) request() ([]byte, error) {
	if gjson.GetBytes(m.raw, "background").Bool() {
		return nil, errors.New("background is not for requests over WebSocket")
	}
	return remake(m.raw, []string{"type", laneField, "stream"}, `"stream":true`), nil
}

// createMessage is the message with which the model API gets a request.
func createMessage(body []byte, lane string) []byte {
	return onLane(remake(body, []string{"stream"}, `"type":"`+typeCreate+`"`), lane)
}

// interruptMode is what an interrupt may ask for beside the usual.
const interruptMode = "discard_partial_items"

// interrupt is the message with which the model API gets an interrupt of the agent, of the response that is under way
// there: after a denial it is another than the agent knows. It has nothing else of the agent's message, which
// may have secrets.
func (m *clientMessage) interrupt(lane, response string) []byte {
	message := fmt.Appendf(nil, `{"type":%q,"response_id":%s`, typeInterrupt, strictjson.Quote(response))
	if gjson.GetBytes(m.raw, "mode").Str == interruptMode {
		message = fmt.Appendf(message, `,"mode":%q`, interruptMode)
	}
	return onLane(append(message, '}'), lane)
}

// remake returns a strict JSON object without some members, and with others before the rest.
func remake(object []byte, without []string, with ...string) []byte {
	remade := append(make([]byte, 0, len(object)+64), '{')
	add := func(member ...string) {
		if len(remade) > 1 {
			remade = append(remade, ',')
		}
		for _, part := range member {
			remade = append(remade, part...)
		}
	}
	for _, member := range with {
		add(member)
	}
	gjson.ParseBytes(object).ForEach(func(name, value gjson.Result) bool {
		if !slices.Contains(without, name.Str) {
			add(name.Raw, ":", value.Raw)
		}
		return true
	})
	return append(remade, '}')
}

// onLane adds the lane to a message, which is a JSON object with a member.
func onLane(message []byte, lane string) []byte {
	object := bytes.TrimRight(message, " \t\r\n")
	if lane == "" || !bytes.HasSuffix(object, []byte("}")) {
		return message
	}
	return append(append(append(bytes.Clone(object[:len(object)-1]), `,"`+laneField+`":`...), strictjson.Quote(lane)...), '}')
}

// offLane returns the lane of a message of the model API, and the message without it. One that is not
// strict keeps it: the turn refuses that.
func offLane(message []byte) (lane string, rest []byte) {
	if !bytes.Contains(message, []byte(laneField)) && !bytes.Contains(message, []byte(`\u`)) {
		return "", message
	}
	object := gjson.ParseBytes(message)
	lane = object.Get(laneField).String()
	if lane == "" || !object.IsObject() || strictjson.Strict(message) != nil {
		return lane, message
	}
	return lane, remake(message, []string{laneField})
}

// errorMessage is the message for an error with a status and a body. Codex ignores one without a status.
func errorMessage(status int, body []byte) []byte {
	failure := gjson.GetBytes(body, "error")
	if strictjson.Strict(body) != nil || !failure.IsObject() {
		failure = gjson.Parse(`{"message":` + strictjson.Quote("heldcall: the upstream refused the request with status "+strconv.Itoa(status)) + `,"type":"upstream_error","param":null,"code":null}`)
	}
	return fmt.Appendf(nil, `{"type":%q,"status":%d,"error":%s}`, typeError, status, failure.Raw)
}

// ends reports whether a message of the model API is the last of an answer.
func ends(kind string) bool {
	switch kind {
	case typeCompleted, typeIncomplete, typeFailed, typeError:
		return true
	}
	return false
}
