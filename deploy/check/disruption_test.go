package check_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// replicasOutliveADrain checks that replicas of a gateway are spread over nodes and zones,
// and that one at least stays when nodes are drained, which nothing keeps from being done.
// What has no second has no budget, which could only block a drain.
func (m manifests) replicasOutliveADrain(t *testing.T, mode string) {
	t.Helper()
	spread := m.pods[0].Spec.TopologySpreadConstraints
	if mode == "sidecar" || m.replicas < 2 {
		if len(m.budgets)+len(spread) > 0 {
			t.Errorf("%d replicas in the mode %s have %d budgets and %d constraints", m.replicas, mode, len(m.budgets), len(spread))
		}
		return
	}
	var over []string
	for _, constraint := range spread {
		over = append(over, constraint.TopologyKey)
		m.selectsThePods(t, constraint.LabelSelector)
		if constraint.MaxSkew != 1 || !slices.Equal(constraint.MatchLabelKeys, []string{"pod-template-hash"}) {
			t.Errorf("replicas are spread by %+v", constraint)
		}
	}
	if !slices.Equal(over, []string{corev1.LabelHostname, corev1.LabelTopologyZone}) {
		t.Errorf("replicas are spread over %v", over)
	}
	if len(m.budgets) != 1 {
		t.Fatalf("%d budgets", len(m.budgets))
	}
	budget := m.budgets[0].Spec
	m.selectsThePods(t, budget.Selector)
	away, err := intstr.GetScaledValueFromIntOrPercent(budget.MaxUnavailable, int(m.replicas), true)
	if err != nil || away < 1 || away >= int(m.replicas) {
		t.Errorf("of %d replicas a drain takes %d at a time (%v)", m.replicas, away, err)
	}
	if p := budget.UnhealthyPodEvictionPolicy; p == nil || *p != "AlwaysAllow" {
		t.Error("replicas that are not ready block a drain")
	}
}

// selectsThePods checks that a selector is for the pods of the deployment.
func (m manifests) selectsThePods(t *testing.T, selector *metav1.LabelSelector) {
	t.Helper()
	selects, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || selects.Empty() || !selects.Matches(labels.Set(m.pods[0].Labels)) {
		t.Errorf("%v does not select the pods (%v)", selector, err)
	}
}

// Budget and spreading can be had otherwise, or not at all.
func TestHelmSpread(t *testing.T) {
	replicas := []string{"nats.url=nats://nats.nats.svc:4222", "replicas=3"}
	content, err := render(append(replicas, "podDisruptionBudget.enabled=false", "topologySpread.keys=null"))
	if err != nil {
		t.Fatalf("%v\n%s", err, content)
	}
	if m := decode(t, content); len(m.budgets)+len(m.pods[0].Spec.TopologySpreadConstraints) > 0 {
		t.Errorf("switched off, there are %v and %v", m.budgets, m.pods[0].Spec.TopologySpreadConstraints)
	}
	content, err = render(append(replicas, "podDisruptionBudget.maxUnavailable=50%", "topologySpread.keys={rack}", "topologySpread.whenUnsatisfiable=DoNotSchedule"))
	if err != nil {
		t.Fatalf("%v\n%s", err, content)
	}
	m := decode(t, content)
	if got := m.budgets[0].Spec.MaxUnavailable.String(); got != "50%" {
		t.Errorf("a drain takes %s", got)
	}
	spread := m.pods[0].Spec.TopologySpreadConstraints
	if len(spread) != 1 || spread[0].TopologyKey != "rack" || spread[0].WhenUnsatisfiable != corev1.DoNotSchedule || !strings.Contains(spread[0].LabelSelector.String(), "heldcall") {
		t.Errorf("replicas are spread by %v", spread)
	}
}
