package app_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// Agents of two tenants that name the same session or the same run, as each of
// them may, do not share it: who stops one does not stop the other.
func TestTenantsShareNoRun(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]string{
		"session": "", "run": "X-Heldcall-Run: nightly\r\n", "run named as the other's": "X-Heldcall-Run: nightly@a\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := build(t, "default: ask\n", func(*fakemodel.Request) fakemodel.Reply {
				return fakemodel.Whole(200, []byte(`{"id":"resp_1","object":"response","status":"completed","output":[{"id":"fc","type":"function_call","status":"completed","call_id":"call_1","name":"bash","arguments":"{}"}]}`))
			}, func(c *app.Config) {
				c.Proxy.Clients = []app.Client{{Key: "key-a", Tenant: "a"}}
			})
			body := `{"model":"m","input":"go","metadata":{"session_id":"1"}}`
			got := map[string]chan string{"a": make(chan string, 1), "default": make(chan string, 1)}
			for tenant, answer := range got {
				go func() {
					answer <- w.raw(rawPost("/v1/responses", body, "Authorization: Bearer key-"+tenant+"\r\n"+header))
				}()
			}
			requests := w.pending(2)
			if requests[0].RunID == requests[1].RunID {
				t.Errorf("both runs are %q", requests[0].RunID)
			}
			for _, r := range requests {
				d := approvals.Decision{RequestID: r.ID, Action: approvals.ActionAbortRun}
				if r.Principal.Tenant == "a" {
					continue
				}
				if _, err := w.console.Decide(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			if answer := <-got["default"]; !strings.Contains(answer, "stopped") {
				t.Errorf("the stopped run got %s", answer)
			}
			for _, r := range w.pending(1) {
				if _, err := w.console.Decide(t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionApprove}); err != nil {
					t.Fatal(err)
				}
			}
			if answer := <-got["a"]; !strings.Contains(answer, `"bash"`) {
				t.Errorf("the other tenant's run got %s", answer)
			}
		})
	}
}
