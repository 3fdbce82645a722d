package approvals

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// headingWord is the words of a [Heading] for a kind of effect.
type headingWord struct {
	kind EffectKind
	// files are the words for files that tools for files name, %s is them; paths for those that commands name, which may be
	// folders. "": the place of the effect does not matter.
	files, paths string
	calls        string // for all else, %d is the number of calls
	later        bool   // of effects with a class of files that run later
}

// headingWords are the words in the order of the heading.
var headingWords = []headingWord{
	{kind: EffectPrivilege, calls: "uses other rights in %d calls"},
	{kind: EffectDestroy, files: "destroys %s", paths: "destroys %s", calls: "destroys data in %d calls"},
	{kind: EffectSecret, calls: "may use secrets in %d calls"},
	{kind: EffectSend, calls: "sends data in %d calls"},
	{kind: EffectInstall, calls: "installs packages in %d calls"},
	{kind: EffectRun, calls: "runs other code in %d calls"},
	{kind: EffectRun, later: true, calls: "writes what runs later in %d calls"},
	{kind: EffectUnknown, calls: "has unknown effects in %d calls"},
	{kind: EffectWrite, files: "edits %s", paths: "writes %s", calls: "writes data in %d calls"},
	{kind: EffectCheck, calls: "runs %d checks"},
	{kind: EffectFetch, calls: "fetches data in %d calls"},
	{kind: EffectRead, files: "reads %s", paths: "reads %s", calls: "reads data in %d calls"},
	{kind: EffectNone, calls: "changes nothing in %d calls"},
}

// Heading returns what several calls do together as one line, the most dangerous kind of effect first, such as "Edits 3
// files in src/, runs 2 checks". It is "" if no effect is known. Of a question it is the question.
func Heading(requests []Request) string {
	if len(requests) == 1 && requests[0].Asks() {
		return requests[0].Headline()
	}
	var parts []string
	for _, word := range headingWords {
		if word.kind == EffectNone && len(parts) > 0 {
			break
		}
		places := []Place{PlaceOutside, "", PlaceWorkspace}
		if word.files == "" {
			places = places[1:2]
		}
		for _, place := range places {
			if part := word.part(requests, place); part != "" {
				parts = append(parts, part)
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	text := strings.Join(parts, ", ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// secretWords are in the arguments of calls that may hold a secret. The inbox has them too.
var secretWords = regexp.MustCompile(`(?i)authorization|bearer|passw|secret|token|credential|cookie|(?:api|access|private)[_-]?key`)

// MayHoldSecrets reports whether the arguments of a call may hold a secret: it gets one or may use one, they name one, or they
// are not known. Those of a question are its words.
func (r *Request) MayHoldSecrets() bool {
	if r.Asks() {
		return false
	}
	return r.Details.Abridged || len(r.Details.Secrets) > 0 || secretWords.MatchString(r.ArgsPreview) || secretWords.Match(r.Arguments) ||
		slices.ContainsFunc(r.Effects, func(e Effect) bool { return e.Kind == EffectSecret })
}

// NoticeHeading is [Heading] for notifications, which others may read. It names no targets of calls that may hold secrets.
func NoticeHeading(requests []*Request) string {
	shown := make([]Request, len(requests))
	for i, r := range requests {
		shown[i] = Request{Effects: slices.Clone(r.Effects), Details: Details{Commands: r.Details.Commands}}
		for j := range shown[i].Effects {
			if r.MayHoldSecrets() {
				shown[i].Effects[j].Target = ""
			}
		}
	}
	return Heading(shown)
}

// part is what the calls do with effects of a kind at a place, "" for nothing.
func (w headingWord) part(requests []Request, place Place) string {
	calls, final, verb, noun := 0, false, w.files, "files"
	var targets []string
	for i := range requests {
		r := &requests[i]
		effects := slices.DeleteFunc(slices.Clone(r.Effects), func(e Effect) bool { return !w.covers(e, place) })
		for _, e := range effects {
			final = final || e.Irreversible
			if !slices.Contains(targets, e.Target) {
				targets = append(targets, e.Target)
			}
		}
		calls += min(len(effects), 1)
		if len(effects) > 0 && len(r.Details.Commands) > 0 {
			verb, noun = w.paths, "paths"
		}
	}
	if calls == 0 {
		return ""
	}
	if w.kind == EffectDestroy {
		noun = "paths"
	}
	text := w.text(calls, targets, verb, noun, place)
	if final && (w.kind == EffectDestroy || w.kind == EffectSend) {
		text += " (cannot be undone)"
	}
	return text
}

func (w headingWord) text(calls int, targets []string, verb, noun string, place Place) string {
	switch {
	case w.files != "" && place != "":
		return fmt.Sprintf(verb, pathsText(targets, noun, place))
	case w.files != "" && len(targets) == 1 && targets[0] != "":
		return fmt.Sprintf(w.paths, targets[0])
	}
	text := fmt.Sprintf(w.calls, calls)
	if calls == 1 {
		text = strings.TrimSuffix(text, "s")
	}
	return text
}

func (w headingWord) covers(e Effect, place Place) bool {
	if !isKnown(e.Kind) {
		e.Kind, e.Later = EffectUnknown, ""
	}
	return e.Kind == w.kind && (e.Later != "") == w.later && (w.files == "" || e.Place == place)
}

// pathsText counts paths and names their folder, or names the only one. The calls do not show which paths match a pattern,
// so those are not counted.
func pathsText(targets []string, noun string, place Place) string {
	where := " outside the workspace"
	if place == PlaceWorkspace {
		where = " in the workspace"
		if folder := commonFolder(targets); folder != "" {
			where = " in " + folder + "/"
		}
	}
	switch {
	case len(targets) == 1 && targets[0] != "" && place == PlaceWorkspace:
		return targets[0]
	case len(targets) == 1 && targets[0] != "":
		return targets[0] + where
	case slices.ContainsFunc(targets, func(target string) bool { return target == "" || isPattern(target) }):
		return noun + where
	}
	return fmt.Sprintf("%d %s%s", len(targets), noun, where)
}

func isPattern(target string) bool { return strings.ContainsAny(target, "*?[{…") }

// commonFolder is the innermost folder of all paths, "" if there is none or a path is not known.
func commonFolder(paths []string) string {
	folder := path.Dir(paths[0])
	for _, p := range paths {
		if p == "" {
			return ""
		}
		for folder != "." && folder != "/" && !strings.HasPrefix(p, folder+"/") {
			folder = path.Dir(folder)
		}
	}
	if folder == "." || folder == "/" || strings.HasPrefix(folder, "..") || isPattern(folder) {
		return ""
	}
	return folder
}
