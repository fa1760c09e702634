package deploy

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write deploy/kubernetes/monitoring/rules.yaml")

// manifests builds a folder as kubectl apply --kustomize does, and decodes the result strictly: an
// unknown field is an error.
func manifests(t *testing.T, folder string) []runtime.Object {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(),
		deployed+"/kubernetes/"+folder)
	must(t, err)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apps.AddToScheme, core.AddToScheme, networking.AddToScheme, policy.AddToScheme, monitoring.AddToScheme} {
		must(t, add(scheme))
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var all []runtime.Object
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		must(t, err)
		o, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v\n%s", folder, err, text)
		}
		all = append(all, o)
	}
	return all
}

func of[T runtime.Object](all []runtime.Object) []T {
	var some []T
	for _, o := range all {
		if x, ok := o.(T); ok {
			some = append(some, x)
		}
	}
	return some
}

// TestStrictness: the decoder refuses unknown fields.
func TestStrictness(t *testing.T) {
	scheme := runtime.NewScheme()
	must(t, core.AddToScheme(scheme))
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	_, _, err := decoder.Decode([]byte(
		"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {selektor: {a: b}}\n"), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "selektor") {
		t.Errorf("found %v", err)
	}
}

func TestKubernetes(t *testing.T) {
	for _, folder := range []string{"base", "small", "graphs"} {
		t.Run(folder, func(t *testing.T) {
			all := manifests(t, folder)
			sets := of[*apps.StatefulSet](all)
			if len(sets) != 2 {
				t.Fatalf("%d sets", len(sets))
			}
			for _, s := range sets {
				checkSet(t, s, all)
			}
			checkPolicies(t, sets, of[*networking.NetworkPolicy](all))
			budgets := of[*policy.PodDisruptionBudget](all)
			if len(budgets) != 1 || !selects(t, budgets[0].Spec.Selector,
				sets[1].Spec.Template.Labels) || selects(t, budgets[0].Spec.Selector,
				sets[0].Spec.Template.Labels) {
				t.Errorf("the budget is not the workers': %v", budgets)
			}
		})
	}
}

func selects(t *testing.T, s *v1.LabelSelector, of map[string]string) bool {
	t.Helper()
	selector, err := v1.LabelSelectorAsSelector(s)
	must(t, err)
	return selector.Matches(labels.Set(of))
}

// checkSet checks the container of a set: its flags, ports, probes, permissions and resources.
func checkSet(t *testing.T, s *apps.StatefulSet, all []runtime.Object) {
	t.Helper()
	pod := s.Spec.Template.Spec
	c := pod.Containers[0]
	checkArguments(t, s.Name, c.Args)
	if !selects(t, s.Spec.Selector, s.Spec.Template.Labels) {
		t.Errorf("%s does not select its own pods", s.Name)
	}
	ports := map[string]int32{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
		if !strings.Contains(strings.Join(c.Args, " "), fmt.Sprint(":", p.ContainerPort)) {
			t.Errorf("%s: port %d is in no flag", s.Name, p.ContainerPort)
		}
	}
	for what, probe := range map[string]*core.Probe{"starts": c.StartupProbe, "lives": c.LivenessProbe, "is ready": c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || ports[probe.HTTPGet.Port.StrVal] == 0 ||
			probe.HTTPGet.Path != "/healthz" && probe.HTTPGet.Path != "/readyz" {
			t.Errorf("%s: the probe whether it %s is %v", s.Name, what, probe)
		}
	}
	if c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe.HTTPGet.Path != "/healthz" {
		t.Errorf("%s: it would be restarted when it is not ready", s.Name)
	}
	if _, ok := c.Resources.Limits[core.ResourceMemory]; !ok || len(c.Resources.Requests) == 0 {
		t.Errorf("%s has no limit of memory, or asks for nothing", s.Name)
	}
	own, whole := c.SecurityContext, pod.SecurityContext
	if !*whole.RunAsNonRoot || *whole.RunAsUser == 0 ||
		whole.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault ||
		*own.AllowPrivilegeEscalation || !*own.ReadOnlyRootFilesystem ||
		!slices.Contains(own.Capabilities.Drop, "ALL") || *pod.AutomountServiceAccountToken {
		t.Errorf("%s may do more than it needs", s.Name)
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, v := range s.Spec.VolumeClaimTemplates {
		volumes[v.Name] = true
	}
	mounted := map[string]bool{}
	for _, m := range c.VolumeMounts {
		mounted[m.MountPath] = true
		if !volumes[m.Name] {
			t.Errorf("%s: there is no volume %s", s.Name, m.Name)
		}
	}
	env := map[string]bool{}
	for _, e := range c.Env {
		env[e.Name] = true
	}
	for _, a := range c.Args {
		for _, v := range regexp.MustCompile(`\$\((\w+)\)`).FindAllStringSubmatch(a, -1) {
			if !env[v[1]] {
				t.Errorf("%s: %s: there is no variable %s", s.Name, a, v[1])
			}
		}
		if _, path, ok := strings.Cut(a, "=/"); ok &&
			!mounted["/"+strings.SplitN(path, "/", 2)[0]] {
			t.Errorf("%s: %s: nothing is mounted there", s.Name, a)
		}
	}
	if strings.HasSuffix(s.Name, "worker") && *pod.TerminationGracePeriodSeconds < 30 {
		t.Errorf("a worker gets %d s to leave", *pod.TerminationGracePeriodSeconds)
	}
	checkService(t, s, ports, of[*core.Service](all))
}

// checkService checks that the set has a service that leads to its pods.
func checkService(
	t *testing.T, s *apps.StatefulSet, ports map[string]int32, services []*core.Service,
) {
	t.Helper()
	i := slices.IndexFunc(services,
		func(v *core.Service) bool { return v.Name == s.Spec.ServiceName })
	if i < 0 {
		t.Errorf("there is no service %s", s.Spec.ServiceName)
		return
	}
	service := services[i]
	if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(s.Spec.Template.Labels)) {
		t.Errorf("service %s leads elsewhere", service.Name)
	}
	for _, p := range service.Spec.Ports {
		if p.TargetPort.Type == intstr.String && ports[p.TargetPort.StrVal] != p.Port {
			t.Errorf("service %s: port %d leads to %q, which is %d", service.Name, p.Port,
				p.TargetPort.StrVal, ports[p.TargetPort.StrVal])
		}
	}
	if headless := service.Spec.ClusterIP == core.ClusterIPNone; headless != strings.HasSuffix(s.Name, "worker") {
		t.Errorf("service %s: headless %v", service.Name, headless)
	}
}

// checkPolicies: every port of a pod is open to some peers, and none to all.
func checkPolicies(t *testing.T, sets []*apps.StatefulSet, policies []*networking.NetworkPolicy) {
	t.Helper()
	for _, s := range sets {
		open := map[string]bool{}
		for _, p := range policies {
			if !selects(t, &p.Spec.PodSelector, s.Spec.Template.Labels) {
				continue
			}
			if len(p.Spec.PolicyTypes) != 2 {
				t.Errorf("%s holds down %v alone", p.Name, p.Spec.PolicyTypes)
			}
			for _, rule := range p.Spec.Ingress {
				if len(rule.From) == 0 || len(rule.Ports) == 0 {
					t.Errorf("%s lets everyone in, or to every port", p.Name)
				}
				for _, port := range rule.Ports {
					open[fmt.Sprint(port.Port.IntVal, *port.Protocol)] = true
				}
			}
			for _, rule := range p.Spec.Egress {
				if len(rule.To) == 0 {
					t.Errorf("%s lets out to everywhere", p.Name)
				}
			}
		}
		for _, p := range s.Spec.Template.Spec.Containers[0].Ports {
			protocol := p.Protocol
			if protocol == "" {
				protocol = core.ProtocolTCP
			}
			if !open[fmt.Sprint(p.ContainerPort, protocol)] {
				t.Errorf("%s: nobody may reach port %d %s", s.Name, p.ContainerPort, protocol)
			}
		}
	}
}

// TestMonitoring: the operator's monitors select the services under the names that the rules use.
// The rules equal those in deploy/prometheus.
func TestMonitoring(t *testing.T) {
	var groups struct {
		Groups []monitoring.RuleGroup `json:"groups"`
	}
	for _, name := range []string{"recording.yml", "alerts.yml"} {
		var f struct {
			Groups []monitoring.RuleGroup `json:"groups"`
		}
		must(t, yaml.UnmarshalStrict(read(t, deployed+"/prometheus/rules/"+name), &f))
		for i := range f.Groups {
			f.Groups[i].Name += "-" + strings.TrimSuffix(name, ".yml")
		}
		groups.Groups = append(groups.Groups, f.Groups...)
	}
	object := &monitoring.PrometheusRule{
		TypeMeta:   v1.TypeMeta{APIVersion: "monitoring.coreos.com/v1", Kind: "PrometheusRule"},
		ObjectMeta: v1.ObjectMeta{Name: "superstep", Labels: map[string]string{"app.kubernetes.io/name": "superstep"}},
		Spec:       monitoring.PrometheusRuleSpec{Groups: groups.Groups},
	}
	text, err := yaml.Marshal(object)
	must(t, err)
	text = append([]byte("# Generated from deploy/prometheus/rules: go test -C test/deploy -run TestMonitoring -update\n"), text...)
	file := deployed + "/kubernetes/monitoring/rules.yaml"
	if *update {
		must(t, os.WriteFile(file, text, 0o644))
	}
	if !bytes.Equal(text, read(t, file)) {
		t.Errorf("%s is out of date: go test -C test/deploy -run TestMonitoring -update", file)
	}

	all, base := manifests(t, "monitoring"), manifests(t, "base")
	monitors := of[*monitoring.ServiceMonitor](all)
	if len(monitors) != 2 || len(of[*monitoring.PrometheusRule](all)) != 1 {
		t.Fatalf("found %v", all)
	}
	for _, m := range monitors {
		found := 0
		for _, s := range of[*core.Service](base) {
			if !selects(t, &m.Spec.Selector, s.Labels) {
				continue
			}
			found++
			if !slices.ContainsFunc(s.Spec.Ports,
				func(p core.ServicePort) bool { return p.Name == m.Spec.Endpoints[0].Port }) {
				t.Errorf("%s: service %s has no port %s", m.Name, s.Name, m.Spec.Endpoints[0].Port)
			}
		}
		if found != 1 {
			t.Errorf("%s looks at %d services", m.Name, found)
		}
		e := m.Spec.Endpoints[0]
		if e.Path != "/metrics" || e.Authorization.Credentials.Name != "superstep-tokens" {
			t.Errorf("%s asks %+v", m.Name, e)
		}
		if !slices.ContainsFunc(e.RelabelConfigs, func(r monitoring.RelabelConfig) bool {
			return r.TargetLabel == "job" && r.Replacement != nil && *r.Replacement == m.Name
		}) {
			t.Errorf("%s: its job is not called %s", m.Name, m.Name)
		}
	}
	maps := of[*core.ConfigMap](all)
	if len(maps) != 1 || len(maps[0].Data) != 3 || maps[0].Labels["grafana_dashboard"] != "1" {
		t.Errorf("the dashboards are not there")
	}
}
