package dashboards_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/heldcall/heldcall/dashboards"
)

var update = flag.Bool("update", false, "write the dashboard anew")

const file = "grafana/heldcall.json"

// The file is what the code makes.
func TestFileIsUpToDate(t *testing.T) {
	want, err := dashboards.Heldcall().JSON()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what heldcall.go says: run `make dashboards`", file)
	}
}

// A panel that no one can read is none: each has a title of its own in its row,
// says what it shows, and stands within the width of the page.
func TestPanelsAreComplete(t *testing.T) {
	for _, row := range dashboards.Heldcall().Rows {
		titles := map[string]bool{}
		for _, panel := range row.Panels {
			if panel.Title == "" || titles[panel.Title] || panel.Description == "" || len(panel.Queries) == 0 || panel.Width < 1 || panel.Width > 24 {
				t.Errorf("%s / %s is not complete, or there twice", row.Title, panel.Title)
			}
			titles[panel.Title] = true
		}
	}
}
