package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// TestEffects compares the corpus with the mix that it is to have.
func TestEffects(t *testing.T) {
	corpus, err := ownEffects()
	if err != nil {
		t.Fatal(err)
	}
	commands, tools := 0, 0
	groups, calls, risk, kinds := map[string]int{}, map[string]bool{}, map[approvals.Risk]int{}, map[string]int{}
	for _, c := range corpus {
		call := c.Run
		if c.Tool != "" {
			call = c.Tool + " " + c.Arguments
			tools++
		} else {
			commands++
		}
		if calls[call] {
			t.Errorf("%s is there twice", call)
		}
		calls[call] = true
		groups[c.group]++
		risk[c.Label.Risk]++
		for list := range c.Label.Does {
			for kind := range strings.SplitSeq(list, "|") {
				kinds[kind]++
			}
		}
	}
	if commands < 500 || tools < 100 || len(groups) < 50 {
		t.Errorf("%d commands, %d calls of other tools, %d programs", commands, tools, len(groups))
	}
	for _, r := range risks {
		if share := percent(risk[r], len(corpus)); share < 5 {
			t.Errorf("%.0f %% of the calls have the risk %s", share, r)
		}
	}
	for _, kind := range effectKinds {
		if kinds[string(kind)] < 5 {
			t.Errorf("%d calls have the effect %s", kinds[string(kind)], kind)
		}
	}
}

// TestCompare: a card that states something false is wrong, one that states less is vague.
func TestCompare(t *testing.T) {
	remove := labelled{Run: "kubectl delete pod web-7d9f --grace-period=0", Label: labelOf("destroy", "web-7d9f", "unknown", "high")}
	status := labelled{Run: "systemctl status nginx", Label: labelOf("read", "nginx", "", "low")}
	drop := labelled{Run: "mysql -e 'DROP DATABASE shop'", Label: labelOf("destroy", "shop", "no", "critical")}
	refund := labelled{Tool: "refund", Arguments: "{}", Label: labelOf("send|write", "P-88", "no", "high")}
	list := labelled{Run: "aws s3 ls s3://acme-logs/2025/", Label: labelOf("fetch", "acme-logs/2025", "", "low")}
	bucket := labelled{Run: "aws s3 rm s3://acme-logs/2025/ --recursive", Label: labelOf("destroy", "acme-logs/2025", "no", "high")}
	emails := labelled{Tool: "list_emails", Arguments: "{}", Label: cardLabel{Does: statements{"fetch": nil}, Risk: "low"}}
	build := labelled{Run: "sudo -u www rm -rf build/", Label: cardLabel{
		Does: statements{"destroy": {"build"}, "privilege": nil}, May: statements{"read": {"."}}, Reversible: "no", Risk: "critical",
	}}
	for name, tt := range map[string]struct {
		call    labelled
		risk    approvals.Risk
		effects []approvals.Effect
		want    []class
	}{
		"right":                         {remove, "high", []approvals.Effect{{Kind: "destroy", Target: "pod/web-7d9f", Reversible: true}}, nil},
		"the value of an option":        {remove, "high", []approvals.Effect{{Kind: "destroy", Target: "0", Reversible: true}}, []class{wrongTarget, noTarget}},
		"a part of the name":            {remove, "high", []approvals.Effect{{Kind: "destroy", Target: "web", Reversible: true}}, []class{wrongTarget, noTarget}},
		"a name in a longer one":        {remove, "high", []approvals.Effect{{Kind: "destroy", Target: "web-7d9f-old", Reversible: true}}, []class{wrongTarget, noTarget}},
		"a mark of the program":         {remove, "high", []approvals.Effect{{Kind: "destroy", Target: `\x00/../web-7d9f`, Reversible: true}}, []class{wrongTarget}},
		"only the command":              {remove, "high", []approvals.Effect{{Kind: "destroy", Target: "kubectl delete", Reversible: true}}, []class{noTarget}},
		"not known whether it can":      {remove, "high", []approvals.Effect{{Kind: "destroy", Target: "web-7d9f", Irreversible: true}}, []class{falselyFinal}},
		"a place of what is no file":    {remove, "high", []approvals.Effect{{Kind: "destroy", Target: "web-7d9f", Place: "outside", Reversible: true}}, []class{wrongPlace}},
		"another verb":                  {remove, "high", []approvals.Effect{{Kind: "send", Target: "web-7d9f", Reversible: true}}, []class{wrongVerb, leftOut}},
		"nothing stated":                {remove, "high", nil, []class{leftOut}},
		"unknown":                       {remove, "high", []approvals.Effect{{Kind: "unknown", Target: "kubectl"}}, []class{callsUnknown, noVerb}},
		"reading right":                 {status, "low", []approvals.Effect{{Kind: "read", Target: "nginx", Reversible: true}}, nil},
		"a status destroys":             {status, "high", []approvals.Effect{{Kind: "destroy", Target: "systemctl status nginx", Irreversible: true}}, []class{wrongVerb, noVerb, riskTooHigh}},
		"a status changes nothing":      {status, "low", []approvals.Effect{{Kind: "none", Reversible: true}}, []class{onlyNoChanges, noVerb}},
		"a harmless call that is risky": {status, "high", []approvals.Effect{{Kind: "read", Target: "nginx", Reversible: true}}, []class{riskTooHigh}},
		"unknown at a high risk":        {status, "high", []approvals.Effect{{Kind: "unknown"}}, []class{callsUnknown, noVerb, riskTooHigh}},
		"runs":                          {drop, "high", []approvals.Effect{{Kind: "run", Target: "mysql -e DROP DATABASE shop"}}, []class{onlyRuns, leftOut}},
		"runs another program":          {drop, "high", []approvals.Effect{{Kind: "run", Target: "psql"}}, []class{wrongVerb, leftOut}},
		"a database changes nothing":    {drop, "critical", []approvals.Effect{{Kind: "none", Reversible: true}}, []class{wrongVerb, leftOut}},
		"destroys at a low risk":        {drop, "medium", []approvals.Effect{{Kind: "destroy", Target: "the database", Irreversible: true}}, []class{noTarget, riskTooLow}},
		"can be undone":                 {drop, "critical", []approvals.Effect{{Kind: "destroy", Target: "shop", Reversible: true}}, []class{falselyUndone}},
		"tool unknown":                  {refund, "medium", []approvals.Effect{{Kind: "unknown", Target: "refund"}}, []class{callsUnknown, noVerb}},
		"the other verb":                {refund, "high", []approvals.Effect{{Kind: "write", Target: "payment P-88"}}, nil},
		"only the tool":                 {refund, "high", []approvals.Effect{{Kind: "send", Target: "refund", Irreversible: true}}, []class{noTarget}},
		"reads a bucket":                {list, "low", []approvals.Effect{{Kind: "read", Target: "s3://acme-logs/2025/", Reversible: true}}, nil},
		"less of the name":              {list, "low", []approvals.Effect{{Kind: "fetch", Target: "acme-logs", Reversible: true}}, []class{noTarget}},
		"another bucket":                {list, "low", []approvals.Effect{{Kind: "fetch", Target: "logs", Reversible: true}}, []class{wrongTarget, noTarget}},
		"all that holds it":             {bucket, "high", []approvals.Effect{{Kind: "destroy", Target: "acme-logs", Irreversible: true}}, []class{wrongTarget, noTarget}},
		"a word of the tool":            {emails, "low", []approvals.Effect{{Kind: "read", Target: "emails", Reversible: true}}, nil},
		"a word of another tool":        {emails, "low", []approvals.Effect{{Kind: "read", Target: "orders", Reversible: true}}, []class{wrongTarget}},
		"two effects, and one more":     {build, "critical", []approvals.Effect{{Kind: "privilege", Target: "sudo"}, {Kind: "destroy", Target: "./build", Place: "workspace", Irreversible: true}, {Kind: "read", Target: ".", Place: "workspace"}}, nil},
		"after wrappers":                {build, "critical", []approvals.Effect{{Kind: "privilege", Target: "sudo"}, {Kind: "destroy", Target: "rm -rf", Irreversible: true}}, []class{noTarget}},
		"the other place":               {build, "critical", []approvals.Effect{{Kind: "privilege", Target: "sudo"}, {Kind: "destroy", Target: "build", Place: "outside", Irreversible: true}}, []class{wrongPlace}},
		"rights are left out":           {build, "critical", []approvals.Effect{{Kind: "destroy", Target: "/home/maya/shop/build", Irreversible: true}}, []class{leftOut}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []class
			for _, f := range tt.call.compare(card{tt.effects, tt.risk}) {
				got = append(got, f.class)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// labelOf returns a label with one effect on one target.
func labelOf(kinds, target, reversible string, risk approvals.Risk) cardLabel {
	return cardLabel{Does: statements{kinds: {target}}, Reversible: reversible, Risk: risk}
}

// TestClasses: each class is false or vague, not both.
func TestClasses(t *testing.T) {
	for _, class := range falseClasses {
		c := checked{findings: []finding{{callsUnknown, ""}, {class, ""}}}
		if !c.isWrong() || c.isVague() {
			t.Errorf("%q is not wrong", class)
		}
	}
	for _, class := range vagueClasses {
		c := checked{findings: []finding{{class, ""}}}
		if c.isWrong() || !c.isVague() {
			t.Errorf("%q is not vague", class)
		}
	}
	if c := (checked{}); c.isWrong() || c.isVague() {
		t.Error("a card without findings is not right")
	}
}

func TestMentions(t *testing.T) {
	for _, tt := range []struct {
		text, name string
		want       bool
	}{
		{"web", "web", true},
		{"deployment/web", "web", true},
		{"web-1", "web", false},
		{"my_web", "web", false},
		{"web web-1", "web", true},
		{"web-1 web", "web", true},
		{"of=/dev/sda", "/dev/sda", true},
		{"/dev/sda1", "/dev/sda", false},
		{"/srv/x", "/", false},
		{"/", "/", true},
		{"api.acme.com", "acme.com", false},
		{"https://acme.com/a", "acme.com", true},
		{"./build/", "build", true},
		{"/home/maya/shop/src", "src", true},
		{"/home/maya/.bashrc", "~/.bashrc", true},
		{"/home/maya/shop", ".", true},
		{".", ".", true},
		{"a.b", ".", false},
		{"", "a", false},
		{"a", "", false},
		{"", "", true},
	} {
		if got := mentions(tt.text, tt.name); got != tt.want {
			t.Errorf("%q mentions %q: %v", tt.text, tt.name, got)
		}
	}
}

// TestCommandsOfScripts: the names that a card may use for a command, and those that it may not.
func TestCommandsOfScripts(t *testing.T) {
	for _, tt := range []struct {
		run, text string
		want      bool
	}{
		{"git push origin main", "git push", true},
		{"git commit -m x", "hooks of git commit", true},
		{"kubectl -n shop delete pod web", "kubectl delete pod", true},
		{"./gradlew test", "gradlew", true},
		{"kubectl delete pod web --grace-period 0", "0", false},
		{"git log -n 20", "20", false},
		{"cd a && FOO=1 timeout 10 npm test", "npm test", true},
		{"sudo -u root systemctl stop x", "systemctl stop", true},
		{"find . -exec rm -f {} +", "rm -f", true},
		{"grep -A 3 'main' src", "main", false},
		{"ssh web1 'systemctl restart nginx'", "systemctl restart", true},
		{"bash -c 'rm x && ls'", "rm x", true},
		{"psql -c 'DROP TABLE a' shop", "psql -c DROP TABLE a", true},
		{"cat a | xargs -n 1 rm", "rm …", true},
		{"git push", "git pull", false},
		{"cp a b", "", true},
		{"cp a b", "…", true},
		{"psql shop", "the database", true},
	} {
		c := labelled{Run: tt.run}
		if got := c.isTarget(approvals.Effect{Kind: approvals.EffectRead, Target: tt.text}, nil); got != tt.want {
			t.Errorf("%q for %q: %v", tt.text, tt.run, got)
		}
	}
}

func TestParseEffects(t *testing.T) {
	const line = "git:\n  - run: git push --force\n    label: {does: {destroy|send: [origin, main]}, may: {check: .}, reversible: no, risk: high}\n"
	corpus, err := parseEffects([]byte(line))
	if err != nil || len(corpus) != 1 {
		t.Fatalf("%+v, %v", corpus, err)
	}
	if c := corpus[0]; c.group != "git" || c.Label.Reversible != irreversible || len(c.Label.Does["destroy|send"]) != 2 || c.Label.May["check"][0] != "." {
		t.Errorf("%+v", c)
	}
	for name, tt := range map[string]struct{ old, with, want string }{
		"no call":           {"run: git push --force", "run: ''", "line 2: a call is either"},
		"two calls":         {"run: git push --force", "run: a\n    tool: b", "line 2: a call is either"},
		"no JSON":           {"run: git push --force", "tool: b\n    arguments: '{'", "line 2: the arguments"},
		"another key":       {"risk: high", "risk: high, danger: high", "line 2: read a call"},
		"another kind":      {"destroy|send", "destroy|smash", `line 2: "smash"`},
		"another kind, may": {"check: .", "smash: .", `line 2: "smash"`},
		"another risk":      {"risk: high", "risk: huge", "line 2: the risk"},
		"no effect":         {"does: {destroy|send: [origin, main]}", "does: {}", "line 2: the label"},
		"no reversible":     {"reversible: no, ", "", "line 2: reversible"},
		"other reversible":  {"reversible: no", "reversible: never", "line 2: reversible"},
		"no mapping":        {"git:\n", "", "the file is no mapping"},
		"no YAML":           {"git:", "git: [", "read the labels"},
		"a target of two":   {"[origin, main]", "{a: b}", "line 2: read a call"},
	} {
		if _, err := parseEffects([]byte(strings.Replace(line, tt.old, tt.with, 1))); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s...", name, err, tt.want)
		}
	}
}

// TestEffectsReport makes the cards of three calls, and prints them.
func TestEffectsReport(t *testing.T) {
	list, err := checkEffects([]labelled{
		{Run: "cat src/a.go", group: "readers", Label: labelOf("read", "src/a.go", "", "low")},
		{Run: "cat src/a.go", group: "readers", Label: labelOf("destroy", "src/a.go", "no", "high")},
		{Tool: "get_it", Arguments: "{}", group: "tools", Label: labelOf("fetch", "it", "", "low")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := countEffects(list, func(*checked) bool { return true }); n.calls != 3 || n.wrong != 1 {
		t.Errorf("%+v", n)
	}
	var short, long strings.Builder
	if err := printEffects(&short, list, false); err != nil {
		t.Fatal(err)
	}
	if err := printEffects(&long, list, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"EFFECTS ON CARDS", "other tools", "  readers", "1 (50 %)"} {
		if !strings.Contains(short.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, short.String())
		}
	}
	for _, want := range []string{"WRONG CARDS", "cat src/a.go", "card:  low risk: reads src/a.go in the workspace", "label: high risk: destroy src/a.go (reversible: no)", string(wrongVerb)} {
		if !strings.Contains(long.String(), want) || strings.Contains(short.String(), "WRONG CARDS") {
			t.Errorf("the list has no %q:\n%s", want, long.String())
		}
	}
}

func TestEffectLimits(t *testing.T) {
	for _, tt := range []struct {
		counts effectCounts
		want   string
	}{
		{effectCounts{calls: 2000, wrong: maxWrongCards, vague: maxNotRightCards - maxWrongCards}, ""},
		{effectCounts{calls: 2000, vague: maxNotRightCards}, ""},
		{effectCounts{calls: 2000, wrong: maxWrongCards + 1}, "cards are wrong"},
		{effectCounts{calls: 2000, vague: maxNotRightCards + 1}, "cards are vague or wrong"},
	} {
		err := checkEffectLimits(tt.counts)
		if (tt.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: %v, want %q", tt.counts, err, tt.want)
		}
	}
}
