package policy

import (
	"slices"
	"sync"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
)

const (
	// maxEffects is the largest number of effects of one call. A call with more has unknown ones.
	maxEffects = 32
	// maxTarget is the most bytes of a target.
	maxTarget = 200
)

// finder collects the effects of one call.
type effectFinder struct {
	c     *call.Reading
	found []approvals.Effect
	more  bool // there were too many
}

func (f *effectFinder) add(kind approvals.EffectKind, target string, place approvals.Place, reversible bool) {
	effect := approvals.Effect{Kind: kind, Target: match.Visible(match.Shorten(target, maxTarget)), Place: place, Reversible: reversible}
	switch {
	case slices.Contains(f.found, effect):
	case len(f.found) == maxEffects:
		f.more = true
	default:
		f.found = append(f.found, effect)
	}
}

func (f *effectFinder) unknown(target string) { f.add(approvals.EffectUnknown, target, "", false) }

// changes adds an effect on a file or folder. A written file that other programs run without being called is one more
// effect.
func (f *effectFinder) changes(kind approvals.EffectKind, text string, place approvals.Place, reversible bool) {
	f.add(kind, text, place, reversible || kind == approvals.EffectRead)
	if kind != approvals.EffectRead && match.Lists(runByOthers(), match.LocationOf(text)) {
		f.add(approvals.EffectRun, text, "", false)
	}
}

// runByOthers are files that git, editors, agents and build servers run or obey by themselves. Who
// writes one runs code later, without a call that shows it.
var runByOthers = sync.OnceValue(func() []*match.PathGlob {
	globs := []string{
		"**/.git/**", "**/.git", "**/.gitmodules", "**/.husky/**", "**/lefthook.y*ml", "**/.pre-commit-config.yaml", // hooks of git
		"**/.github/**", "**/.gitlab-ci.y*ml", "**/.circleci/**", "**/.buildkite/**", "**/Jenkinsfile", "**/azure-pipelines.y*ml", "**/.travis.yml", "**/bitbucket-pipelines.yml", // build servers
		"**/.vscode/**", "**/.idea/**", "**/.devcontainer/**", "**/.devcontainer.json", // editors
		"**/.claude/**", "**/.codex/**", "**/.cursor/**", "**/.gemini/**", "**/.opencode/**", "**/.mcp.json", // agents
		"**/.envrc", "**/.npmrc", "**/.yarnrc*", "**/.bashrc", "**/.zshrc", "**/.profile", "**/.bash_profile", "**/.zshenv", "**/.gitconfig", // shells and programs, at their start
	}
	found := make([]*match.PathGlob, len(globs))
	for i, text := range globs {
		g, err := match.NewPathGlob(text)
		if err != nil {
			panic("internal error: the table of effects: " + err.Error())
		}
		found[i] = g
	}
	return found
})
