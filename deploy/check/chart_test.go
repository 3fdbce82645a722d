package check_test

import (
	"bytes"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
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

// TestHelmUsualFields: what charts usually take is in the pods of both modes.
func TestHelmUsualFields(t *testing.T) {
	fields := []string{
		"imagePullSecrets[0].name=registry", "serviceAccountName=agents", "priorityClassName=high", "nodeSelector.disktype=ssd",
		"tolerations[0].key=agents", "tolerations[0].operator=Exists",
		"affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key=zone",
		"affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator=Exists",
		"extraEnv[0].name=TZ", "extraEnv[0].value=UTC", "extraVolumes[0].name=certificates", "extraVolumes[0].configMap.name=certificates",
		"extraVolumeMounts[0].name=certificates", "extraVolumeMounts[0].mountPath=/certificates",
	}
	for name, mode := range map[string][]string{
		"gateway": nil,
		"sidecar": {"mode=sidecar", "agent.image=agent:1", "nats.url=nats://nats.nats.svc:4222"},
	} {
		content, err := render(slices.Concat(fields, mode))
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, content)
		}
		m := decode(t, content)
		m.holdTogether(t)
		pod := m.pods[0].Spec
		if pod.ImagePullSecrets[0].Name != "registry" || pod.ServiceAccountName != "agents" || pod.PriorityClassName != "high" || pod.NodeSelector["disktype"] != "ssd" {
			t.Errorf("%s: the pod is %+v", name, pod)
		}
		if len(pod.Tolerations) != 1 || pod.Affinity == nil || pod.Affinity.NodeAffinity == nil {
			t.Errorf("%s: tolerations %+v, affinity %+v", name, pod.Tolerations, pod.Affinity)
		}
		containers := slices.Concat(pod.Containers, pod.InitContainers)
		heldcall := containers[slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == "heldcall" })]
		hasEnv := slices.ContainsFunc(heldcall.Env, func(e corev1.EnvVar) bool { return e.Name == "TZ" && e.Value == "UTC" })
		hasMount := slices.ContainsFunc(heldcall.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/certificates" })
		hasVolume := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "certificates" })
		if !hasEnv || !hasMount || !hasVolume {
			t.Errorf("%s: variable %t, mount %t, volume %t", name, hasEnv, hasMount, hasVolume)
		}
	}
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
