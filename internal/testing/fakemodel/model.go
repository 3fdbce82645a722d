package fakemodel

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
)

// Model is a deterministic model for Chat Completions, Responses and Messages: the first
// rule that matches the end of the conversation gives the answer. The same request, with the
// same stored responses, gets the same answer, ids included. A model is safe for concurrent
// use.
type Model struct {
	Rules []Rule
	// Otherwise answers what no rule fits; its zero value is an empty text.
	Otherwise Answer

	memory memory
}

// Rule is one answer of the model, and the conversations that it is for.
type Rule struct {
	When Condition
	Say  func(Conversation) Answer
}

// Condition decides whether a rule fits a conversation.
type Condition func(Conversation) bool

// Say is a rule's answer that does not depend on the conversation.
func Say(a Answer) func(Conversation) Answer {
	return func(Conversation) Answer { return a }
}

// UserSays fits when the last message is the user's and contains text.
func UserSays(text string) Condition {
	return func(c Conversation) bool {
		return c.Last().Role == "user" && strings.Contains(c.Last().Content, text)
	}
}

// ToolAnswers fits when one of the conversation's latest results is of that
// tool and contains text. A denial is such a result too.
func ToolAnswers(tool, text string) Condition {
	return func(c Conversation) bool {
		for _, result := range c.Results() {
			if result.Tool == tool && strings.Contains(result.Content, text) {
				return true
			}
		}
		return false
	}
}

// All fits when every condition does.
func All(conditions ...Condition) Condition {
	return func(c Conversation) bool {
		for _, fits := range conditions {
			if !fits(c) {
				return false
			}
		}
		return true
	}
}

// Reply is the model's [Script]. The path selects the API. It refuses what the providers do:
// an unknown route, a body that is no conversation, a call without its result.
func (m *Model) Reply(r *Request) Reply {
	for _, route := range routes() {
		if id, ok := route.fits(r.Method, r.Path); ok {
			return route.reply(m, r, id)
		}
	}
	return Fail(http.StatusNotFound, "unknown_url", "Unknown request URL: "+r.Method+" "+r.Path)
}

func (m *Model) chat(r *Request, _ string) Reply {
	conversation, err := ParseConversation(r.Body)
	if err != nil {
		return Fail(http.StatusBadRequest, "invalid_body", err.Error())
	}
	if err := conversation.Check(); err != nil {
		return Fail(http.StatusBadRequest, "invalid_messages", err.Error())
	}
	sum := sha256.Sum256(r.Body)
	digest := hex.EncodeToString(sum[:])
	answer := m.answer(conversation).counted(r.Body).named(func(i int) string {
		return fmt.Sprintf("call_%s%02d", digest[:22], i)
	})
	answer.ID = or(answer.ID, "chatcmpl-"+digest[:29])
	answer.Model = or(answer.Model, conversation.Model)
	return answer.Reply(r)
}

func (m *Model) answer(c Conversation) Answer {
	for _, rule := range m.Rules {
		if rule.When(c) {
			return rule.Say(c)
		}
	}
	return m.Otherwise
}
