package console

import (
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
)

type listOf[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor"`
}

type batchPayload struct {
	Decisions []approvals.DecisionPayload `json:"decisions"`
}

type batchReply struct {
	Items []outcome `json:"items"`
}

type readinessReply struct {
	Checks []problem.Check `json:"checks"`
	Status string          `json:"status"`
}

type healthReply struct {
	Status string `json:"status"`
}
