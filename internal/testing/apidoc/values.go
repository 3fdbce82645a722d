package apidoc

import (
	"reflect"
	"sync"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// Values are all that a type of texts can be; nil for one that can be any text.
func Values(t reflect.Type) []string { return values()[t] }

var values = sync.OnceValue(func() map[reflect.Type][]string {
	return map[reflect.Type][]string{
		reflect.TypeFor[approvals.Status]():       texts(approvals.StatusPending, approvals.StatusApproved, approvals.StatusDenied, approvals.StatusAnswered, approvals.StatusExpired, approvals.StatusCancelled),
		reflect.TypeFor[approvals.Kind]():         texts(approvals.KindPermission, approvals.KindClarification, approvals.KindDecision, approvals.KindEnvVar, approvals.KindCombined, approvals.KindResult),
		reflect.TypeFor[approvals.Action]():       texts(approvals.ActionApprove, approvals.ActionDeny, approvals.ActionModifyArgs, approvals.ActionAllowAlways, approvals.ActionDenyAlways, approvals.ActionAnswer, approvals.ActionAbortRun),
		reflect.TypeFor[approvals.SignalAction](): texts(approvals.SignalPause, approvals.SignalResume, approvals.SignalAbort),
		reflect.TypeFor[approvals.RunState]():     texts(approvals.RunRunning, approvals.RunPaused, approvals.RunAborted, approvals.RunEnded),
		reflect.TypeFor[approvals.GrantEffect]():  texts(approvals.GrantAllow, approvals.GrantDeny),
		reflect.TypeFor[approvals.FileSource]():   texts(approvals.FromWorkspace, approvals.FromResult),
		reflect.TypeFor[approvals.GrantScope]():   texts(approvals.GrantSession, approvals.GrantAgent, approvals.GrantUser, approvals.GrantTenant),
		reflect.TypeFor[approvals.EventType](): texts(
			approvals.EventApprovalRequired, approvals.EventApprovalDecision, approvals.EventApprovalEscalated, approvals.EventApprovalExpired, approvals.EventApprovalCancelled,
			approvals.EventCallAllowed, approvals.EventCallDenied, approvals.EventCallModified, approvals.EventCallReleased, approvals.EventCallNotReleased, approvals.EventDenialTold, approvals.EventQuestionAnswered, approvals.EventSecretUsed,
			approvals.EventCallResult, approvals.EventResultDenied, approvals.EventResultRedacted,
			approvals.EventGrantCreated, approvals.EventGrantRevoked, approvals.EventWindowOpened, approvals.EventWindowClosed, approvals.EventWorkspaceAdded, approvals.EventRunPaused, approvals.EventRunResumed, approvals.EventRunAborted, approvals.EventRunEnded,
			approvals.EventDelegationCreated, approvals.EventDelegationRevoked,
			approvals.EventTurnDetached, approvals.EventTurnReattached, approvals.EventTurnParked, approvals.EventTurnReady,
			approvals.EventCheckpoint, approvals.EventPolicyChanged, approvals.EventReviewersChanged, approvals.EventPasskeyRegistered, approvals.EventPasskeyRevoked, approvals.EventLossAccepted,
		),
		reflect.TypeFor[approvals.ApprovalState](): texts(approvals.ApprovalWaiting, approvals.ApprovalReleased, approvals.ApprovalNotReleased),
		reflect.TypeFor[approvals.AttachState]():   texts(approvals.AgentAttached, approvals.AgentDetached, approvals.AgentParked),
		reflect.TypeFor[reviewers.Role]():          texts(reviewers.RoleViewer, reviewers.RoleReviewer, reviewers.RoleAdmin),
	}
})

func texts[T ~string](all ...T) []string {
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = string(one)
	}
	return out
}

// mostValues is the largest number of values of a type.
func mostValues() (most int) {
	for _, all := range values() {
		most = max(most, len(all))
	}
	return most
}
