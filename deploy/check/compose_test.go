package check_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// The compose file is valid, everything that it mounts is there, and heldcall
// runs in it without rights.
func TestCompose(t *testing.T) {
	file, err := filepath.Abs("../compose/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  filepath.Dir(file),
		ConfigFiles: []types.ConfigFile{{Filename: file}},
		Environment: types.NewMapping(environmentOf(t, "../compose/.env.example")),
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, service := range project.Services {
		for _, volume := range service.Volumes {
			if volume.Type != types.VolumeTypeBind {
				continue
			}
			if _, err := os.Stat(volume.Source); err != nil {
				t.Errorf("%s mounts a file that does not exist: %v", name, err)
			}
		}
	}
	heldcall := project.Services["heldcall"]
	if _, err := os.Stat(filepath.Join(heldcall.Build.Context, heldcall.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	if !heldcall.ReadOnly || !slices.Contains(heldcall.CapDrop, "ALL") || !slices.Contains(heldcall.SecurityOpt, "no-new-privileges:true") {
		t.Error("heldcall may more than it needs")
	}
	for _, service := range project.Services {
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("port %s is open to the network", port.Published)
			}
		}
	}
	for _, key := range []string{"HELDCALL_ADMIN_SHA256", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"} {
		if value := heldcall.Environment[key]; value == nil || *value != "test" {
			t.Errorf("heldcall does not get %s", key)
		}
	}
	checkConfig(t, "../docker/heldcall.yaml")
}

// environmentOf is each variable that an example file leaves to its reader, set to test.
func environmentOf(t *testing.T, file string) []string {
	t.Helper()
	var variables []string
	for line := range strings.Lines(string(read(t, file))) {
		if name, ok := strings.CutSuffix(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			variables = append(variables, name+"=test")
		}
	}
	return variables
}
