package check_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// takesBothKeys checks that heldcall gets the keys of OpenAI and Anthropic, and starts
// with one of them alone.
func takesBothKeys(t *testing.T, heldcall corev1.Container) {
	t.Helper()
	if len(heldcall.EnvFrom) == 1 && heldcall.EnvFrom[0].SecretRef.Name == "heldcall" {
		return // whatever keys it has
	}
	optional := make(map[string]bool)
	for _, variable := range heldcall.Env {
		if from := variable.ValueFrom; from != nil && from.SecretKeyRef.Optional != nil {
			optional[variable.Name] = *from.SecretKeyRef.Optional
		}
	}
	if !optional["OPENAI_API_KEY"] || !optional["ANTHROPIC_API_KEY"] {
		t.Errorf("it needs a key that is not there, or does not take one: %v", heldcall.Env)
	}
}

// agentsAreSetUp checks that the agent beside a sidecar has what its SDK starts with,
// each once: the base URL, and a key, without which SDKs refuse to start.
func (m manifests) agentsAreSetUp(t *testing.T, mode string) {
	t.Helper()
	if mode != "sidecar" {
		return
	}
	set := make(map[string]int)
	for _, variable := range m.pods[0].Spec.Containers[0].Env {
		set[variable.Name]++
	}
	for _, name := range []string{"OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"} {
		if set[name] != 1 {
			t.Errorf("%s is set %d times for the agent: %v", name, set[name], m.pods[0].Spec.Containers[0].Env)
		}
	}
}

// agentsOnlyWayOut checks that with a gateway agents reach the agents' port and
// DNS alone, and that only the console's namespaces reach the console.
func (m manifests) agentsOnlyWayOut(t *testing.T, mode string) {
	t.Helper()
	bounded := mode == "sidecar" // whose policy is one for agent and heldcall
	for _, p := range m.policies {
		if p.Spec.PodSelector.MatchLabels["heldcall-agent"] == "true" {
			bounded = true
			if len(p.Spec.PolicyTypes) != 1 || p.Spec.PolicyTypes[0] != networkingv1.PolicyTypeEgress {
				t.Errorf("%s is about %v", p.Name, p.Spec.PolicyTypes)
			}
			for _, rule := range p.Spec.Egress {
				for _, port := range rule.Ports {
					if n := port.Port.IntValue(); (n != 4141 && n != 53) || len(rule.To) == 0 {
						t.Errorf("agents reach port %d of %v", n, rule.To)
					}
				}
			}
		}
		if mode == "sidecar" && (!slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) || len(p.Spec.Egress) == 0) {
			t.Errorf("%s does not bound where the pod connects to", p.Name)
		}
		for _, rule := range p.Spec.Ingress {
			for _, port := range rule.Ports {
				for _, from := range rule.From {
					if port.Port.IntValue() == 4142 && from.NamespaceSelector == nil {
						t.Errorf("%s lets %v reach the console", p.Name, from)
					}
				}
			}
		}
	}
	if mode == "sidecar" && m.pods[0].Labels["app.kubernetes.io/name"] == "heldcall" && m.pods[0].Labels["app.kubernetes.io/component"] != "sidecar" {
		t.Error("the agent's pod has the labels of a gateway, whose Service would send to it")
	}
	if !bounded || len(m.policies) == 0 {
		t.Error("no policy bounds where agents connect to")
	}
}
