package turn

import (
	"cmp"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/edits"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/results"
)

// showEarlier adds to a request about a call what the conversation shows: the steps that led to the call, and the facts
// about the files that it writes.
func (r *review) showEarlier(q *approvals.Request, j *judgedCall) {
	if r.earlier == nil {
		r.earlier = results.NewEarlier(r.conversation)
	}
	var now []intercept.Call
	for _, other := range r.calls {
		if other != j && other.released() {
			now = append(now, other.call)
		}
	}
	q.Context.Steps = r.earlier.Steps(now)
	q.Details.Files = r.shownFiles(j)
}

// shownFiles returns the facts about the files that a call writes, without secrets: as the policy sees them, else as an earlier
// result shows them.
func (r *review) shownFiles(j *judgedCall) (files []approvals.File) {
	seen := j.verdict.Files
	for _, f := range edits.Of(cmp.Or(j.verdict.Arguments, j.call.Arguments)) {
		if at := slices.IndexFunc(seen, func(s approvals.File) bool { return s.Path == f.Path }); at >= 0 {
			file := seen[at]
			file.Text = r.conversation.Redact(file.Text)
			files, seen = append(files, file), slices.Concat(seen[:at], seen[at+1:])
		} else if file, ok := r.earlier.Known(&f); ok {
			files = append(files, file)
		}
	}
	return files
}
