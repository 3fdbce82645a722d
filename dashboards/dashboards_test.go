package dashboards_test

import (
	"flag"
	"testing"

	"github.com/heldcall/heldcall/dashboards"
	"github.com/heldcall/heldcall/internal/testing/golden"
)

var update = flag.Bool("update", false, "write the dashboard again")

const file = "grafana/heldcall.json"

// The file is what the code makes.
func TestFileIsUpToDate(t *testing.T) {
	want, err := dashboards.Heldcall().JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, file, want, *update, "make dashboards")
}

// Each panel has a title that is unique in its row, a description, and a place within the
// width of the page.
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
