package reviewers_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

func TestRoles(t *testing.T) {
	roles := []reviewers.Role{reviewers.RoleViewer, reviewers.RoleReviewer, reviewers.RoleAdmin}
	for i, has := range roles {
		for j, needed := range roles {
			if got, want := has.Includes(needed), i >= j; got != want {
				t.Errorf("%s includes %s: %t", has, needed, got)
			}
		}
		if has.Includes("") || has.Includes("owner") || reviewers.Role("owner").Includes(has) || reviewers.Role("").Includes(has) {
			t.Errorf("%s is accepted as a role", has)
		}
	}
}

func TestTokensAreKnownByTheirHash(t *testing.T) {
	ann, annHash := reviewers.NewToken()
	bob, bobHash := reviewers.NewToken()
	if ann == bob || len(ann) < 30 {
		t.Fatalf("tokens %q and %q", ann, bob)
	}
	if sum := sha256.Sum256([]byte(ann)); hex.EncodeToString(sum[:]) != annHash {
		t.Error("the hash is not the token's SHA-256")
	}
	d, err := reviewers.NewDirectory([]reviewers.Entry{
		{Reviewer: reviewers.Reviewer{Name: "ann", Role: reviewers.RoleAdmin, Groups: []string{"finance"}}, TokenSHA256: annHash},
		{Reviewer: reviewers.Reviewer{Name: "bob", User: "bob@example.com", Role: reviewers.RoleViewer}, TokenSHA256: bobHash},
	})
	if err != nil {
		t.Fatal(err)
	}
	wantAnn := reviewers.Reviewer{Name: "ann", User: "ann", Role: reviewers.RoleAdmin, Groups: []string{"finance"}}
	if got, ok := d.ByToken(ann); !ok || cmp.Diff(wantAnn, got.Reviewer) != "" {
		t.Errorf("ann's token is %+v's", got)
	}
	if got, ok := d.ByToken(bob); !ok || got.User != "bob@example.com" {
		t.Errorf("bob's token is %+v's", got)
	}
	if got, ok := d.ByName("ann"); !ok || cmp.Diff(wantAnn, got) != "" {
		t.Errorf("ann is %+v", got)
	}
	for _, wrong := range []string{"", annHash, strings.ToLower(ann), ann + " ", ann[:len(ann)-1]} {
		if got, ok := d.ByToken(wrong); ok {
			t.Errorf("%q is %s's token", wrong, got.Name)
		}
	}
	if _, ok := d.ByName(reviewers.LocalName); ok {
		t.Error("there is a reviewer local")
	}
}

func TestDirectoryRefuses(t *testing.T) {
	_, hash := reviewers.NewToken()
	_, other := reviewers.NewToken()
	entry := func(name, hash string) reviewers.Entry {
		return reviewers.Entry{Reviewer: reviewers.Reviewer{Name: name, Role: reviewers.RoleAdmin}, TokenSHA256: hash}
	}
	for what, entries := range map[string][]reviewers.Entry{
		"half a hash":   {entry("ann", hash[:32])},
		"no name":       {entry("", hash)},
		"local's name":  {entry(reviewers.LocalName, hash)},
		"a name twice":  {entry("ann", hash), entry("ann", other)},
		"a token twice": {entry("ann", hash), entry("bob", hash)},
	} {
		if _, err := reviewers.NewDirectory(entries); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}

// A reviewer without a token is not found by any token.
func TestReviewersWithoutTokens(t *testing.T) {
	_, hash := reviewers.NewToken()
	d, err := reviewers.NewDirectory([]reviewers.Entry{
		{Reviewer: reviewers.Reviewer{Name: "Ann", Role: reviewers.RoleReviewer, Groups: []string{"finance"}}},
		{Reviewer: reviewers.Reviewer{Name: "bob", Role: reviewers.RoleViewer}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if who, known := d.ByToken(""); known || d.HasTokens() {
		t.Errorf("no token is that of %q", who.Name)
	}
	if who, known := d.ByAddress("ann"); !known || who.Name != "Ann" {
		t.Errorf("ann is %+v, %t", who, known)
	}
	for _, name := range []string{"carla", "A\u0144n", "bo\u1e03", "\u1d2e\u006fb"} {
		if who, known := d.ByAddress(name); known {
			t.Errorf("%q is %q", name, who.Name)
		}
	}
	kim, err := reviewers.NewDirectory([]reviewers.Entry{{Reviewer: reviewers.Reviewer{Name: "kim@corp.example", Role: reviewers.RoleAdmin}}})
	if err != nil {
		t.Fatal(err)
	}
	if who, known := kim.ByAddress("\u212aim@corp.example"); known { // the sign of Kelvin
		t.Errorf("another address is that of %q", who.Name)
	}
	if standing, decides := d.Profile("Ann"); !decides || len(standing.Groups) != 1 || len(d.All()) != 2 {
		t.Errorf("Ann has %+v, %t", standing, decides)
	}
	with, err := reviewers.NewDirectory([]reviewers.Entry{{Reviewer: reviewers.Reviewer{Name: "bob"}, TokenSHA256: hash}})
	if err != nil || !with.HasTokens() {
		t.Errorf("bob has no token (%v)", err)
	}
}

func TestNamesOfReviewers(t *testing.T) {
	for name, fits := range map[string]bool{
		"ann": true, "Ann Müller": true, "ann@corp.example": true, strings.Repeat("a", reviewers.MaxName): true,
		"": false, " ann": false, "a\nb": false, "a\u202eb": false, strings.Repeat("a", reviewers.MaxName+1): false,
		"local": false, "Local": false, "timeout": false,
	} {
		if err := reviewers.CheckName(name); (err == nil) != fits {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A tenure ends when what it is about changes, and not before.
func TestReplace(t *testing.T) {
	_, hash := reviewers.NewToken()
	_, other := reviewers.NewToken()
	entry := func(name, hash string, role reviewers.Role, groups ...string) reviewers.Entry {
		return reviewers.Entry{Reviewer: reviewers.Reviewer{Name: name, Role: role, Groups: groups}, TokenSHA256: hash}
	}
	before := entry("ann", hash, reviewers.RoleAdmin, "finance")
	for what, tt := range map[string]struct {
		after          []reviewers.Entry
		rights, access bool // are kept
	}{
		"nothing":  {[]reviewers.Entry{before}, true, true},
		"another":  {[]reviewers.Entry{before, entry("bob", other, reviewers.RoleAdmin)}, true, true},
		"role":     {[]reviewers.Entry{entry("ann", hash, reviewers.RoleViewer, "finance")}, false, true},
		"groups":   {[]reviewers.Entry{entry("ann", hash, reviewers.RoleAdmin)}, false, true},
		"token":    {[]reviewers.Entry{entry("ann", other, reviewers.RoleAdmin, "finance")}, false, false},
		"no token": {[]reviewers.Entry{entry("ann", "", reviewers.RoleAdmin, "finance")}, false, false},
		"removed":  {[]reviewers.Entry{entry("bob", hash, reviewers.RoleAdmin)}, false, false},
	} {
		d, err := reviewers.NewDirectory([]reviewers.Entry{before})
		if err != nil {
			t.Fatal(err)
		}
		next, err := reviewers.NewDirectory(tt.after)
		if err != nil {
			t.Fatal(err)
		}
		inForce := d.InForce()
		tenure, _ := d.TenureOf("ann")
		changed := d.Replace(next)
		if rights, access := tenure.Rights.Err() == nil, tenure.Access.Err() == nil; rights != tt.rights || access != tt.access {
			t.Errorf("%s: the rights are kept %t, the access %t", what, rights, access)
		}
		if (len(changed) == 0) != tt.rights || inForce.Err() == nil || d.InForce().Err() != nil {
			t.Errorf("%s: changed are %q", what, changed)
		}
		if now, known := d.TenureOf("ann"); known && (now.Rights.Err() != nil || now.Access.Err() != nil) {
			t.Errorf("%s: the new tenure has ended", what)
		}
	}
}
