package requestindex_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

func TestSearch(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "index"), time.Now()
	x := open(t, path, source)
	long := strings.Repeat("s", 300)
	for i, id := range []string{"03", "01", "02"} {
		r := approvals.Request{ID: id, Status: approvals.StatusPending, RunID: "r", SessionID: long, ToolName: "deploy", Resource: "pending-" + id, Principal: approvals.Principal{Tenant: "globex"}}
		x.Put(&r, uint64(i+1), now)
	}
	if x.Put(&approvals.Request{ID: "03", Status: approvals.StatusDenied}, 0, now) {
		t.Error("an older revision was indexed")
	}
	x.Put(&approvals.Request{ID: "02", Status: approvals.StatusApproved, RunID: "r", Principal: approvals.Principal{Tenant: "acme"}}, 9, now.Add(-time.Hour))
	for _, where := range []string{"in memory", "in the file"} {
		for _, tt := range []struct {
			filter approvals.Filter
			want   string
			more   bool
		}{
			{approvals.Filter{Limit: 3}, "03 02 01", false},
			{approvals.Filter{Limit: 2}, "03 02", true},
			{approvals.Filter{Limit: 3, Cursor: "03"}, "02 01", false},
			{approvals.Filter{Limit: 3, Cursor: "01"}, "", false},
			{approvals.Filter{Limit: 3, Status: approvals.StatusPending}, "03 01", false},
			{approvals.Filter{Limit: 1, Status: approvals.StatusApproved, RunID: "r"}, "02", false},
			{approvals.Filter{Limit: 3, RunID: "r", Cursor: "03"}, "02 01", false},
			{approvals.Filter{Limit: 3, RunID: "other"}, "", false},
			{approvals.Filter{Limit: 3, SessionID: long}, "03 01", false},
			{approvals.Filter{Limit: 3, SessionID: long + "x"}, "", false},
			{approvals.Filter{Limit: 3, Text: "deploy"}, "03 01", false},
			{approvals.Filter{Limit: 1, Text: "deploy"}, "03", true},
			{approvals.Filter{Limit: 3, Text: "deploy", Cursor: "03"}, "01", false},
			{approvals.Filter{Limit: 3, Text: "DEPLOY pending-03", RunID: "r"}, "03", false},
			{approvals.Filter{Limit: 3, Text: "undeployed"}, "", false},
			{approvals.Filter{Limit: 3, Text: "by"}, "", false},
			{approvals.Filter{Limit: 3, Text: "ep"}, "03 01", false},
			{approvals.Filter{Limit: 1, Tenants: approvals.TenantScope{"acme"}}, "02", false},
			{approvals.Filter{Limit: 3, Tenants: approvals.TenantScope{"globex", "acme"}}, "03 02 01", false},
			{approvals.Filter{Limit: 1, Tenants: approvals.TenantScope{"globex"}, Text: "deploy"}, "03", true},
			{approvals.Filter{Limit: 3, Tenants: approvals.TenantScope{"glob"}}, "", false},
			{approvals.Filter{Limit: 3, Tenants: approvals.TenantScope{"acme"}, RunID: "r", Status: approvals.StatusPending}, "", false},
		} {
			if got, more := search(t, x, tt.filter); got != tt.want || more != tt.more {
				t.Errorf("%s, %+v: %q, %v; want %q, %v", where, tt.filter, got, more, tt.want, tt.more)
			}
		}
		closed(t, x)
		x = open(t, path, source)
	}
	closed(t, x)
}

// The index finds the same requests as a map in memory, before and after changes are written to the
// file.
func TestSearchAgreesWithAModel(t *testing.T) {
	const requests, steps = 60, 1500
	random := rand.New(rand.NewPCG(1, 2))
	path, now := filepath.Join(t.TempDir(), "index"), time.Now()
	x := open(t, path, source)
	model, at, unclosed := map[string]approvals.Request{}, map[string]uint64{}, map[string]bool{}
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	for step := range uint64(steps) {
		id := fmt.Sprintf("%03d", random.IntN(requests))
		switch random.IntN(12) {
		case 0:
			x.Remove(id)
			delete(model, id)
			delete(at, id)
			delete(unclosed, id)
		case 1, 2:
			x.CloseRequest(id, at[id])
			delete(unclosed, id)
		case 3:
			closed(t, x)
			x = open(t, path, source)
		default:
			r := approvals.Request{
				ID: id, Status: approvals.Status(pick("pending", "approved", "denied")), Kind: approvals.Kind(pick("permission", "result")),
				RiskLevel: approvals.Risk(pick("", "high")), RunID: pick("", "a", "ab", "b"), SessionID: pick("s", "t"),
				Principal: approvals.Principal{Tenant: pick("", "acme", "globex")},
			}
			x.Put(&r, step+1, now)
			model[id], at[id], unclosed[id] = r, step+1, true
		}
		f := approvals.Filter{
			Status: approvals.Status(pick("", "", "pending", "approved")), Kind: approvals.Kind(pick("", "", "result")), Risk: approvals.Risk(pick("", "", "high")),
			RunID: pick("", "", "a", "b"), SessionID: pick("", "", "s"), Cursor: pick("", fmt.Sprintf("%03d", random.IntN(requests))), Limit: 1 + random.IntN(20),
		}
		if random.IntN(3) == 0 {
			f.Tenants = [][]string{{"acme"}, {"globex", "acme"}, {"other"}}[random.IntN(3)]
		}
		want, more := searchModel(model, f)
		if got, gotMore := search(t, x, f); got != want || more != gotMore {
			t.Fatalf("step %d, %+v: %q, %v; want %q, %v", step, f, got, gotMore, want, more)
		}
		wantOpen := ids(unclosed)
		if got, _, err := x.OpenRequests(); err != nil || !slices.Equal(got, wantOpen) {
			t.Fatalf("step %d: open are %v, %v; want %v", step, got, err, wantOpen)
		}
	}
	closed(t, x)
}

func ids[T any](of map[string]T) []string {
	all := []string{}
	for id := range of {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

func searchModel(model map[string]approvals.Request, f approvals.Filter) (page string, more bool) {
	var found []string
	for _, id := range slices.Backward(ids(model)) {
		r := model[id]
		if (f.Cursor != "" && id >= f.Cursor) || !f.Matches(&r) {
			continue
		}
		if len(found) == f.Limit {
			return strings.Join(found, " "), true
		}
		found = append(found, id)
	}
	return strings.Join(found, " "), false
}

// A search by words finds every request that has them, and looks at few others: in whatever order
// requests are put, changed and removed, before and after they are in the file.
func TestSearchByWords(t *testing.T) {
	const requests, steps = 1500, 4500
	random := rand.New(rand.NewPCG(3, 4))
	path := filepath.Join(t.TempDir(), "index")
	x := open(t, path, source)
	model := map[string]approvals.Request{}
	for step := range uint64(steps) {
		id := fmt.Sprintf("%026d", random.IntN(requests))
		switch {
		case step%10 == 0:
			x.Remove(id)
			delete(model, id)
		case step%1500 == 7:
			closed(t, x)
			x = open(t, path, source)
		default:
			if step < requests && step%20 > 4 {
				id = fmt.Sprintf("%026d", step)
			}
			r := approvals.Request{ID: id, Status: approvals.StatusApproved, Arguments: fmt.Appendf(nil, `{"command":"make %x-%x.%x"}`, random.Uint64(), random.Uint64(), random.Uint64())}
			if step%700 == 1 {
				r.Arguments = fmt.Appendf(nil, `{"command":%q}`, strings.Repeat(string(r.Arguments), 2000)) // without a filter
			}
			x.Put(&r, step+1, time.Unix(1, 0))
			model[id] = r
		}
		if step%250 > 0 {
			continue
		}
		if err := x.Expire(time.Unix(0, 0), 0); err != nil { // it writes the changes
			t.Fatal(err)
		}
		looked, few := 0, 0
		for _, wanted := range ids(model)[:min(len(model), 20)] {
			r := model[wanted]
			text := string(r.Arguments[18:40])
			found, more, err := x.Search(approvals.Filter{Text: text, Status: approvals.StatusApproved, Limit: requests})
			if err != nil || more || !slices.Contains(found, wanted) {
				t.Fatalf("step %d: %q of %s is not among %d requests, %v", step, text, wanted, len(found), err)
			}
			looked, few = looked+len(found), few+1
		}
		large := 0
		for _, r := range model {
			large += r.Size() >> 16
		}
		if looked > few*(large+2) {
			t.Fatalf("step %d: %d searches look at %d of %d requests", step, few, looked, len(model))
		}
	}
	closed(t, x)
}
