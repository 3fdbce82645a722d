package notify

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Routes define which requests go where. The first that matches a request decides, for each
// of its demands and for each group that it escalates to by itself; none: it is not sent.
// Without any route every channel gets every request, at its own target.
type Routes []Route

// Route is one line of [Routes]. Empty conditions match everything; a list matches
// if one of its patterns does. In patterns * is any text without a slash, ? one
// character.
type Route struct {
	To      []Destination
	Tenants []string       // patterns of tenants
	Tools   []string       // patterns of tool names
	Rules   []string       // patterns of the rule that asks, as requests name it
	Groups  []string       // reviewer groups: one of those that may decide
	Risk    approvals.Risk // this or higher
	Hours   *Hours         // only then
	Quiet   *Quiet         // requests of that time are sent later
	Digest  time.Duration  // requests are sent together, this often, counted from midnight UTC; 0: at once
}

// Destination is a channel, and where in it.
type Destination struct {
	Channel string
	Target  string // "": the channel's own
}

// Hours are a time of day, on some days of the week. From at or after To crosses
// midnight, and belongs to the day on which it begins.
type Hours struct {
	Days     []time.Weekday // none: every day
	From, To time.Duration  // since midnight
	Zone     *time.Location // nil: UTC
}

// Quiet is a time in which only requests of a risk above Except are sent. Those that are
// still pending at its end are sent then.
type Quiet struct {
	Hours
	Except approvals.Risk // "": nothing is sent
}

// on returns the span that begins on the day of a time, some days later; none where the
// hours leave that day of the week out.
func (h *Hours) on(t time.Time, days int) (begin, end time.Time, some bool) {
	zone := h.Zone
	if zone == nil {
		zone = time.UTC
	}
	year, month, day := t.In(zone).Date()
	at := func(days int, clock time.Duration) time.Time { // a clock's time, whatever the length of the day
		return time.Date(year, month, day+days, 0, int(clock/time.Minute), 0, 0, zone)
	}
	begin, end = at(days, h.From), at(days, h.To)
	if h.From >= h.To {
		end = at(days+1, h.To)
	}
	return begin, end, len(h.Days) == 0 || slices.Contains(h.Days, begin.Weekday())
}

func (h *Hours) include(t time.Time) bool {
	for _, days := range []int{-1, 0} {
		if begin, end, some := h.on(t, days); some && !t.Before(begin) && t.Before(end) {
			return true
		}
	}
	return false
}

func (h *Hours) nextEnd(t time.Time) time.Time {
	for days := -1; days <= 8; days++ {
		if _, end, some := h.on(t, days); some && end.After(t) {
			return end
		}
	}
	return time.Time{}
}

func (r *Route) matches(q *approvals.Request, a asking, now time.Time) bool {
	if r.Hours != nil && !r.Hours.include(now) {
		return false
	}
	return anyMatches(r.Tenants, q.Principal.Tenant) &&
		anyMatches(r.Tools, q.ToolName) &&
		slices.ContainsFunc(a.rules, func(rule string) bool { return anyMatches(r.Rules, rule) }) &&
		(len(r.Groups) == 0 || slices.ContainsFunc(r.Groups, func(g string) bool { return slices.Contains(a.groups, g) })) &&
		(r.Risk == "" || RiskRank(q.RiskLevel) >= RiskRank(r.Risk))
}

func anyMatches(patterns []string, text string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		matched, err := path.Match(pattern, text)
		return err == nil && matched
	})
}

// later reports whether a request of the route is sent at a later time. With a digest
// that is the first tick after it came to those who may decide now: one whose tick passed
// while no replica ran is sent when one runs.
func (r *Route) later(q *approvals.Request, now time.Time) bool {
	if r.Quiet != nil {
		loud := r.Quiet.Except != "" && RiskRank(q.RiskLevel) > RiskRank(r.Quiet.Except)
		if r.Quiet.include(now) && !loud {
			return true
		}
	}
	came := q.CreatedAt
	if escalated := q.EscalatedAt(); !escalated.IsZero() {
		came = escalated
	}
	return r.Digest > 0 && !came.Before(now.Truncate(r.Digest))
}

// tick returns the next time after now at which waiting requests may be sent, zero if
// no route makes requests wait.
func (rs Routes) tick(now time.Time) time.Time {
	var next time.Time
	earlier := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for i := range rs {
		if rs[i].Digest > 0 {
			earlier(now.Truncate(rs[i].Digest).Add(rs[i].Digest))
		}
		if q := rs[i].Quiet; q != nil {
			earlier(q.nextEnd(now))
		}
	}
	return next
}

type routing struct {
	targets []string
	later   bool // it is posted at some target at a later time
}

// of returns where a channel posts the card of some requests: wherever the routes send
// one of them that waits for people. tick is the time for which they were queued, zero
// where they came by themselves.
func (rs Routes) of(channel string, requests []approvals.Request, now, tick time.Time) routing {
	if len(rs) == 0 {
		return routing{targets: []string{""}}
	}
	if tick.After(now) { // by the clock of the replica that queued them
		now = tick
	}
	var v routing
	for i := range requests {
		if requests[i].Status.Final() {
			continue
		}
		for _, route := range rs.leading(&requests[i], now) {
			for _, to := range route.To {
				switch {
				case to.Channel != channel || slices.Contains(v.targets, to.Target):
				case route.later(&requests[i], now):
					v.later = true
				default:
					v.targets = append(v.targets, to.Target)
				}
			}
		}
	}
	return v
}

// leading returns the routes of a request: the first that matches each of its askings. So a
// route of some hides none of the others who have to answer, nor those who are to step in.
func (rs Routes) leading(q *approvals.Request, now time.Time) []*Route {
	var routes []*Route
	for _, a := range askings(q) {
		if at := slices.IndexFunc(rs, func(r Route) bool { return r.matches(q, a, now) }); at >= 0 && !slices.Contains(routes, &rs[at]) {
			routes = append(routes, &rs[at])
		}
	}
	return routes
}

// asking is whom rules ask of a request: groups of whom one is enough.
type asking struct{ rules, groups []string }

// askings are those of each demand of a request, as it was asked at first, and of each
// group that it has escalated to.
func askings(q *approvals.Request) (all []asking) {
	if len(q.Demands) == 0 {
		return asking{[]string{q.Rule}, q.Reviewers}.apart(q.Details.Escalation)
	}
	for _, d := range q.Demands {
		rules := append(strings.Split(d.Rule, ", "), q.Rule) // which may be one that names no groups
		all = append(all, asking{rules, d.Reviewers}.apart(d.Escalation)...)
	}
	return all
}

// apart are those of an asking who were asked at first, and each group that it has
// escalated to.
func (a asking) apart(e *approvals.Escalation) (all []asking) {
	if e == nil || e.EscalatedAt == nil {
		return []asking{a}
	}
	first := slices.DeleteFunc(slices.Clone(a.groups), func(group string) bool { return slices.Contains(e.To, group) })
	if len(first) > 0 {
		all = append(all, asking{a.rules, first})
	}
	for _, group := range e.To {
		all = append(all, asking{a.rules, []string{group}})
	}
	return all
}
