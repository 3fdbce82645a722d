package check_test

import (
	"os"
	"path/filepath"
	"slices"
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
		Environment: types.NewMapping(append([]string{"GRAFANA_PASSWORD=test"}, secrets...)),
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
	checkConfig(t, "../docker/heldcall.yaml")
}
