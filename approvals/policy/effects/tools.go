package effects

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
)

// sql marks tools whose resource is SQL.
const sqlTool approvals.EffectKind = "sql"

// exceptions are the built-in tools whose effect differs from that of others with the same kind of
// resource and the same risk: see kindOf.
var exceptions = map[string]approvals.EffectKind{
	"delete_file":       approvals.EffectDestroy,
	"file_delete":       approvals.EffectDestroy,
	"SlashCommand":      approvals.EffectRun, // a prompt of the project, which may run commands
	"write_stdin":       approvals.EffectRun, // input of a program that runs
	"python":            approvals.EffectRun,
	"Python_REPL":       approvals.EffectRun,
	"python_repl":       approvals.EffectRun,
	"python_repl_ast":   approvals.EffectRun,
	"execute_code":      approvals.EffectRun,
	"sql_db_query":      sqlTool,
	"WebSearch":         approvals.EffectFetch,
	"websearch":         approvals.EffectFetch,
	"web_search":        approvals.EffectFetch,
	"google_web_search": approvals.EffectFetch,
}

// edits are the built-in writers whose calls have the text before the change.
var edits = map[string]bool{
	"Edit": true, "MultiEdit": true, "edit": true, "multiedit": true, "replace": true, "replace_in_file": true, "apply_diff": true,
	"apply_patch": true, "patch": true, "edit_file": true, "mcp__filesystem__edit_file": true, "mcp__filesystem__move_file": true,
}

// views are the built-in editors that only read a file if the argument command is view.
var views = map[string]bool{"str_replace_editor": true, "str_replace_based_edit_tool": true, "file_editor": true, "developer__text_editor": true}

// kindOf returns the kind of effect of a tool that is no shell, and whether it can be undone. An entry of the policy has
// only the effects of the built-in tool that it extends.
func (f *finder) kindOf() (kind approvals.EffectKind, undo Undo) {
	name := f.c.Call.Tool
	profile := f.c.Known.Profiles.Find(name)
	if profile == nil || !profile.Names.Literal() || f.c.Tool.Replace || f.c.Tool.Kind != profile.Kind {
		return approvals.EffectUnknown, ""
	}
	if effect, ok := exceptions[name]; ok {
		if effect == approvals.EffectDestroy {
			return effect, Irreversible
		}
		return effect, Uncertain
	}
	return f.kindBy(profile)
}

// kindBy returns the kind of effect that the kind of resource and the risk of a built-in tool give it.
func (f *finder) kindBy(profile *call.Tool) (kind approvals.EffectKind, undo Undo) {
	name, low := f.c.Call.Tool, profile.Risk == approvals.RiskLow
	switch {
	case profile.Kind == call.Path && (low || (views[name] && f.c.Args()["command"] == "view")):
		return approvals.EffectRead, Reversible
	case profile.Kind == call.Path && edits[name]:
		return approvals.EffectWrite, Reversible
	case profile.Kind == call.Path:
		return approvals.EffectWrite, Uncertain
	case profile.Kind == call.URL && profile.Risk == approvals.RiskMedium:
		return approvals.EffectFetch, Reversible
	case profile.Kind == call.Plain && low: // notes, plans, questions, output of a command that was judged
		return approvals.EffectNone, Reversible
	}
	return approvals.EffectUnknown, ""
}

// tool adds the effects of a call of a tool that is no shell.
func (f *finder) tool() {
	kind, undo := f.kindOf()
	switch {
	case kind == sqlTool:
		f.sql(f.c.Text, "the database")
		return
	case kind == approvals.EffectUnknown:
		f.business()
		return
	}
	for i := range f.c.Resources() {
		r := &f.c.Candidates[i]
		if pattern, ok := f.c.Args()["pattern"].(string); ok && strings.EqualFold(f.c.Call.Tool, "glob") && r.Text == "." {
			f.add(approvals.Effect{Kind: kind, Target: pattern, Place: f.c.Places.Of(pattern)}, undo, "")
			continue
		}
		switch f.c.Kind {
		case call.Path:
			f.file(approvals.Effect{Kind: kind, Target: r.Text, Place: f.c.Places.Of(r.Text)}, undo, "")
			if r.Secret != "" {
				f.secret(r.Text)
			}
		case call.URL:
			f.add(approvals.Effect{Kind: kind, Target: strings.TrimSpace(r.URL.Host + " " + r.Problem)}, undo, "")
		default:
			f.plain(kind, undo)
		}
	}
}

// plain adds the effect of a call whose resource is a text.
func (f *finder) plain(kind approvals.EffectKind, undo Undo) {
	target := f.c.Call.Tool
	switch kind {
	case approvals.EffectNone:
		target = ""
	case approvals.EffectFetch:
		target = "the web"
	}
	f.add(approvals.Effect{Kind: kind, Target: target}, undo, "")
}

// toolVerb is what a verb in the name of a tool states.
type toolVerb struct {
	kind approvals.EffectKind
	undo Undo
	risk approvals.Risk // "": that of the kind
}

// toolVerbs are the verbs in the names of tools of businesses and services.
var toolVerbs = func() map[string]toolVerb {
	verbs := map[string]toolVerb{}
	for words, verb := range map[string]toolVerb{
		"current tabs console network details info stats forecast estimate quote aggregate explore resolve_library identify detect classify rank recommend suggest get list read search find fetch query describe show check view lookup look count preview inspect status history schema browse retrieve load is has verify compare snapshot screenshot track explain summarize analyze diff logs whoami ping lint select download": {approvals.EffectRead, Reversible, ""},
		"export": {approvals.EffectRead, Reversible, approvals.RiskMedium},
		"sequentialthinking thought calculate compute think convert validate format parse echo wait sleep plan reflect": {approvals.EffectNone, Reversible, ""},
		"create add insert new open save draft comment label tag untag pin unpin star follow react attach copy clone duplicate log record remember register reserve enable disable close reopen resolve archive unarchive restore assign unassign transition move rename start stop pause resume restart scale commit subscribe unsubscribe follow unfollow like unlike watch unwatch invite_link mark toggle snooze mute unmute lock unlock": {approvals.EffectWrite, Reversible, ""},
		"set": {approvals.EffectWrite, Reversible, ""},
		"update edit modify change write apply exchange replace put patch upsert import sync configure adjust complete process approve reject accept decline merge migrate upgrade confirm rotate reboot swap link unlink rollback revert finalize capture void adjust return redeem issue allocate transform": {approvals.EffectWrite, Uncertain, ""},
		"cancel deactivate suspend revoke ban block reset abort": {approvals.EffectWrite, Uncertain, approvals.RiskHigh},
		"grant promote": {approvals.EffectWrite, Reversible, approvals.RiskCritical},
		"send post reply forward email notify message tweet broadcast call text sms dm": {approvals.EffectSend, Irreversible, ""},
		"publish share submit deploy release upload push invite":                        {approvals.EffectSend, Uncertain, ""},
		"click type fill press drag hover tap":                                          {approvals.EffectSend, Uncertain, approvals.RiskMedium},
		"pay transfer wire withdraw payout buy purchase charge":                         {approvals.EffectSend, Irreversible, approvals.RiskCritical},
		"refund": {approvals.EffectSend, Irreversible, ""},
		"book order checkout trade sell place donate": {approvals.EffectSend, Uncertain, ""},
		"schedule": {approvals.EffectWrite, Reversible, ""},
		"delete remove destroy del trash unpublish clear": {approvals.EffectDestroy, Uncertain, ""},
		"drop": {approvals.EffectDestroy, Irreversible, approvals.RiskCritical},
		"purge erase wipe truncate flush terminate": {approvals.EffectDestroy, Irreversible, ""},
		"kill":                             {approvals.EffectDestroy, Uncertain, ""},
		"install":                          {approvals.EffectInstall, Reversible, ""},
		"uninstall":                        {approvals.EffectWrite, Reversible, ""},
		"evaluate eval":                    {approvals.EffectRun, Uncertain, approvals.RiskMedium},
		"navigate goto visit scrape crawl": {approvals.EffectFetch, Reversible, ""},
		"run execute exec invoke trigger":  {approvals.EffectRun, Uncertain, ""},
	} {
		for word := range strings.FieldsSeq(words) {
			verbs[word] = verb
		}
	}
	return verbs
}()

// lasting are things that do not come back when they are deleted.
var lasting = strings.Fields("customer customers user users record records row rows document documents entity entities key keys collection table tables bucket database account accounts issue project volume instance index contact contacts many one vm repository repo observations relations backup snapshot data server cluster namespace item items container containers event_log")

// whole are things whose loss is that of all in them.
var whole = strings.Fields("bucket database collection table volume instance cluster project account server repository repo vm namespace backup")

// secretThings are things that are secret.
var secretThings = strings.Fields("secret secrets password passwords credential credentials token apikey")

// money are words for what costs or moves money.
var money = strings.Fields("money payment refund payout funds wire transfer invoice pay charge withdraw donate")

// business adds the effects that the name of a tool and its arguments show.
func (f *finder) business() {
	args := f.c.Args()
	words := toolWords(f.c.Call.Tool)
	switch {
	case f.sqlArgument(words, args), f.commandArgument(args), f.urlArgument(words, args):
		return
	case slices.Contains(words, "handoff") || strings.HasPrefix(f.c.Call.Tool, "transfer_to_") || strings.HasPrefix(f.c.Call.Tool, "transfer_back_to"):
		if _, isMoney := args["amount"]; !isMoney { // to another agent, or to a person
			f.add(approvals.Effect{Kind: approvals.EffectSend}, Reversible, approvals.RiskLow)
			return
		}
	}
	verb, ok := verbOf(words)
	if !ok {
		f.unknown(f.c.Call.Tool)
		return
	}
	verb = verb.of(words, sortedNames(args))
	targets := toolTargets(words, args, verb.kind)
	if verb.kind == approvals.EffectNone {
		targets = nil
	}
	for _, target := range targets {
		f.add(approvals.Effect{Kind: verb.kind, Target: target}, verb.undo, verb.risk)
	}
	if len(targets) == 0 {
		f.add(approvals.Effect{Kind: verb.kind}, verb.undo, verb.risk)
	}
}

// thingRule changes what a verb of a kind states where the name of the tool has one of some words.
type thingRule struct {
	kind   approvals.EffectKind
	things []string
	verbs  []string // that the name has too; nil: any
	not    []string // that it does not have
	then   toolVerb // where a field is not zero
}

// thingRules are tried in order; the first one that fits holds.
var thingRules = []thingRule{
	{kind: approvals.EffectDestroy, things: whole, then: toolVerb{"", Irreversible, approvals.RiskCritical}},
	{kind: approvals.EffectDestroy, things: lasting, then: toolVerb{"", Irreversible, ""}},
	{kind: approvals.EffectRead, things: secretThings, not: strings.Fields("list search count check reset"), then: toolVerb{approvals.EffectSecret, "", approvals.RiskHigh}},
	{kind: approvals.EffectWrite, things: strings.Fields("refund payout transfer"), verbs: strings.Fields("create process issue"), then: toolVerb{approvals.EffectSend, Irreversible, approvals.RiskHigh}},
	{kind: approvals.EffectWrite, things: strings.Fields("password credential credentials"), then: toolVerb{"", Irreversible, approvals.RiskHigh}},
	{kind: approvals.EffectWrite, things: secretThings, then: toolVerb{"", "", approvals.RiskHigh}},
	{kind: approvals.EffectWrite, things: strings.Fields("server scale production payment permission permissions role roles admin group policy key firewall deployment"), then: toolVerb{"", "", approvals.RiskHigh}},
	{kind: approvals.EffectWrite, things: strings.Fields("file files"), verbs: strings.Fields("create push"), then: toolVerb{"", "", approvals.RiskHigh}},
}

// of returns what a verb states about the things in the name of the tool. Names of arguments may show the object too.
func (v toolVerb) of(words, names []string) toolVerb {
	among := func(list []string) func(string) bool {
		return func(word string) bool { return slices.Contains(list, word) }
	}
	for _, rule := range thingRules {
		fits := v.kind == rule.kind && slices.ContainsFunc(words, among(rule.things))
		fits = fits && (rule.verbs == nil || slices.ContainsFunc(words, among(rule.verbs))) && !slices.ContainsFunc(words, among(rule.not))
		if !fits {
			continue
		}
		v.kind = cmp.Or(rule.then.kind, v.kind)
		if v.undo != Irreversible {
			v.undo = cmp.Or(rule.then.undo, v.undo)
		}
		if v.risk != approvals.RiskCritical {
			v.risk = cmp.Or(rule.then.risk, v.risk)
		}
		return v
	}
	if v.kind == approvals.EffectDestroy && v.undo == Uncertain && slices.Contains(names, "key") {
		v.undo = Irreversible
	}
	return v
}

// toolWords returns the words in the name of a tool, in lower case: those of the server of mcp__server__tool only if the
// tool repeats none of them.
func toolWords(name string) []string {
	server := ""
	if after, ok := strings.CutPrefix(name, "mcp__"); ok {
		server, name, _ = strings.Cut(after, "__")
	}
	var words []string
	for word := range strings.FieldsFuncSeq(snake(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if word != "api" && word != server {
			words = append(words, word)
		}
	}
	return words
}

// snake writes a name in camelCase with underscores, in lower case.
func snake(name string) string {
	var b strings.Builder
	before := 'A'
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
		before = r
	}
	return b.String()
}

// nouns are verbs that are nouns as well: order_status orders nothing.
var nouns = strings.Fields("order book call text sms dm email message charge trade label comment log record mark star lock watch track process tag pin refund transfer wire link current tabs console network details info stats copy share schedule draft issue return place like account purchase")

// verbOf returns what the verb in the name of a tool states: the first word that is one, and no noun, if there is such a
// word. A name such as post_search posts nothing.
func verbOf(words []string) (verb toolVerb, ok bool) {
	if len(words) > 1 && words[0] == "post" && slices.Contains([]string{"search", "query"}, words[len(words)-1]) {
		words = words[1:]
	}
	for _, word := range words {
		other, isVerb := toolVerbs[word]
		switch isNoun := slices.Contains(nouns, word); {
		case isVerb && !isNoun:
			return other, true
		case isVerb && !ok:
			verb, ok = other, true
		}
	}
	return verb, ok
}

// sqlArguments are the names of arguments that are SQL in tools of databases.
var sqlArguments = []string{"sql", "query", "statement", "sql_query", "stmt"}

// sqlBegins is how SQL begins.
var sqlBegins = regexp.MustCompile(`(?i)^\s*(?:select|with|values|show|describe|desc|explain|insert|replace|merge|update|delete|truncate|drop|alter|create|grant|revoke|pragma|call|begin|set|use|copy|vacuum|optimize)\b`)

// sqlSurely is how SQL begins that is no sentence.
var sqlSurely = regexp.MustCompile(`(?is)^\s*(?:select\b.*\bfrom\b|insert\s+into\b|update\s+\S+\s+set\b|delete\s+from\b|(?:drop|create|alter|truncate)\s+table\b)`)

// sqlArgument adds the effects of SQL in an argument.
func (f *finder) sqlArgument(words []string, args map[string]any) bool {
	for _, name := range sqlArguments {
		source, ok := args[name].(string)
		if ok && sqlBegins.MatchString(source) && (name != "query" || sqlSurely.MatchString(source) || isDatabaseTool(f.c.Call.Tool, words)) {
			f.sql(source, "the database")
			return true
		}
	}
	return false
}

// isDatabaseTool reports whether the name of a tool is that of a database, or of its statements.
func isDatabaseTool(name string, words []string) bool {
	among := strings.Fields("sql db database postgres postgresql pg mysql mariadb sqlite duckdb snowflake bigquery clickhouse supabase redshift mssql oracle neon table migration execute")
	all := append(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) }), words...)
	return slices.ContainsFunc(all, func(word string) bool { return slices.Contains(among, word) || strings.HasSuffix(word, "sql") })
}

// commandArgument adds the effects of a command line in an argument.
func (f *finder) commandArgument(args map[string]any) bool {
	source, ok := args["cli_command"].(string)
	if !ok {
		return false
	}
	script := f.c.Known.Programs.Parse(source)
	for _, command := range script.Acting() {
		f.command(f.subjectOf(f.c.Execution(command), true))
	}
	if script.Problem != "" || script.NotSimple != "" {
		f.unknown("")
	}
	return true
}

// methods are the words in the name of a tool that are HTTP methods.
var methods = []string{"get", "post", "put", "patch", "delete", "head"}

// requestWords are words in the names of tools that make requests over HTTP.
var requestWords = strings.Fields("request requests http fetch navigate goto scrape crawl url browse visit")

// urlArgument adds the effects of a request over HTTP, if the tool makes one to the URL in its arguments.
func (f *finder) urlArgument(words []string, args map[string]any) bool {
	url, _ := args["url"].(string)
	if url == "" {
		url, _ = args["uri"].(string)
	}
	method := methodOf(words, args)
	isRequest := slices.ContainsFunc(words, func(word string) bool {
		return toolVerbs[word].kind == approvals.EffectRead || slices.Contains(requestWords, word)
	})
	if !strings.Contains(url, "://") || (!isRequest && method == "" && f.c.Kind != call.URL) {
		return false
	}
	host := hostOf(url)
	verb, _ := verbOf(words)
	switch {
	case method == "DELETE":
		f.add(approvals.Effect{Kind: approvals.EffectDestroy, Target: host + pathOf(url)}, Irreversible, "")
	case method == "GET", method == "HEAD", method == "" && (verb.kind == approvals.EffectRead || verb.kind == approvals.EffectFetch):
		f.add(approvals.Effect{Kind: approvals.EffectFetch, Target: host}, Reversible, "")
	default:
		f.add(approvals.Effect{Kind: approvals.EffectSend, Target: host}, Uncertain, "")
	}
	return true
}

// methodOf returns the HTTP method in the arguments or in the name of a tool, or "".
func methodOf(words []string, args map[string]any) string {
	if method, _ := args["method"].(string); method != "" {
		return strings.ToUpper(method)
	}
	at := slices.IndexFunc(words, func(word string) bool { return slices.Contains(methods, word) })
	if at < 0 || slices.Contains(words, "fetch") {
		return ""
	}
	return strings.ToUpper(words[at])
}

var (
	// targetNames are the names of arguments that name what a call acts on.
	targetNames = regexp.MustCompile(`(?:^|_)(?:ids?|key|number|names?|sku|emails?|to|recipients?|phone|payee|channel|account|user|username|customer|host|hostname|service|bucket|table|collection|branch|flag|city|title|path|domain|iban|payment_intent|subscription)$`)
	// otherNames are those of them that name something else, such as where it is.
	otherNames = regexp.MustCompile(`^(?:namespace|payment_method_id|price_id|project_id|transition_id|request_id|session_id|trace_id|idempotency_key|api_key|template_id|parent_id|database_name|display_name|from_.*|source_.*|old_.*|new_.*|repo|sender|first_name|last_name|model_name|file_name)$`)
)

const maxToolTargets = 4

// toolTargets returns what the arguments of a tool name: the amount and the recipient of money, the recipient of a
// message, ids and names.
func toolTargets(words []string, args map[string]any, kind approvals.EffectKind) (targets []string) {
	if amount := amountOf(words, args); amount != "" {
		targets = append(targets, amount)
	}
	var things []string
	for _, name := range sortedNames(args) {
		plain := snake(name)
		switch {
		case namesOther(plain, words, kind):
		case targetNames.MatchString(plain):
			targets = append(targets, scalars(args[name])...)
		case slices.Contains(words, plain) && plain != "query":
			things = append(things, scalars(args[name])...)
		}
	}
	if len(targets) == 0 {
		targets = things
	}
	owner, _ := args["owner"].(string)
	if repository, _ := args["repo"].(string); repository != "" && (len(targets) == 0 || kind != approvals.EffectDestroy) {
		targets = append(targets, strings.TrimPrefix(owner+"/"+repository, "/"))
	}
	return targets[:min(len(targets), maxToolTargets)]
}

// namesOther reports whether an argument names something else than what a call acts on: the file that is uploaded, the
// branch of a deleted file.
func namesOther(name string, words []string, kind approvals.EffectKind) bool {
	isSource := slices.Contains(words, "upload") && strings.HasSuffix(name, "path")
	isBranchOf := name == "branch" && kind == approvals.EffectDestroy && !slices.Contains(words, "branch")
	return isSource || isBranchOf || otherNames.MatchString(name)
}

// amountOf returns how much money a call is about, or "".
func amountOf(words []string, args map[string]any) string {
	amount, ok := scalar(args["amount"])
	if !ok || !slices.ContainsFunc(words, func(word string) bool { return slices.Contains(money, word) }) {
		return ""
	}
	if currency, isText := args["currency"].(string); isText {
		amount += " " + currency
	}
	return amount
}

// sortedNames returns the names of arguments, so that a call always has the same effects.
func sortedNames(args map[string]any) []string {
	names := make([]string, 0, len(args))
	for name := range args {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// scalar returns a short text or a number.
func scalar(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, value != "" && len(value) <= maxTarget
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64), true
	case int64, uint64:
		return fmt.Sprint(value), true
	}
	return "", false
}

// scalars returns a short text or a number, those in a list, or those of an object that name it.
func scalars(value any) (texts []string) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if text, ok := scalar(item); ok {
				texts = append(texts, text)
			}
		}
	case map[string]any:
		for _, name := range sortedNames(value) {
			if text, ok := scalar(value[name]); ok && targetNames.MatchString(snake(name)) {
				texts = append(texts, text)
			}
		}
	default:
		if text, ok := scalar(value); ok {
			texts = append(texts, text)
		}
	}
	return texts
}
