package approvals

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// TogetherKey returns the question that the request is part of while it is pending: pending requests with the same key may
// be shown as one question with one answer, which is a decision on each of those that were shown. It is "" if the request
// is decided by itself.
//
// Requests of one question are of one run, at one risk, and asked for by the same rule, or all by no rule but a default or
// the risk of a tool. The same people may decide them, and no answer means the same for each. Of those that may do more than
// edits and checks, each does the same.
func (r *Request) TogetherKey() string {
	if !r.joins() {
		return ""
	}
	rule := r.Rule
	if r.Details.ByDefault {
		rule = ""
	}
	text, err := json.Marshal([]any{r.Principal, r.SessionID, r.RunID, rule, r.RiskLevel, r.apartBy(), r.Reviewers, r.OnTimeout, r.Details.Tainted != ""})
	if err != nil { // of no such value
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// apartBy returns what a request has in common with all that it is joined with: the kinds of its effects if it is at high risk,
// does more than read, write, check and fetch, or writes what it fetches; what it runs and sends to; and scripts and tasks
// whose names say little of what they do.
func (r *Request) apartBy() (all []string) {
	has := func(kind EffectKind) bool {
		return slices.ContainsFunc(r.Effects, func(e Effect) bool { return e.Kind == kind })
	}
	kinds, apart := []string{}, r.RiskLevel == RiskHigh || (has(EffectFetch) && has(EffectWrite))
	for _, e := range r.Effects {
		kinds = append(kinds, string(e.Kind))
		switch e.Kind {
		case EffectNone, EffectRead, EffectWrite, EffectFetch:
		case EffectCheck:
			if !isPlainCheck(e.Target) {
				all = append(all, e.Target)
			}
		case EffectRun, EffectSend:
			apart, all = true, append(all, e.Target)
		default:
			apart = true
		}
	}
	if apart {
		all = append(all, kinds...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// checkWords are the words in names of tasks that say that they check or build.
var checkWords = strings.Fields("test tests unit integration e2e spec run exec build compile check checks lint vet verify validate analyze typecheck types doc docs fmt format style coverage cov all watch jest vitest mocha eslint prettier tsc pytest mypy ruff")

// isPlainCheck reports whether the target of a check is a program alone, or its last word says that it checks or builds.
func isPlainCheck(target string) bool {
	words := strings.Fields(target)
	if len(words) == 0 || strings.ContainsAny(target, `/\`) {
		return len(words) == 0
	}
	last := strings.FieldsFunc(words[len(words)-1], func(r rune) bool { return strings.ContainsRune(":-_.", r) })
	return len(words) == 1 || !slices.ContainsFunc(last, func(part string) bool { return !slices.Contains(checkWords, part) })
}

// joins reports whether the request may be answered together with others: a call whose effects are all known, about which
// policy has no doubt, and that one approval without more releases.
func (r *Request) joins() bool {
	switch {
	case r.Status.Final(), r.Kind != KindPermission, r.RunID == "":
		return false
	case !slices.Contains([]Risk{RiskLow, RiskMedium, RiskHigh}, r.RiskLevel):
		return false
	case !r.OneDecides(), len(r.Decisions) > 0, r.Details.Confirm != "", r.Details.Passkey, len(r.Details.Secrets) > 0:
		return false
	case len(r.Details.Doubts) > 0, slices.ContainsFunc(r.Details.Flags, func(flag string) bool { return flag != TaintFlag(r.Details.Tainted) }):
		return false
	}
	return len(r.Effects) > 0 && !slices.ContainsFunc(r.Effects, func(e Effect) bool { return e.Kind == EffectUnknown || !isKnown(e.Kind) })
}

// TaintFlag returns the flag of a request of a tainted run, by [Details.Tainted].
func TaintFlag(cause string) string { return "The run is tainted: it has read " + cause + "." }

// JointQuestions returns the pending requests among some that were served as questions, in the order of their first
// requests. Each has the requests with one [Request.Together], or a request that is decided by itself.
func JointQuestions(requests []Request) (questions [][]Request) {
	at := map[string]int{}
	for i := range requests {
		r := &requests[i]
		if r.Status.Final() {
			continue
		}
		place, known := at[r.Together]
		if known && r.Together != "" {
			questions[place] = append(questions[place], *r)
			continue
		}
		at[r.Together] = len(questions)
		questions = append(questions, []Request{*r})
	}
	return questions
}
