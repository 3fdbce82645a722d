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

// metrics are the numbers of a gate.
type metrics struct {
	holds          *prometheus.HistogramVec
	ended          *prometheus.CounterVec
	answers        *prometheus.HistogramVec
	decisions      *prometheus.CounterVec
	groupDecisions *prometheus.CounterVec
	tools          toolLabels
}

// holdBuckets are in seconds: from the answer of a bot to that of a person who is away.
var holdBuckets = []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}

// newMetrics registers the metrics. waiting returns the number of pending requests and the
// age of the oldest.
func newMetrics(reg prometheus.Registerer, waiting func() (int, time.Duration)) *metrics {
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
	}
	for _, s := range []approvals.Status{approvals.StatusApproved, approvals.StatusDenied, approvals.StatusAnswered, approvals.StatusExpired, approvals.StatusCancelled} {
		m.holds.WithLabelValues(string(s))
	}
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "heldcall_requests_pending",
		Help: "Pending requests on all replicas.",
	}, func() float64 { n, _ := waiting(); return float64(n) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "heldcall_request_oldest_pending_age_seconds",
		Help: "Age of the oldest pending request; 0 if none is pending.",
	}, func() float64 { _, age := waiting(); return age.Seconds() })
	return m
}

// held counts the end of a request that this gate held.
func (m *metrics) held(r *approvals.Request) {
	tool := m.tools.of(r)
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
	// maxToolLabels is the number of tools with their own series.
	maxToolLabels = 50
	// OtherTools is the label in metrics of all other tools.
	OtherTools = "other"
)

// toolName matches the names of tools in the APIs that heldcall knows.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,64}$`)

// toolLabels bounds the labels for tools: only the first tools that were held and that
// their agent has described have their own. Names that a model invents create no series.
// The zero value is ready to use.
type toolLabels struct {
	hidden bool // no tool has its own
	mu     sync.Mutex
	known  map[string]bool
}

// of returns the label for the tool of a request.
func (l *toolLabels) of(r *approvals.Request) string {
	described := r.Tool.Description != "" || len(r.Tool.Parameters) > 0
	if l.hidden || !described || !toolName.MatchString(r.ToolName) {
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
