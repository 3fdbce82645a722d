package check_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/heldcall/heldcall/dashboards"
)

const dashboardFile = "../grafana/heldcall.json"

// Every query of the dashboard, as its file has it, names metrics, labels and
// values that heldcall exports.
func TestDashboardNamesWhatIsExported(t *testing.T) {
	metrics := exported(t)
	queries := fileQueries(t)
	if len(queries) != len(dashboards.Heldcall().Queries()) {
		t.Fatalf("%s has %d queries, the code %d", dashboardFile, len(queries), len(dashboards.Heldcall().Queries()))
	}
	for _, query := range queries {
		labels, err := check(inTime(query.Expr), metrics)
		if err != nil {
			t.Errorf("%s: %v", query.Expr, err)
			continue
		}
		for _, label := range regexp.MustCompile(`\{\{ *(\w+) *\}\}`).FindAllStringSubmatch(query.Legend, -1) {
			if !slices.Contains(labels, label[1]) {
				t.Errorf("%s: its legend has %s, its result does not: %v", query.Expr, label[1], labels)
			}
		}
	}
}

// The check finds what it is for.
func TestCheckRefusesWhatThereIsNot(t *testing.T) {
	metrics := map[string]metric{"calls_total": {"outcome": {"expired"}}, "age_bucket": {"le": {"1"}}}
	for expr, want := range map[string]string{
		`sum by (outcome) (rate(calls_total{job="x"}[5m]))`:                    "",
		`histogram_quantile(0.9, sum by (le) (rate(age_bucket[5m])))`:          "",
		`sum(rate(cals_total[5m]))`:                                            "no metric cals_total",
		`calls_total{outcom="expired"}`:                                        "no label outcom",
		`calls_total{outcome="expird"}`:                                        "no value expird",
		`sum by (tool) (calls_total)`:                                          "no label tool",
		`sum by (job) (calls_total) / on (outcome) sum by (job) (up)`:          "no metric up",
		`sum by (job) (calls_total) / on (outcome) sum by (job) (calls_total)`: "no label outcome",
		`histogram_quantile(0.9, sum by (job) (rate(age_bucket[5m])))`:         "without le",
		`sum(`: "parse",
	} {
		_, err := check(expr, metrics)
		if (want == "" && err != nil) || (want != "" && (err == nil || !strings.Contains(err.Error(), want))) {
			t.Errorf("%s: %v, want %q", expr, err, want)
		}
	}
}

// fileQueries are all queries in the dashboard's file.
func fileQueries(t *testing.T) []dashboards.Query {
	t.Helper()
	content, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var file panelJSON
	if err := json.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	return file.queries()
}

// panelJSON is a panel, a row with the panels of it if it is closed, or the dashboard.
type panelJSON struct {
	Panels  []panelJSON
	Targets []struct{ Expr, LegendFormat string }
}

func (p panelJSON) queries() (all []dashboards.Query) {
	for _, target := range p.Targets {
		all = append(all, dashboards.Query{Expr: target.Expr, Legend: target.LegendFormat})
	}
	for _, panel := range p.Panels {
		all = append(all, panel.queries()...)
	}
	return all
}

// inTime fills in what Grafana fills in: how far rates look back, and all that
// its variables can be.
func inTime(expr string) string {
	return strings.NewReplacer("$__rate_interval", "10s", "$__range", "10s", "$job", ".*", "$instance", ".*").Replace(expr)
}

var promQL = parser.NewParser(parser.Options{})

// check parses an expression and looks all up that it names. It returns the
// labels of the result.
func check(expr string, metrics map[string]metric) ([]string, error) {
	parsed, err := promQL.ParseExpr(expr)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	return labelsOf(parsed, metrics)
}

// labelsOf are the labels that the result of an expression has.
func labelsOf(node parser.Node, metrics map[string]metric) ([]string, error) {
	switch n := node.(type) {
	case *parser.VectorSelector:
		return selected(n, metrics)
	case *parser.AggregateExpr:
		return aggregated(n, metrics)
	case *parser.BinaryExpr:
		return joined(n, metrics)
	}
	all, err := ofChildren(node, metrics)
	if call, ok := node.(*parser.Call); ok && err == nil && call.Func.Name == "histogram_quantile" {
		i := slices.Index(all, "le")
		if i < 0 {
			return nil, errors.New("histogram_quantile without le")
		}
		all = slices.Delete(all, i, i+1)
	}
	return all, err
}

func ofChildren(node parser.Node, metrics map[string]metric) ([]string, error) {
	var all []string
	for child := range parser.ChildrenIter(node) {
		names, err := labelsOf(child, metrics)
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// selected looks up a metric, and the labels and values that select of it.
func selected(n *parser.VectorSelector, metrics map[string]metric) ([]string, error) {
	known, ok := metrics[n.Name]
	if !ok {
		return nil, fmt.Errorf("there is no metric %s", n.Name)
	}
	for _, m := range n.LabelMatchers {
		if m.Name == labels.MetricName || slices.Contains(scraped, m.Name) {
			continue
		}
		values, ok := known[m.Name]
		if !ok {
			return nil, fmt.Errorf("%s has no label %s", n.Name, m.Name)
		}
		if exact := m.Type == labels.MatchEqual || m.Type == labels.MatchNotEqual; exact && !slices.Contains(values, m.Value) {
			return nil, fmt.Errorf("%s of %s has no value %s, only %v", m.Name, n.Name, m.Value, values)
		}
	}
	names := slices.Clone(scraped)
	for name := range known {
		names = append(names, name)
	}
	return names, nil
}

func aggregated(n *parser.AggregateExpr, metrics map[string]metric) ([]string, error) {
	all, err := labelsOf(n.Expr, metrics)
	if err != nil {
		return nil, err
	}
	if n.Op == parser.TOPK {
		return all, nil
	}
	if n.Without {
		return nil, errors.New("aggregates without labels: name those that stay")
	}
	return slices.Clone(n.Grouping), within(n.Grouping, all)
}

func joined(n *parser.BinaryExpr, metrics map[string]metric) ([]string, error) {
	all, err := ofChildren(n, metrics)
	if err == nil && n.VectorMatching != nil {
		err = within(append(slices.Clone(n.VectorMatching.MatchingLabels), n.VectorMatching.Include...), all)
	}
	return all, err
}

// within fails for a label that is not there.
func within(wanted, there []string) error {
	for _, label := range wanted {
		if !slices.Contains(there, label) {
			return fmt.Errorf("there is no label %s, only %v", label, there)
		}
	}
	return nil
}
