package check_test

import (
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"go.yaml.in/yaml/v3"
)

const (
	rulesFile = "../prometheus/rules.yaml"
	rulesTest = "../prometheus/rules_test.yaml"
	manual    = "../../docs/operate.md"
)

// readRules are the rules in the order of their file.
func readRules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	content, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(content, false, model.UTF8Validation, promQL, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var rules []rulefmt.Rule
	for _, group := range groups.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules
}

// Every rule names what heldcall exports, or a rule before it has recorded.
func TestRulesNameWhatIsExported(t *testing.T) {
	metrics := exported(t)
	for _, rule := range readRules(t) {
		labels, err := check(rule.Expr, metrics)
		if err != nil {
			t.Errorf("%s%s: %v", rule.Record, rule.Alert, err)
			continue
		}
		if rule.Record != "" {
			recorded := metric{}
			for _, label := range labels {
				recorded[label] = nil
			}
			metrics[rule.Record] = recorded
		}
		for name, text := range rule.Annotations {
			for _, label := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(text, -1) {
				if !slices.Contains(labels, label[1]) {
					t.Errorf("%s: its %s has the label %s, its result does not: %v", rule.Alert, name, label[1], labels)
				}
			}
		}
	}
}

// Every alert explains what to do, in itself and in the manual, and has a test.
func TestAlertsAreComplete(t *testing.T) {
	operate, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	tested := alertsTested(t)
	alerts := 0
	for _, rule := range readRules(t) {
		if rule.Alert == "" {
			continue
		}
		alerts++
		for _, annotation := range []string{"summary", "description", "runbook"} {
			if rule.Annotations[annotation] == "" {
				t.Errorf("%s has no %s", rule.Alert, annotation)
			}
		}
		if severity := rule.Labels["severity"]; severity != "critical" && severity != "warning" {
			t.Errorf("%s has the severity %q", rule.Alert, severity)
		}
		if want := "docs/operate.md#" + strings.ToLower(rule.Alert); !strings.HasSuffix(rule.Annotations["runbook_url"], want) {
			t.Errorf("%s leads to %s, not to %s", rule.Alert, rule.Annotations["runbook_url"], want)
		}
		if !strings.Contains(string(operate), "\n### "+rule.Alert+"\n") {
			t.Errorf("%s has no section for %s", manual, rule.Alert)
		}
		if !slices.Contains(tested, rule.Alert) {
			t.Errorf("%s has no test for %s", rulesTest, rule.Alert)
		}
	}
	if alerts == 0 {
		t.Errorf("%s has no alert", rulesFile)
	}
}

// alertsTested are the alerts that a test waits for.
func alertsTested(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(rulesTest)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Tests []struct {
			Expressions []struct {
				Samples []struct{ Labels string } `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		}
	}
	if err := yaml.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	var alerts []string
	for _, test := range file.Tests {
		for _, expression := range test.Expressions {
			for _, sample := range expression.Samples {
				if found := regexp.MustCompile(`alertname="(\w+)"`).FindStringSubmatch(sample.Labels); found != nil {
					alerts = append(alerts, found[1])
				}
			}
		}
	}
	return alerts
}

// The documentation of the metrics has the labels that they have, in any order.
func TestLabelsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	metrics := exported(t)
	rows := regexp.MustCompile("(?m)^\\| `(heldcall_[a-z_]+)` \\| ([^|]*) \\|").FindAllStringSubmatch(string(page), -1)
	if len(rows) == 0 {
		t.Fatal("docs/metrics.md has no metric")
	}
	for _, row := range rows {
		known, ok := metrics[row[1]]
		if !ok {
			known, ok = metrics[row[1]+"_count"]
		}
		var documented, has []string
		for _, label := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[2], -1) {
			documented = append(documented, label[1])
		}
		for label := range known {
			has = append(has, label)
		}
		slices.Sort(documented)
		slices.Sort(has)
		if !ok || !slices.Equal(documented, has) {
			t.Errorf("docs/metrics.md has for %s the labels %v; it has %v", row[1], documented, has)
		}
	}
}
