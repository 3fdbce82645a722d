// Package check holds that dashboard, rules and alerts name only what a heldcall
// exports: its tests parse every PromQL expression and look each metric, label
// and value up in what a heldcall exports that has played the demo. With the tag
// observe a real Prometheus scrapes one, and every query of the dashboard must
// find data. A module of its own, so that Prometheus's parser is no dependency of
// heldcall.
package check
