package call

import (
	"testing"
)

// FuzzMayList: no word that cannot name a listed path by its letters names one.
func FuzzMayList(f *testing.F) {
	for _, word := range []string{"npm", "task7:unit", "--file=.env", "HEAD:.env", "@.ENV", `C:\u\.env`, "~/.ssh/id_rsa", "$HOME/.aws/credentials", "É/.eNv", "a/../.env", ".env.example/x", "\u212aey", "-f.env", "file:///etc/shadow", ".env/.env.example"} {
		f.Add(word)
	}
	profiles := KnownProfiles()
	f.Fuzz(func(t *testing.T, word string) {
		if profiles.listsPathIn(word) && !profiles.screen.MayList(word, otherName) {
			t.Errorf("%q names a listed path", word)
		}
	})
}
