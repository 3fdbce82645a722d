package gate

import (
	"math"
	"regexp"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/heldcall/heldcall/approvals"
)

// metrics are the numbers of a gate.
type metrics struct {
	holds             *prometheus.HistogramVec
	ended             *prometheus.CounterVec
	rules             *prometheus.CounterVec
	answers           *prometheus.HistogramVec
	decisions         *prometheus.CounterVec
	groupDecisions    *prometheus.CounterVec
	reviewerDecisions *prometheus.CounterVec
	tools             labels // of requests, as their agents describe them
	reviewers         labels
}

// holdBuckets are in seconds: from the answer of a bot to that of a person who is away.
var holdBuckets = []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}

// newMetrics registers the metrics. now returns the state of the pending requests.
func newMetrics(reg prometheus.Registerer, now func() waiting) *metrics {
	factory := promauto.With(reg)
	m := &metrics{
		holds: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "heldcall_hold_duration_seconds",
			Help:    "Time from a request to its end, by outcome.",
			Buckets: holdBuckets,
		}, []string{"outcome"}),
		ended: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "heldcall_holds_total",
			Help: "Requests that ended, by tool and outcome.",
		}, []string{"tool", "outcome"}),
		rules: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "heldcall_rule_holds_total",
			Help: "Requests that ended, by the rule that asked and outcome.",
		}, []string{"rule", "outcome"}),
		answers: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "heldcall_time_to_decision_seconds",
			Help:    "Time from a request to the final decision of a reviewer, by tool.",
			Buckets: holdBuckets,
		}, []string{"tool"}),
		decisions: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "heldcall_decisions_total",
			Help: "Reviewer decisions handled by this replica, by channel and action.",
		}, []string{"channel", "action"}),
		groupDecisions: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "heldcall_group_decisions_total",
			Help: "Reviewer decisions handled by this replica, by group of the request and action. A decision on a request to several groups counts for each.",
		}, []string{"group", "action"}),
		reviewerDecisions: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "heldcall_reviewer_decisions_total",
			Help: "Reviewer decisions handled by this replica, by reviewer and action.",
		}, []string{"reviewer", "action"}),
	}
	for _, s := range []approvals.Status{approvals.StatusApproved, approvals.StatusDenied, approvals.StatusAnswered, approvals.StatusExpired, approvals.StatusCancelled} {
		m.holds.WithLabelValues(string(s))
	}
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "heldcall_requests_pending",
		Help: "Pending requests on all replicas.",
	}, func() float64 { return float64(now().requests) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "heldcall_request_oldest_pending_age_seconds",
		Help: "Age of the oldest pending request; 0 if none is pending.",
	}, func() float64 { return now().oldest.Seconds() })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "heldcall_request_next_expiry_seconds",
		Help: "Time until the first pending request expires; NaN if none is pending.",
	}, func() float64 {
		w := now()
		if w.requests == 0 {
			return math.NaN()
		}
		return w.expires.Seconds()
	})
	return m
}

// held counts the end of a request that this gate held.
func (m *metrics) held(r *approvals.Request) {
	tool := m.toolOf(r)
	m.rules.WithLabelValues(r.Rule, string(r.Status)).Inc()
	m.ended.WithLabelValues(tool, string(r.Status)).Inc()
	if r.Details.EndedAt == nil {
		return
	}
	took := r.Details.EndedAt.Sub(r.CreatedAt).Seconds()
	m.holds.WithLabelValues(string(r.Status)).Observe(took)
	if d, ok := r.FinalDecision(); ok && !approvals.Automatic(d.ReviewerID) {
		m.answers.WithLabelValues(tool).Observe(took)
	}
}

// AnyGroup is the label in metrics of a request that any reviewer may decide.
const AnyGroup = "any"

// decided counts a decision.
func (m *metrics) decided(r *approvals.Request, d *approvals.Decision) {
	m.decisions.WithLabelValues(d.Channel, string(d.Action)).Inc()
	m.reviewerDecisions.WithLabelValues(m.reviewers.of(d.ReviewerID), string(d.Action)).Inc()
	groups := r.Reviewers
	if len(groups) == 0 {
		groups = []string{AnyGroup}
	}
	for i, group := range groups {
		if !slices.Contains(groups[:i], group) {
			m.groupDecisions.WithLabelValues(group, string(d.Action)).Inc()
		}
	}
}

// toolName matches the names of tools in the APIs that heldcall knows.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,64}$`)

// toolOf returns the label for the tool of a request. Names that no agent describes, as a model invents them, have none of
// their own.
func (m *metrics) toolOf(r *approvals.Request) string {
	described := r.Tool.Description != "" || len(r.Tool.Parameters) > 0
	if !described || !toolName.MatchString(r.ToolName) {
		return OtherLabel
	}
	return m.tools.of(r.ToolName)
}

const (
	// maxLabels is the number of tools, and of reviewers, with their own series.
	maxLabels = 50
	// OtherLabel is the label in metrics of all other tools, and of all other reviewers.
	OtherLabel = "other"
)

// labels bounds the series of a metric: only the first names have their own. The zero value is ready to use.
type labels struct {
	hidden bool // no name has its own
	mu     sync.Mutex
	known  map[string]bool
}

// of returns the label for a name.
func (l *labels) of(name string) string {
	if l.hidden {
		return OtherLabel
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known[name] {
		if len(l.known) == maxLabels {
			return OtherLabel
		}
		if l.known == nil {
			l.known = map[string]bool{}
		}
		l.known[name] = true
	}
	return name
}
