package check_test

import (
	"bytes"
	"maps"
	"os/exec"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

// The chart's ingress leads to the console, whose address heldcall then knows; the
// monitor selects the service, and nothing else scrapes the pods.
func TestHelmIngressAndMonitoring(t *testing.T) {
	content, err := render([]string{
		"ingress.enabled=true", "ingress.host=heldcall.example", "ingress.tlsSecret=certificate", "ingress.className=nginx",
		`ingress.annotations.nginx\.ingress\.kubernetes\.io/affinity=cookie`,
		"serviceMonitor.enabled=true", "serviceMonitor.labels.release=prometheus", "prometheusRule.enabled=true",
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, content)
	}
	m := decode(t, content)
	m.holdTogether(t)
	if len(m.ingresses) != 1 || len(m.monitors) != 1 || len(m.rules) != 1 {
		t.Fatalf("%d ingresses, %d monitors, %d sets of rules", len(m.ingresses), len(m.monitors), len(m.rules))
	}
	service, ingress, monitor := m.services[0], m.ingresses[0].Spec, m.monitors[0]
	backend := ingress.Rules[0].HTTP.Paths[0].Backend.Service
	if backend.Name != service.Name || backend.Port.Name != "console" || ingress.Rules[0].Host != "heldcall.example" || ingress.TLS[0].SecretName != "certificate" {
		t.Errorf("the ingress is %+v", ingress)
	}
	if config := m.configMaps["heldcall"].Data["heldcall.yaml"]; !strings.Contains(config, "url: https://heldcall.example\n") {
		t.Errorf("heldcall does not know its address:\n%s", config)
	}
	if !maps.Equal(monitor.Spec.Selector.MatchLabels, service.Labels) || monitor.Spec.Endpoints[0].Port != "console" || monitor.Labels["release"] != "prometheus" {
		t.Errorf("the monitor is %+v", monitor)
	}
	if pod := m.pods[0]; pod.Annotations["prometheus.io/scrape"] != "" || pod.Annotations["checksum/config"] == "" {
		t.Errorf("the pod's annotations are %v", pod.Annotations)
	}
	checkRules(t, m.rules[0].Spec)
}

// checkRules compares the rules in the chart, which cannot name files outside it, with
// those that `make observe` checks.
func checkRules(t *testing.T, got monitoringv1.PrometheusRuleSpec) {
	t.Helper()
	source := read(t, "../../dashboards/prometheus/rules.yaml")
	if !bytes.Equal(source, read(t, "../helm/heldcall/files/rules.yaml")) {
		t.Error("the chart has other rules than dashboards/prometheus: cp dashboards/prometheus/rules.yaml deploy/helm/heldcall/files/")
	}
	var want monitoringv1.PrometheusRuleSpec
	if err := yaml.UnmarshalStrict(source, &want); err != nil {
		t.Fatal(err)
	}
	gotText, err := yaml.Marshal(got)
	wantText, err2 := yaml.Marshal(want)
	if err != nil || err2 != nil || !bytes.Equal(gotText, wantText) || len(want.Groups) < 2 {
		t.Errorf("%v, %v: the rules are\n%s\nwant\n%s", err, err2, gotText, wantText)
	}
}

// The notes after an installation name the addresses that there are.
func TestHelmNotes(t *testing.T) {
	for name, tt := range map[string]struct{ set, want, not string }{
		"gateway": {"replicas=1", "OPENAI_BASE_URL=http://heldcall.team.svc:4141/v1\n  ANTHROPIC_BASE_URL=http://heldcall.team.svc:4141/anthropic\n", "https://"},
		"ingress": {"ingress.enabled=true,ingress.host=heldcall.example,ingress.tlsSecret=certificate", "  https://heldcall.example/\n", "port-forward"},
		"sidecar": {"mode=sidecar,agent.image=agent:1,storage.ephemeral=true", "port-forward service/heldcall 4142", "OPENAI_BASE_URL"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command("go", "tool", "helm", "install", "heldcall", "../helm/heldcall", "--namespace", "team", "--dry-run=client", "--set", tt.set).Output()
			_, notes, found := strings.Cut(string(out), "NOTES:\n")
			if err != nil || !found || !strings.Contains(notes, tt.want) || strings.Contains(notes, tt.not) {
				t.Errorf("%v:\n%s", err, notes)
			}
		})
	}
}
