package app

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	hashA = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
	hashB = "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"
)

func TestConfigReadsReviewers(t *testing.T) {
	config, _, err := load(t, `
console:
  listen: 0.0.0.0:4142
  url: https://inbox.example
  session: 1h
  reviewers:
    - {name: ann@example.com, token_sha256: `+hashA+`, groups: [finance, "*"], user: ann, tenants: [acme, "globex corp"]}
    - {name: bob, token_sha256: `+hashB+`, role: viewer, tenants: []}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []Reviewer{
		{Name: "ann@example.com", TokenSHA256: hashA, Role: "reviewer", Groups: []string{"finance", "*"}, Tenants: []string{"acme", "globex corp"}, User: "ann"},
		{Name: "bob", TokenSHA256: hashB, Role: "viewer", Tenants: []string{}},
	}
	if diff := cmp.Diff(want, config.Console.Reviewers); diff != "" {
		t.Error(diff)
	}
}

func TestConfigRefusesReviewers(t *testing.T) {
	f := func(reviewers string, wants ...string) {
		t.Helper()
		_, _, err := load(t, "console:\n  reviewers:\n"+reviewers)
		if err == nil {
			t.Errorf("%s is taken", reviewers)
			return
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("of %s the errors are\n%v\nnot %s", reviewers, err, want)
			}
		}
	}
	f("    - ann\n", "heldcall.yaml:3: console.reviewers[0]: must be a mapping with the keys name, token_sha256, role, groups, user")
	f("    - {name: ann}\n", "console.reviewers[0].token_sha256: is not 64 lower-case hex digits; make a token and its hash with: heldcall token create")
	f("    - {token_sha256: "+hashA+"}\n", `console.reviewers[0].name: "" is not a name`)
	f("    - {name: \"a\\nb\", token_sha256: "+hashA+"}\n", `console.reviewers[0].name: "a\nb" is not a name`)
	f("    - {name: ann, token_sha256: "+strings.ToUpper(hashA)+"}\n", "console.reviewers[0].token_sha256")
	f("    - {name: local, token_sha256: "+hashA+"}\n", `console.reviewers[0].name: "local" is the name of what heldcall does by itself`)
	f("    - {name: timeout, token_sha256: "+hashA+"}\n", "console.reviewers[0].name")
	f("    - {name: ann, token_sha256: "+hashA+", role: owner}\n", `console.reviewers[0].role: "owner" is not known; write viewer, reviewer or admin`)
	f("    - {name: ann, token_sha256: "+hashA+", groups: [\"\"]}\n", `console.reviewers[0].groups[0]: "" is not a group`)
	f("    - {name: ann, token_sha256: "+hashA+", role: viewer}\n", "console.reviewers: no reviewer has the role reviewer or admin")
	f("    - {name: ann, token_sha256: "+hashA+"}\n    - {name: ann, token_sha256: "+hashA+"}\n",
		"heldcall.yaml:4: console.reviewers[1].name: is also the name of console.reviewers[0]; give each their own",
		"heldcall.yaml:4: console.reviewers[1].token_sha256: is also that of console.reviewers[0]; make one for each with heldcall token create")
	for _, wrong := range []string{`""`, `" acme"`, `"*"`, `"ac*"`, `"a\tb"`} {
		f("    - {name: ann, token_sha256: "+hashA+", tenants: [acme, "+wrong+"]}\n", "console.reviewers[0].tenants[1]: ", "is not a tenant; write the name as proxy.clients has it")
	}
	f("    - {name: ann, token_sha256: "+hashA+", tenants: acme}\n", "console.reviewers[0].tenants")
	f("    - {name: ann, token_sha256: "+hashA+", tenant: [acme]}\n", "console.reviewers[0].tenant")
	f("    - {name: ann, token_sha256: "+hashA+"}\n  session: 10s\n", "heldcall.yaml:4: console.session: 10s is less than a minute")
}

func TestConfigRefusesNATSAuth(t *testing.T) {
	f := func(config, want string) {
		t.Helper()
		_, _, err := load(t, config)
		if (err == nil && want != "") || (err != nil && (want == "" || !strings.Contains(err.Error(), want))) {
			t.Errorf("%s: the error is %v, want %s", config, err, want)
		}
	}
	staffed := "console: {reviewers: [{name: ann, token_sha256: " + hashA + "}]}\n"
	f("nats: {auth: reviewers}\n", "heldcall.yaml:1: nats.auth: no client could connect: none of console.reviewers has a token")
	f(staffed+"nats: {auth: reviewers, url: nats://h}\n", "heldcall.yaml:2: nats.auth: is for the embedded server")
	f(staffed+"nats: {auth: closed}\n", `nats.auth: "closed" is not known; write open or reviewers`)
	f(staffed+"nats: {auth: reviewers}\n", "")
	f(staffed+"nats: {auth: open}\n", "")
	limited := "console: {reviewers: [{name: ann, tenants: [acme], token_sha256: " + hashA + "}]}\n"
	f(limited+"nats: {auth: open}\n", "nats.auth: open lets everybody read all tenants, and reviewers have tenants")
	f(limited, "")
}
