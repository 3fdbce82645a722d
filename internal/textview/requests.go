package textview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/humanize"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// Requests writes a list for people, with short ids. Pending requests are in the order in which people should
// decide them, with the time left in the last column; any other list has the status there.
func Requests(w io.Writer, list approvals.Page, status approvals.Status, now time.Time) error {
	last, nothing := "STATUS", "No requests."
	if status == approvals.StatusPending {
		last, nothing = "LEFT", "No pending requests."
		list.Items = slices.SortedStableFunc(slices.Values(list.Items), moreUrgent)
	}
	if len(list.Items) == 0 {
		_, err := fmt.Fprintln(w, nothing)
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "ID\tAGE\tRISK\tTOOL\tPREVIEW\tAGENT\t%s\n", last)
	for i := range list.Items {
		r := &list.Items[i]
		stands := shortStatus(r, now)
		if status == approvals.StatusPending {
			stands = timeLeft(r, now)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", sanitize.Line(approvals.ShortID(r.ID)), humanize.Ago(now.Sub(r.CreatedAt)), sanitize.Line(string(r.RiskLevel)),
			sanitize.Line(r.ToolName), Summary(r), agentOf(r, now), sanitize.Line(stands))
	}
	return endTable(w, table, list.NextCursor)
}

// byRisk has the risk levels, the highest first.
var byRisk = []approvals.Risk{approvals.RiskCritical, approvals.RiskHigh, approvals.RiskMedium, approvals.RiskLow}

// moreUrgent compares pending requests: the highest risk is first, then the least time left.
func moreUrgent(a, b approvals.Request) int {
	return cmp.Or(slices.Index(byRisk, a.RiskLevel)-slices.Index(byRisk, b.RiskLevel), a.ExpiresAt.Compare(b.ExpiresAt))
}

// timeLeft is the time in which a pending request must be decided, and whether silence approves it.
func timeLeft(r *approvals.Request, now time.Time) string {
	left := humanize.Left(r.ExpiresAt.Sub(now))
	if r.OnTimeout == approvals.OnTimeoutApprove {
		return left + ", then " + approvals.WordsFor(r.Kind).Automatic
	}
	return left
}

// agentOf is the user and the name of the agent, as far as they are known, and while its turn is
// stored the agent's side of the request and for how long; "-" without all of these.
func agentOf(r *approvals.Request, now time.Time) string {
	name, state := Shorten(sanitize.Line(Join("/", r.Principal.User, r.Principal.Agent)), PreviewWidth), ""
	if r.Agent != nil {
		state = sanitize.Line(string(r.Agent.State)) + " " + humanize.Ago(now.Sub(r.Agent.Since))
	}
	return cmp.Or(Join(" ", name, state), "-")
}

// previewOf is a request in a few words: the question of one that asks, else the title that its rule gives it, then its
// arguments.
func previewOf(r *approvals.Request) string {
	if r.Asks() {
		return r.Headline()
	}
	return Join(" · ", r.RuleTitle(), r.ArgsPreview)
}

// Summary is a request in a few words that fit into a line: its title and arguments.
func Summary(r *approvals.Request) string {
	return Shorten(sanitize.Line(previewOf(r)), PreviewWidth)
}
