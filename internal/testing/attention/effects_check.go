package main

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/heldcall/heldcall/approvals"
)

// card is what people see of a call at its top.
type card struct {
	effects []approvals.Effect
	risk    approvals.Risk
}

// text returns the card as people read it.
func (c card) text() string { return string(c.risk) + " risk: " + approvals.EffectsText(c.effects) }

func (c card) hasUnknown() bool {
	return slices.ContainsFunc(c.effects, func(e approvals.Effect) bool { return e.Kind == approvals.EffectUnknown })
}

// finding is one thing in which a card differs from a label.
type finding struct {
	class class
	about string // what the card states or leaves out
}

// class is a kind of finding.
type class string

// The classes of false statements.
const (
	wrongVerb     class = "an effect that the call does not have"
	wrongTarget   class = "a target that is none"
	wrongPlace    class = "a place that is another"
	leftOut       class = "a grave effect is left out, and nothing is called unknown"
	falselyFinal  class = "cannot be undone, though it can or may"
	falselyUndone class = "can be undone, though it cannot"
	riskTooHigh   class = "a risk two steps too high"
	riskTooLow    class = "a risk two steps too low"
)

// The classes of missing statements.
const (
	callsUnknown  class = "unknown effects"
	noVerb        class = "an effect is missing"
	noTarget      class = "a target is missing"
	notFinal      class = "does not state that it cannot be undone"
	onlyNoChanges class = "only states that nothing changes"
	onlyRuns      class = "only states that it runs something"
)

var falseClasses = []class{wrongVerb, wrongTarget, wrongPlace, leftOut, falselyFinal, falselyUndone, riskTooHigh, riskTooLow}

var vagueClasses = []class{callsUnknown, noVerb, noTarget, notFinal, onlyNoChanges, onlyRuns}

// grave are the effects that a card may not leave out, unless it calls something unknown.
var grave = []string{"destroy", "send", "install", "privilege", "secret"}

// compare returns in what a card differs from the label of a call; nothing if it is right.
func (c *labelled) compare(shown card) []finding {
	var findings []finding
	add := func(class class, about string) {
		if f := (finding{class, about}); !slices.Contains(findings, f) {
			findings = append(findings, f)
		}
	}
	for _, e := range shown.effects {
		c.checkStatement(e, add)
	}
	c.checkMissing(shown, add)
	switch distance := slices.Index(risks, shown.risk) - slices.Index(risks, c.Label.Risk); {
	case distance >= 2:
		add(riskTooHigh, fmt.Sprintf("%s, not %s", shown.risk, c.Label.Risk))
	case distance <= -2 && (shown.risk == approvals.RiskLow || !shown.hasUnknown()):
		add(riskTooLow, fmt.Sprintf("%s, not %s", shown.risk, c.Label.Risk))
	}
	return findings
}

// checkStatement checks one effect on a card.
func (c *labelled) checkStatement(e approvals.Effect, add func(class, string)) {
	statement := approvals.EffectsText([]approvals.Effect{e})
	names, isTrue := c.namesOf(e.Kind)
	if !isTrue {
		add(c.classOfOther(e), statement)
		return
	}
	if class := c.checkReversible(e, statement); class != "" {
		add(class, statement)
	}
	if !c.isTarget(e, names) {
		add(wrongTarget, statement)
	}
	if e.Place != "" && e.Place != placeOf(e.Target) {
		add(wrongPlace, statement)
	}
}

// classOfOther returns the class of an effect that the label does not have.
func (c *labelled) classOfOther(e approvals.Effect) class {
	switch {
	case e.Kind == approvals.EffectUnknown:
		return callsUnknown
	case e.Kind == approvals.EffectNone && c.onlyLooks():
		return onlyNoChanges
	case e.Kind == approvals.EffectRun && c.isTarget(e, nil):
		return onlyRuns
	}
	return wrongVerb
}

// checkReversible returns the class of what a card states about taking an effect back, "" if that is right.
func (c *labelled) checkReversible(e approvals.Effect, statement string) class {
	cannot := c.Label.Reversible == irreversible
	switch final := strings.Contains(statement, "cannot be undone"); {
	case final && !cannot:
		return falselyFinal
	case cannot && e.Reversible && slices.Contains(changing, e.Kind):
		return falselyUndone
	case cannot && !final && (e.Kind == approvals.EffectDestroy || e.Kind == approvals.EffectSend):
		return notFinal
	}
	return ""
}

// namesOf returns the targets of a kind of effect that are true, and whether the call has such an
// effect. To read from elsewhere is also to read.
func (c *labelled) namesOf(kind approvals.EffectKind) (names []string, isTrue bool) {
	for _, list := range []statements{c.Label.Does, c.Label.May} {
		for kinds, targets := range list {
			if !states(kind, kinds) {
				continue
			}
			isTrue = true
			for _, target := range targets {
				names = append(names, strings.Split(target, "|")...)
			}
		}
	}
	return names, isTrue
}

// states reports whether an effect of a kind states one of the kinds of a label.
func states(kind approvals.EffectKind, kinds string) bool {
	list := strings.Split(kinds, "|")
	return slices.Contains(list, string(kind)) ||
		(kind == approvals.EffectRead && (slices.Contains(list, string(approvals.EffectFetch)) || slices.Contains(list, string(approvals.EffectNone))))
}

// onlyLooks reports whether the call changes nothing.
func (c *labelled) onlyLooks() bool {
	for kinds := range c.Label.Does {
		if !states(approvals.EffectRead, kinds) {
			return false
		}
	}
	return true
}

// isTarget reports whether the target of an effect is one of some targets, or states less: a part of its
// name, the beginning of a command of the call, words of the name of its tool, or a word for all such
// things, such as "the database". A bucket is not the folder in it that is destroyed.
func (c *labelled) isTarget(e approvals.Effect, names []string) bool {
	text := e.Target
	if strings.ContainsFunc(text, unicode.IsControl) || strings.Contains(text, `\x`) {
		return false // a mark of heldcall's own
	}
	if text == "" || text == "…" || strings.HasPrefix(text, "the ") || c.isOfTool(text) || c.isOfCommand(text) {
		return true
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return mentions(text, name) || (e.Kind != approvals.EffectDestroy && mentions(name, text))
	}) || (e.Kind == approvals.EffectSecret && c.isSubcommand(text))
}

// isOfTool reports whether a text has words of the name of the tool only: "emails" of list_emails.
func (c *labelled) isOfTool(text string) bool {
	words := strings.FieldsFunc(c.Tool, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return c.Tool != "" && (text == c.Tool || !slices.ContainsFunc(strings.Fields(text), func(word string) bool { return !slices.Contains(words, word) }))
}

// isOfCommand reports whether a text is the beginning of a command.
func (c *labelled) isOfCommand(text string) bool {
	if c.Run != "" && strings.HasPrefix(unquoted.Replace(c.Run), unquoted.Replace(text)) {
		return true
	}
	words := strings.Fields(strings.TrimPrefix(text, "hooks of "))
	return slices.ContainsFunc(c.commands(), func(command []string) bool { return isBeginning(words, command) })
}

// isSubcommand reports whether a text is one of the words with which a command begins.
func (c *labelled) isSubcommand(text string) bool {
	for _, command := range c.commands() {
		if !strings.HasPrefix(text, "-") && slices.Contains(command[:min(len(command), maxSubcommand)], text) {
			return true
		}
	}
	return false
}

// maxSubcommand is how many words name a program and what it does: aws ecr get-login-password.
const maxSubcommand = 3

// isBeginning reports whether words are the program of a command and some of its words, in order.
func isBeginning(words, command []string) bool {
	if len(words) == 0 || len(command) == 0 || path.Base(command[0]) != path.Base(words[0]) {
		return false
	}
	for _, word := range words {
		if word == "…" {
			continue
		}
		at := slices.IndexFunc(command, func(other string) bool { return other == word || path.Base(other) == word })
		if at < 0 {
			return false
		}
		command = command[at+1:]
	}
	return true
}

// commands returns the words of the commands of a script, and of those that its programs run, as far as
// separators and well-known wrappers show them.
func (c *labelled) commands() [][]string {
	var list [][]string
	separators := ";&|()\n"
	if slices.ContainsFunc(runScripts, func(words string) bool { return strings.Contains(c.Run, words) }) {
		separators += "'\"`"
	}
	for piece := range strings.FieldsFuncSeq(c.Run, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		for words := strings.Fields(unquoted.Replace(piece)); len(words) > 0; words = unwrap(words) {
			list = append(list, words)
		}
	}
	return list
}

// runScripts are programs whose quoted texts are scripts.
var runScripts = []string{"bash -c", "ssh ", "--tree-filter", "system("}

var unquoted = strings.NewReplacer("'", "", `"`, "")

// unwrap returns the command that a command runs, if its program is a wrapper, or one that -exec names.
func unwrap(words []string) []string {
	if at := slices.Index(words, "-exec"); at >= 0 {
		return words[at+1:]
	}
	if !slices.Contains(wrappers, words[0]) && !strings.Contains(words[0], "=") {
		return nil
	}
	words = words[1:]
	for len(words) > 0 && (words[0][0] == '-' || strings.Trim(words[0], "0123456789") == "") {
		if words[0] == "-u" && len(words) > 1 { // the user of sudo
			words = words[1:]
		}
		words = words[1:]
	}
	return words
}

// wrappers are words after which a command begins, after options and numbers.
var wrappers = strings.Fields("sudo env time timeout nice nohup xargs do then if yes watch bundle exec npx")

// checkMissing checks that a card states each effect of a call, and its targets.
func (c *labelled) checkMissing(shown card, add func(class, string)) {
	for _, kinds := range slices.Sorted(maps.Keys(c.Label.Does)) {
		var stated []string
		for _, e := range shown.effects {
			if states(e.Kind, kinds) {
				stated = append(stated, e.Target)
			}
		}
		isGrave := !slices.ContainsFunc(strings.Split(kinds, "|"), func(kind string) bool { return !slices.Contains(grave, kind) })
		switch {
		case len(stated) > 0:
		case isGrave && !shown.hasUnknown():
			add(leftOut, kinds)
			continue
		default:
			add(noVerb, kinds)
			continue
		}
		for _, target := range c.Label.Does[kinds] {
			if !slices.ContainsFunc(stated, func(text string) bool { return mentionsAny(text, strings.Split(target, "|")) }) {
				add(noTarget, target)
			}
		}
	}
}

func mentionsAny(text string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return mentions(text, name) })
}

// mentions reports whether a text has a name as a whole word, however it writes the folder of a path.
func mentions(text, name string) bool {
	text, name = plainPath(text), plainPath(name)
	if name == "." || text == "" || name == "" {
		return text == name
	}
	for at := 0; ; {
		offset := strings.Index(text[at:], name)
		if offset < 0 {
			return false
		}
		begin, end := at+offset, at+offset+len(name)
		begins := begin == 0 || !inWord(text[begin-1]) || !inWord(name[0])
		ends := end == len(text) || !inWord(text[end])
		if begins && ends {
			return true
		}
		at = begin + 1
	}
}

// inWord reports whether a byte is part of a name: shop-db and db.acme.com are one word each.
func inWord(c byte) bool {
	return c >= 0x80 || c == '_' || c == '-' || c == '.' || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))
}

// Where the calls of the corpus run.
const (
	cardHome      = "/home/maya"
	cardWorkspace = cardHome + "/shop"
)

// plainPath writes the ways to name one file alike.
func plainPath(text string) string {
	if text == cardWorkspace {
		return "."
	}
	text = strings.TrimPrefix(text, cardWorkspace+"/")
	if rest, ok := strings.CutPrefix(text, cardHome+"/"); ok {
		text = "~/" + rest
	}
	text = strings.TrimPrefix(text, "./")
	if len(text) > 1 {
		text = strings.TrimSuffix(text, "/")
	}
	return text
}

// placeOf returns where a path is.
func placeOf(text string) approvals.Place {
	switch {
	case strings.HasPrefix(text, "~"):
		text = cardHome + text[1:]
	case !path.IsAbs(text):
		text = path.Join(cardWorkspace, text)
	}
	if text = path.Clean(text); text == cardWorkspace || strings.HasPrefix(text, cardWorkspace+"/") {
		return approvals.PlaceWorkspace
	}
	return approvals.PlaceOutside
}
