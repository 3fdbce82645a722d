package judge_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
)

var (
	ann  = approvals.Principal{Tenant: "acme", User: "ann"}
	bob  = approvals.Principal{Tenant: "acme", User: "bob"}
	noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
)

// files has policies by the paths of their files.
type files map[string]string

// newJudge returns a judge of policies that are written to a directory of the test. The
// paths of the options are relative to it.
func newJudge(t *testing.T, written files, o judge.Options) *judge.Judge {
	t.Helper()
	dir := t.TempDir()
	for name, rules := range written {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(rules), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.File, o.Now = filepath.Join(dir, "policy.yaml"), func() time.Time { return noon }
	for i := range o.Clients {
		o.Clients[i].File = filepath.Join(dir, o.Clients[i].File)
	}
	j := judge.New(o)
	if err := j.Load(); err != nil {
		t.Fatal(err)
	}
	j.LoadGrants()
	return j
}

// twoClients are clients of one principal, with policies of their own.
func twoClients() []judge.ClientPolicy {
	return []judge.ClientPolicy{{KeySHA256: "a", Principal: ann, File: "a/client.yaml"}, {KeySHA256: "b", Principal: ann, File: "b/client.yaml"}}
}

func bash(command string) intercept.Call {
	return intercept.Call{Name: "bash", Arguments: `{"command":"` + command + `"}`}
}

func TestForFindsThePolicyOfTheClient(t *testing.T) {
	written := files{"policy.yaml": "default: ask\n", "a/client.yaml": "default: allow\n", "b/client.yaml": "default: deny\n"}
	for _, tt := range []struct {
		key, name string
		want      policy.Action
	}{
		{"", "policy.yaml", policy.Ask},
		{"another", "policy.yaml", policy.Ask},
		{"a", "a/client.yaml", policy.Allow},
		{"b", "b/client.yaml", policy.Deny},
	} {
		for _, shadow := range []bool{false, true} {
			j := newJudge(t, written, judge.Options{Clients: twoClients(), Shadow: shadow})
			got, err := j.For(tt.key, "").Judge(t.Context(), judge.Origin{Principal: ann}, bash("ls"), nil)
			want := tt.want
			if shadow {
				want = policy.Allow
			}
			if err != nil || got.Verdict.Action != want || got.Verdict.Said() != tt.want || got.Policy != tt.name {
				t.Errorf("%q, shadow %t: %s (%s) by %s", tt.key, shadow, got.Verdict.Action, got.Verdict.Said(), got.Policy)
			}
		}
	}
}

func TestForJudgesByTheGrantsInForce(t *testing.T) {
	j := newJudge(t, files{"policy.yaml": "default: ask\n"}, judge.Options{})
	verdict := func(key string) policy.Action {
		return j.For(key, "").Verdict(judge.Origin{Principal: ann, At: noon}, bash("ls")).Action
	}
	g := approvals.Grant{ID: "G1", Effect: approvals.GrantAllow, Scope: approvals.GrantUser, Principal: ann, Patterns: []string{"bash(ls)"}}
	before := verdict("")
	j.KeepGrant(g)
	kept := verdict("")
	j.KeepGrant(approvals.Grant{ID: "G2", Effect: approvals.GrantDeny, Scope: approvals.GrantUser, Principal: ann, Patterns: []string{"bash"}})
	denied := verdict("")
	j.DropGrant("G2")
	j.KeepGrant(approvals.Grant{ID: "bad", Patterns: []string{"bash("}})
	again := verdict("")
	if before != policy.Ask || kept != policy.Allow || denied != policy.Deny || again != policy.Allow {
		t.Errorf("before %s, with a grant %s, with a denial %s, without it %s", before, kept, denied, again)
	}
}

// TestGrantsLoadTogether: a recorded grant is in force after the load, unless it was
// dropped before.
func TestGrantsLoadTogether(t *testing.T) {
	file := filepath.Join(t.TempDir(), "absent.yaml")
	for _, dropped := range []bool{false, true} {
		j := judge.New(judge.Options{File: file, Optional: true})
		if err := j.Load(); err != nil {
			t.Fatal(err)
		}
		j.KeepGrant(approvals.Grant{ID: "G", Effect: approvals.GrantDeny, Scope: approvals.GrantUser, Principal: ann, Patterns: []string{"bash"}})
		want := policy.Deny
		if dropped {
			j.DropGrant("G")
			want = policy.Ask
		}
		j.LoadGrants()
		if v := j.For("", "").Verdict(judge.Origin{Principal: ann}, bash("ls")); v.Action != want {
			t.Errorf("dropped %t: %s", dropped, v.Action)
		}
	}
}

// TestForWhilePoliciesAndGrantsChange is for the race detector.
func TestForWhilePoliciesAndGrantsChange(t *testing.T) {
	j := newJudge(t, files{"policy.yaml": "default: ask\n"}, judge.Options{})
	g := approvals.Grant{ID: "G", Effect: approvals.GrantDeny, Scope: approvals.GrantUser, Principal: ann, Patterns: []string{"bash"}}
	var changes sync.WaitGroup
	changes.Go(func() {
		for range 20 {
			if _, err := j.Sources()[0].Reload(true); err != nil {
				t.Error(err)
			}
		}
	})
	changes.Go(func() {
		for range 20 {
			j.KeepGrant(g)
			j.DropGrant(g.ID)
		}
	})
	for range 20 {
		if v := j.For("", "").Verdict(judge.Origin{Principal: ann}, bash("ls")); v.Action == policy.Allow {
			t.Errorf("%s by %s", v.Action, v.Rule)
		}
	}
	changes.Wait()
}
