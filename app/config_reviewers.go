package app

import (
	"cmp"
	"encoding/hex"
	"strings"
	"time"
	"unicode"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// maxName bounds the names of reviewers and groups: they stand in NATS subjects,
// events and lists.
const maxName = 64

func (r *configReader) validateConsole(c *ConsoleConfig) {
	if c.URL != "" {
		r.validateURL("console.url", c.URL, "http", "https")
	}
	if c.Session < time.Minute {
		r.problem("console.session", "%s is less than a minute; write for example 12h", c.Session)
	}
	names, hashes := map[string]int{}, map[string]int{}
	decides := false
	for i := range c.Reviewers {
		reviewer, key := &c.Reviewers[i], index("console.reviewers", i)
		reviewer.Role = cmp.Or(reviewer.Role, string(reviewers.RoleReviewer))
		decides = decides || reviewers.Role(reviewer.Role).Includes(reviewers.RoleReviewer)
		r.validateReviewer(key, reviewer)
		if first, twice := names[reviewer.Name]; twice {
			r.problem(key+".name", "is also the name of console.reviewers[%d]; give each their own", first)
		}
		if first, twice := hashes[reviewer.TokenSHA256]; twice {
			r.problem(key+".token_sha256", "is also that of console.reviewers[%d]; make one for each with heldcall token create", first)
		}
		names[reviewer.Name], hashes[reviewer.TokenSHA256] = i, i
	}
	if len(c.Reviewers) > 0 && !decides {
		r.problem("console.reviewers", "nobody has the role reviewer or admin, so nobody could decide")
	}
}

// CheckReviewer says in a [*ConfigError] what is wrong with one reviewer.
func CheckReviewer(reviewer Reviewer) error {
	r := configReader{}
	r.validateReviewer("reviewer", &reviewer)
	if len(r.problems) > 0 {
		return &ConfigError{Problems: r.problems}
	}
	return nil
}

func (r *configReader) validateReviewer(key string, reviewer *Reviewer) {
	switch name := reviewer.Name; {
	case !plainName(name):
		r.problem(key+".name", "%q is not a name; write 1 to %d printable characters", name, maxName)
	case name == reviewers.LocalName || name == approvals.ReviewerTimeout:
		r.problem(key+".name", "%q is the name of what heldcall does by itself; choose another", name)
	}
	digest, err := hex.DecodeString(reviewer.TokenSHA256)
	if err != nil || len(digest) != 32 || strings.ToLower(reviewer.TokenSHA256) != reviewer.TokenSHA256 {
		r.problem(key+".token_sha256", "is not 64 lower-case hex digits; make a token and its hash with: heldcall token create")
	}
	for i, group := range reviewer.Groups {
		if !plainName(group) {
			r.problem(index(key+".groups", i), "%q is not a group; write 1 to %d printable characters", group, maxName)
		}
	}
}

// plainName reports whether a name can be shown as it is.
func plainName(name string) bool {
	return name != "" && len(name) <= maxName && strings.TrimSpace(name) == name &&
		!strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) })
}

// directory is the reviewers that are configured, or nil.
func (c ConsoleConfig) directory() (*reviewers.Directory, error) {
	if len(c.Reviewers) == 0 {
		return nil, nil
	}
	entries := make([]reviewers.Entry, len(c.Reviewers))
	for i, r := range c.Reviewers {
		entries[i] = reviewers.Entry{
			Reviewer:    reviewers.Reviewer{Name: r.Name, User: r.User, Role: reviewers.Role(r.Role), Groups: r.Groups},
			TokenSHA256: r.TokenSHA256,
		}
	}
	return reviewers.NewDirectory(entries)
}
