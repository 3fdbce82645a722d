// Package policy decides whether a tool call is allowed or denied, or needs approval. It
// does no I/O but to read files: a call and its principal in, a verdict out. docs/policy.md
// describes the language of policies and what each pattern matches.
//
// # Which rule decides
//
// The order of rules does not matter. The first of these that matches a call decides: a deny
// rule or a grant that denies, an ask rule, an allow rule or a grant that allows, the default
// of the tool, the risk of the tool, the default of the policy. Of several ask rules the
// strictest settings apply together.
//
// # Uncertainty
//
// A deny or ask pattern may match, and an uncertain match never allows a call: people are
// asked. An allow pattern covers a call only if every part of it is certain. [Verdict.Flags]
// lists the reasons for the reviewer.
//
// # Limits
//
// A policy keeps no counts. A verdict lists the limits of its rules, a [Counter] counts the
// calls, and [Verdict.Exceeded] is the verdict on a call that exceeds a limit.
//
// # The code
//
// [Policy.Judge] is the entry. An evaluation (evaluation.go) compares a call, parsed by
// package call, with the rules and grants. A question (question.go) makes the verdict.
// Package effects finds what a call does by tables, suggest.go how a decision may be remembered.
// Package rule reads policy files and compares single patterns, package shell finds the
// commands of scripts, and package match compares texts. None of them imports this package.
package policy
