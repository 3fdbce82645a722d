package gate

import (
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/heldcall/heldcall/approvals"
)

// gateMetrics are the numbers of a gate.
type gateMetrics struct {
	holds          *prometheus.HistogramVec
	ended          *prometheus.CounterVec
	answers        *prometheus.HistogramVec
	decisions      *prometheus.CounterVec
	groupDecisions *prometheus.CounterVec
	tools          toolLabels
}

// holdBuckets are in seconds: from a bot that answers to a person who is away.
var holdBuckets = []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}

func newGateMetrics(reg prometheus.Registerer, g *Gate) *gateMetrics {
	factory := promauto.With(reg)
	m := &gateMetrics{
		holds: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "heldcall_hold_duration_seconds",
			Help:    "Time from a request to its end, by how it ended.",
			Buckets: holdBuckets,
		}, []string{"outcome"}),
		ended: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "heldcall_holds_total",
			Help: "Requests that ended, by the tool of the call and how they ended.",
		}, []string{"tool", "outcome"}),
		answers: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "heldcall_time_to_decision_seconds",
			Help:    "Time from a request to the decision of a reviewer that ended it, by the tool of the call.",
			Buckets: holdBuckets,
		}, []string{"tool"}),
		decisions: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "heldcall_decisions_total",
			Help: "Decisions of reviewers that were taken here, by the channel they came over and what they were.",
		}, []string{"channel", "action"}),
		groupDecisions: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "heldcall_group_decisions_total",
			Help: "Decisions of reviewers that were taken here, by the group that was asked. One on a request to several groups counts for each.",
		}, []string{"group", "action"}),
	}
	for _, s := range []approvals.Status{approvals.StatusApproved, approvals.StatusDenied, approvals.StatusAnswered, approvals.StatusExpired, approvals.StatusCancelled} {
		m.holds.WithLabelValues(string(s))
	}
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "heldcall_requests_pending",
		Help: "Requests that wait for a decision, on all replicas.",
	}, func() float64 { n, _ := g.waiting(); return float64(n) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "heldcall_request_oldest_pending_age_seconds",
		Help: "Age of the request that has waited longest; 0 if none waits.",
	}, func() float64 { _, age := g.waiting(); return age.Seconds() })
	return m
}

// held counts the end of a request that this gate held.
func (m *gateMetrics) held(r approvals.Request) {
	tool := m.tools.of(&r)
	m.ended.WithLabelValues(tool, string(r.Status)).Inc()
	if r.Details.EndedAt == nil {
		return
	}
	took := r.Details.EndedAt.Sub(r.CreatedAt).Seconds()
	m.holds.WithLabelValues(string(r.Status)).Observe(took)
	if d, ok := r.FinalDecision(); ok && d.ReviewerID != approvals.ReviewerTimeout {
		m.answers.WithLabelValues(tool).Observe(took)
	}
}

// AnyGroup stands in metrics for a request that asked no group: any reviewer may
// decide it.
const AnyGroup = "any"

// decided counts a decision that was taken.
func (m *gateMetrics) decided(r approvals.Request, d approvals.Decision) {
	m.decisions.WithLabelValues(d.Channel, string(d.Action)).Inc()
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

const (
	// maxToolLabels is how many tools have series of their own.
	maxToolLabels = 50
	// OtherTools stands in metrics for all tools that have none.
	OtherTools = "other"
)

// toolName is what names of tools look like in the APIs that heldcall knows.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,64}$`)

// toolLabels keeps the label for tools a short list: the first tools that are
// held, as far as their agent has described them. A model that makes names up
// makes no series. The zero value is ready.
type toolLabels struct {
	mu    sync.Mutex
	known map[string]bool
}

// of is the label for the tool of a request.
func (l *toolLabels) of(r *approvals.Request) string {
	described := r.Tool.Description != "" || len(r.Tool.Parameters) > 0
	if !described || !toolName.MatchString(r.ToolName) {
		return OtherTools
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known[r.ToolName] {
		if len(l.known) == maxToolLabels {
			return OtherTools
		}
		if l.known == nil {
			l.known = map[string]bool{}
		}
		l.known[r.ToolName] = true
	}
	return r.ToolName
}

// waiting counts the pending requests and the age of the oldest.
func (g *Gate) waiting() (n int, oldest time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	for _, w := range g.pending {
		oldest = max(oldest, now.Sub(w.createdAt))
	}
	return len(g.pending), oldest
}
