package check_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// manifests are the objects of one deployment, decoded strictly.
type manifests struct {
	pods       []corev1.PodTemplateSpec
	configMaps map[string]corev1.ConfigMap
	services   []corev1.Service
	policies   []networkingv1.NetworkPolicy
	budgets    []policyv1.PodDisruptionBudget
	ingresses  []networkingv1.Ingress
	monitors   []monitoringv1.ServiceMonitor
	rules      []monitoringv1.PrometheusRule
	replicas   int32
	stateful   bool
}

// decode reads YAML documents as the Kubernetes types that they name. An unknown
// field is an error.
func decode(t *testing.T, content []byte) manifests {
	t.Helper()
	m := manifests{configMaps: map[string]corev1.ConfigMap{}}
	for _, document := range regexp.MustCompile(`(?m)^---\n`).Split(string(content), -1) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		strict := func(into any) {
			if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
				t.Fatalf("%s: %v\n%s", kind.Kind, err, document)
			}
		}
		switch id := kind.APIVersion + " " + kind.Kind; id {
		case "apps/v1 Deployment":
			var d appsv1.Deployment
			strict(&d)
			m.pods, m.replicas = append(m.pods, d.Spec.Template), *d.Spec.Replicas
		case "apps/v1 StatefulSet":
			var s appsv1.StatefulSet
			strict(&s)
			m.pods, m.replicas, m.stateful = append(m.pods, s.Spec.Template), *s.Spec.Replicas, true
		case "v1 ConfigMap":
			var c corev1.ConfigMap
			strict(&c)
			m.configMaps[c.Name] = c
		case "v1 Service":
			var s corev1.Service
			strict(&s)
			m.services = append(m.services, s)
			if s.Spec.SessionAffinity != corev1.ServiceAffinityClientIP {
				t.Errorf("the service %s takes a browser from one replica, which knows its sign-in, to another", s.Name)
			}
		case "networking.k8s.io/v1 NetworkPolicy":
			var p networkingv1.NetworkPolicy
			strict(&p)
			m.policies = append(m.policies, p)
		case "policy/v1 PodDisruptionBudget":
			var b policyv1.PodDisruptionBudget
			strict(&b)
			m.budgets = append(m.budgets, b)
		case "networking.k8s.io/v1 Ingress":
			var i networkingv1.Ingress
			strict(&i)
			m.ingresses = append(m.ingresses, i)
		case "monitoring.coreos.com/v1 ServiceMonitor":
			var s monitoringv1.ServiceMonitor
			strict(&s)
			m.monitors = append(m.monitors, s)
		case "monitoring.coreos.com/v1 PrometheusRule":
			var r monitoringv1.PrometheusRule
			strict(&r)
			m.rules = append(m.rules, r)
		case " ":
			if strings.TrimSpace(regexp.MustCompile(`(?m)^#.*$`).ReplaceAllString(document, "")) != "" {
				t.Fatalf("no kind:\n%s", document)
			}
		default:
			t.Fatalf("%s is no kind that this test knows", id)
		}
	}
	return m
}

// Both ways to run heldcall in Kubernetes build, decode, and hold together.
func TestKustomize(t *testing.T) {
	for _, name := range []string{"gateway", "sidecar"} {
		t.Run(name, func(t *testing.T) {
			built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../kubernetes/"+name)
			if err != nil {
				t.Fatal(err)
			}
			content, err := built.AsYaml()
			if err != nil {
				t.Fatal(err)
			}
			m := decode(t, content)
			m.holdTogether(t)
			m.agentsOnlyWayOut(t, name)
			m.agentsAreSetUp(t, name)
			m.replicasOutliveADrain(t, name)
		})
	}
}

// The chart renders the same, in each of its modes.
func TestHelm(t *testing.T) {
	for name, values := range map[string][]string{
		"gateway":          nil,
		"gateway replicas": {"nats.url=nats://nats.nats.svc:4222", "nats.credsSecret=heldcall-nats", "replicas=3", "storage.className=fast"},
		"gateway plain":    {"networkPolicy.enabled=false", "image.tag=1.0.0"},
		"sidecar":          {"mode=sidecar", "agent.image=agent:1", "agent.command={agent,run}", "storage.ephemeral=true"},
		"sidecar replicas": {"mode=sidecar", "agent.image=agent:1", "nats.url=nats://nats.nats.svc:4222", "replicas=3"},
		"sidecar nats":     {"mode=sidecar", "agent.image=agent:1", "nats.url=nats://nats.nats.svc:4222"},
		"sidecar key":      {"mode=sidecar", "agent.image=agent:1", "nats.url=nats://nats.nats.svc:4222", "agent.env[0].name=OPENAI_API_KEY", "agent.env[0].value=its-own"},
	} {
		t.Run(name, func(t *testing.T) {
			content, err := render(values)
			if err != nil {
				t.Fatalf("%v\n%s", err, content)
			}
			m := decode(t, content)
			m.holdTogether(t)
			if m.stateful != (name == "gateway" || name == "gateway plain") {
				t.Errorf("stateful: %v", m.stateful)
			}
			if name != "gateway plain" {
				m.agentsOnlyWayOut(t, strings.Fields(name)[0])
			}
			m.agentsAreSetUp(t, strings.Fields(name)[0])
			m.replicasOutliveADrain(t, strings.Fields(name)[0])
		})
	}
}

// The chart refuses values that cannot work, with the reason.
func TestHelmRefuses(t *testing.T) {
	for want, values := range map[string][]string{
		"needs nats.url":         {"replicas=2"},
		"the image of the agent": {"mode=sidecar"},
		"lasts as long as the":   {"mode=sidecar", "agent.image=agent:1"},
		"mode":                   {"mode=proxy"},
		"replicas":               {"replicas=0"},
		"maxUnavailable":         {"podDisruptionBudget.maxUnavailable=0"},
		"whenUnsatisfiable":      {"topologySpread.whenUnsatisfiable=Never"},
		"ingress.host":           {"ingress.enabled=true"},
		"interval":               {"serviceMonitor.interval=often"},
	} {
		if content, err := render(values); err == nil || !strings.Contains(string(content), want) {
			t.Errorf("%v: %v, %s", values, err, content)
		}
	}
}

func render(values []string) ([]byte, error) {
	args := []string{"tool", "helm", "template", "heldcall", "../helm/heldcall"}
	for _, value := range values {
		args = append(args, "--set", value)
	}
	command := exec.Command("go", args...)
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+os.TempDir(), "HELM_CONFIG_HOME="+os.TempDir(), "HELM_DATA_HOME="+os.TempDir())
	out, err := command.Output() // without what the Go tool reports of downloads
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return append(out, exit.Stderr...), err
	}
	return out, err
}

// TestHelmLint has the chart judged by Helm itself.
func TestHelmLint(t *testing.T) {
	if out, err := exec.Command("go", "tool", "helm", "lint", "--strict", "../helm/heldcall").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// holdTogether checks the references of the objects to each other and to heldcall.
func (m manifests) holdTogether(t *testing.T) {
	t.Helper()
	if len(m.pods) != 1 || len(m.configMaps) != 1 {
		t.Fatalf("%d workloads, %d ConfigMaps", len(m.pods), len(m.configMaps))
	}
	pod := m.pods[0]
	meetsRestricted(t, &pod)
	heldcall := containerOf(t, pod.Spec)
	for _, config := range m.configMaps {
		dir := t.TempDir()
		for file, content := range config.Data {
			content = strings.ReplaceAll(content, mountedCreds, credsFile(t, pod.Spec, content))
			if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		checkConfig(t, filepath.Join(dir, "heldcall.yaml"))
		checkPorts(t, config.Data["heldcall.yaml"], heldcall)
	}
	for _, env := range heldcall.Env {
		if env.Name == "HELDCALL_CONFIG" && env.Value != "/etc/heldcall/heldcall.yaml" {
			t.Errorf("the configuration is looked for in %s", env.Value)
		}
	}
	takesBothKeys(t, heldcall)
	commandLine(t, heldcall.Args...)
	if p := heldcall.LivenessProbe; p == nil || p.HTTPGet.Path != "/healthz" || p.HTTPGet.Port.String() != "console" {
		t.Errorf("liveness: %v", p)
	}
	if p := heldcall.ReadinessProbe; p == nil || p.HTTPGet.Path != "/readyz" || p.HTTPGet.Port.String() != "console" {
		t.Errorf("readiness: %v", p)
	}
	for _, service := range m.services {
		for label, value := range service.Spec.Selector {
			if pod.Labels[label] != value {
				t.Errorf("service %s selects %s=%s, which the pod has not", service.Name, label, value)
			}
		}
	}
	volumes := map[string]bool{"data": m.stateful, "audit": m.stateful}
	for _, volume := range pod.Spec.Volumes {
		volumes[volume.Name] = true
	}
	for _, mount := range heldcall.VolumeMounts {
		if !volumes[mount.Name] {
			t.Errorf("the volume %s is mounted and not there", mount.Name)
		}
	}
}

// meetsRestricted holds a pod to the restricted Pod Security Standard, and its
// heldcall to a root file system that is read only.
func meetsRestricted(t *testing.T, pod *corev1.PodTemplateSpec) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	for _, result := range evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec) {
		if !result.Allowed {
			t.Errorf("restricted: %s: %s", result.ForbiddenReason, result.ForbiddenDetail)
		}
	}
	c := containerOf(t, pod.Spec).SecurityContext
	if c == nil || c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem {
		t.Error("the root file system is not read only")
	}
	if pod.Spec.AutomountServiceAccountToken == nil || *pod.Spec.AutomountServiceAccountToken {
		t.Error("the pod has a token of the cluster's API")
	}
}

// mountedCreds is where manifests mount the credentials for NATS.
const mountedCreds = "/etc/heldcall-secret/nats.creds"

// credsFile is a file in place of the mounted credentials, where a configuration
// names those; then the pod must mount them.
func credsFile(t *testing.T, pod corev1.PodSpec, config string) string {
	t.Helper()
	if !strings.Contains(config, mountedCreds) {
		return ""
	}
	mounted := false
	for _, mount := range containerOf(t, pod).VolumeMounts {
		for _, volume := range pod.Volumes {
			if mount.Name == volume.Name && mount.MountPath == filepath.Dir(mountedCreds) && volume.Secret != nil {
				mounted = volume.Secret.Items[0].Path == filepath.Base(mountedCreds)
			}
		}
	}
	if !mounted {
		t.Errorf("the configuration names %s, which is not mounted", mountedCreds)
	}
	file := filepath.Join(t.TempDir(), "nats.creds")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func containerOf(t *testing.T, pod corev1.PodSpec) corev1.Container {
	t.Helper()
	for _, container := range append(pod.InitContainers, pod.Containers...) {
		if container.Name == "heldcall" {
			return container
		}
	}
	t.Fatal("no container is heldcall")
	return corev1.Container{}
}

// checkPorts compares the ports of the container with those that heldcall
// listens on.
func checkPorts(t *testing.T, config string, container corev1.Container) {
	t.Helper()
	var listens struct{ Proxy, Console struct{ Listen string } }
	if err := yaml.Unmarshal([]byte(config), &listens); err != nil {
		t.Fatal(err)
	}
	for _, port := range container.Ports {
		listen := map[string]string{"agents": listens.Proxy.Listen, "console": listens.Console.Listen}[port.Name]
		if !strings.HasSuffix(listen, fmt.Sprintf(":%d", port.ContainerPort)) {
			t.Errorf("port %s is %d, heldcall listens on %q", port.Name, port.ContainerPort, listen)
		}
	}
}
