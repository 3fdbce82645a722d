package fakemodel_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

func TestReviewerDecidesWhatIsPending(t *testing.T) {
	pending := []string{"c", "b", "a"} // the newest first, as the console lists
	looks := 0
	decided := make(chan string, 3)
	routes := http.NewServeMux()
	routes.HandleFunc("GET /api/v1/requests", func(w http.ResponseWriter, r *http.Request) {
		if looks++; looks == 1 {
			http.Error(w, "not just now", http.StatusServiceUnavailable)
			return
		}
		items := []approvals.Request{}
		if r.URL.Query().Get("status") == "pending" {
			for _, id := range pending {
				items = append(items, approvals.Request{ID: id})
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
	})
	routes.HandleFunc("POST /api/v1/requests/{id}/decision", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.PathValue("id") == "c" {
			http.Error(w, "already decided", http.StatusConflict)
		}
		decided <- r.PathValue("id") + " " + string(body)
	})
	console := httptest.NewServer(routes)
	defer console.Close()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var refused []string
	asked := 0
	reviewer := &fakemodel.Reviewer{
		Console: console.URL,
		Decide: func(r approvals.Request) *fakemodel.Ruling {
			if asked++; asked > 3 {
				cancel()
				return nil
			}
			return &fakemodel.Ruling{Action: approvals.ActionDeny, Note: "not <" + r.ID + ">"}
		},
		Refused: func(r approvals.Request, status int, body string) {
			refused = append(refused, r.ID+" "+http.StatusText(status)+" "+strings.TrimSpace(body))
		},
	}
	if err := reviewer.Run(ctx); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 3 {
		got = append(got, <-decided)
	}
	want := []string{
		`a {"action":"deny","note":"not <a>"}`, `b {"action":"deny","note":"not <b>"}`, `c {"action":"deny","note":"not <c>"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"c Conflict already decided"}, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

func TestReviewerSaysThatTheConsoleIsAway(t *testing.T) {
	console := httptest.NewServer(http.NotFoundHandler())
	defer console.Close()
	err := (&fakemodel.Reviewer{Console: console.URL}).Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("Run returned %v, want the console's 404", err)
	}
}
