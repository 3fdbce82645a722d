package effects

import (
	"regexp"
	"slices"
	"strings"

	"github.com/DataDog/go-sqllexer"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// sqlStatement is the effect of one statement of SQL.
type sqlStatement struct {
	kind    approvals.EffectKind
	targets []string // tables, or databases
	undo    Undo
	risk    approvals.Risk
}

// pure are SQL functions and words before a parenthesis that change nothing and read no file.
var pure = strings.Fields(`abs all and any array array_agg array_length as avg between by cast ceil ceiling char_length coalesce concat concat_ws count countif
	cube current_date current_timestamp date date_add date_diff date_format date_part date_sub date_trunc datediff datetime day decode dense_rank distinct else
	every except exists exp extract filter first_value floor format from from_unixtime generate_series greatest group group_concat grouping having hour if ifnull iif in
	instr interval is isnull join json_agg json_array json_build_object json_extract json_object jsonb_agg jsonb_build_object jsonb_array_elements jsonb_each lag last_value lateral lead least left
	length like limit ln log lower lpad ltrim max md5 min minute mod month not now nth_value ntile nullif nvl offset on or over partition percent_rank percentile_cont
	pow power quarter random rank regexp_replace replace right round row row_number rpad rtrim second select sign split_part sqrt starts_with stddev strftime string_agg strpos substr
	substring sum then to_char to_date to_json to_number to_timestamp total trim trunc truncate typeof union unnest upper using uniq values variance week when where with within year`)

// writing are words that make a statement more than a read.
var writing = strings.Fields("alter analyze call create delete do drop execute grant insert into lock merge set truncate update")

// tableless are statements that change at most the session.
var tableless = strings.Fields("begin commit end rollback savepoint release start set use abort")

// sqlObjects are kinds of what a statement creates, changes or removes.
var sqlObjects = strings.Fields("table database schema index view materialized function procedure sequence type user role trigger extension column temporary temp unique only concurrently if not exists or replace cascade keyspace dictionary")

// readSQL returns what the statements of a text do, and false if not all of it is understood.
func readSQL(source string) (list []sqlStatement, understood bool) {
	statements, whole := sqlStatements(source)
	for _, words := range statements {
		s, ok := statementOf(words)
		whole = whole && ok
		if ok && s.kind != approvals.EffectNone {
			list = append(list, s)
		}
	}
	return list, whole
}

// statementOf returns the effect of a statement by its words.
func statementOf(words []sqlWord) (s sqlStatement, ok bool) {
	verb := words[0].lower
	named := func(skip ...string) []string { return objectOf(words[1:], skip...) }
	switch verb {
	case "select", "with", "values", "table", "show", "describe", "desc", "explain", "pragma":
		if !onlyReads(words) {
			return s, false
		}
		return sqlStatement{kind: approvals.EffectRead, targets: tablesRead(words)}, true
	case "insert":
		return sqlStatement{kind: approvals.EffectWrite, targets: named("into", "ignore", "overwrite", "or", "replace"), undo: undoUnless(hasWord(words, "conflict", "duplicate", "replace", "select", "overwrite"))}, true
	case "replace", "merge", "upsert":
		return sqlStatement{kind: approvals.EffectDestroy, targets: named("into"), undo: Uncertain}, true
	case "update":
		return sqlStatement{kind: approvals.EffectDestroy, targets: named("only", "ignore", "or", "rollback"), undo: Irreversible}, true
	case "delete":
		risk := approvals.RiskHigh
		if !hasWord(words, "where", "using", "limit") {
			risk = approvals.RiskCritical
		}
		return sqlStatement{kind: approvals.EffectDestroy, targets: named("from", "only"), undo: Irreversible, risk: risk}, true
	case "truncate":
		return sqlStatement{kind: approvals.EffectDestroy, targets: named(), undo: Irreversible}, true
	case "drop":
		return droppedBy(words, named()), true
	case "alter":
		return alteredBy(words, named()), true
	case "create":
		return sqlStatement{kind: approvals.EffectWrite, targets: named(), undo: undoUnless(hasWord(words[:min(4, len(words))], "replace"))}, true
	case "comment", "optimize", "vacuum", "analyze", "reindex", "refresh", "cluster", "repair":
		return sqlStatement{kind: approvals.EffectWrite, targets: named("on", "full", "verbose", "materialized", "view"), undo: Uncertain}, true
	case "grant", "revoke":
		return grantedBy(words), true
	}
	return sqlStatement{kind: approvals.EffectNone}, slices.Contains(tableless, verb)
}

// undoUnless returns whether something new can be taken back, which may replace what was there.
func undoUnless(replaces bool) Undo {
	if replaces {
		return Uncertain
	}
	return Reversible
}

func droppedBy(words []sqlWord, targets []string) sqlStatement {
	s := sqlStatement{kind: approvals.EffectDestroy, targets: targets, undo: Uncertain}
	if hasWord(words[:min(3, len(words))], "table", "database", "schema", "keyspace") {
		s.undo, s.risk = Irreversible, approvals.RiskCritical
	}
	return s
}

func alteredBy(words []sqlWord, targets []string) sqlStatement {
	switch {
	case dropsData(words):
		return sqlStatement{kind: approvals.EffectDestroy, targets: targets, undo: Irreversible}
	case hasWord(words[1:], "add") && !hasWord(words[1:], "alter", "modify", "change", "rename"):
		return sqlStatement{kind: approvals.EffectWrite, targets: targets, undo: Reversible}
	}
	return sqlStatement{kind: approvals.EffectWrite, targets: targets, undo: Uncertain}
}

// dropsData reports whether an ALTER removes data, and not only a rule about it.
func dropsData(words []sqlWord) bool {
	for i, word := range words[:len(words)-1] {
		isRule := slices.Contains([]string{"constraint", "index", "key", "foreign", "primary", "not", "default", "check", "expression", "identity"}, words[i+1].lower)
		if (word.lower == "drop" || word.lower == "truncate") && !word.quoted && !isRule {
			return true
		}
	}
	return false
}

// grantedBy names who gets or loses rights.
func grantedBy(words []sqlWord) sqlStatement {
	s := sqlStatement{kind: approvals.EffectPrivilege}
	for i, word := range words[:len(words)-1] {
		if word.lower == "to" || (word.lower == "from" && words[0].lower == "revoke") {
			s.targets = []string{words[i+1].text}
		}
	}
	return s
}

func hasWord(words []sqlWord, among ...string) bool {
	return slices.ContainsFunc(words, func(w sqlWord) bool { return !w.quoted && slices.Contains(among, w.lower) })
}

// objectOf returns the name behind words that only describe it.
func objectOf(words []sqlWord, skip ...string) []string {
	for _, word := range words {
		switch {
		case word.lower == "(" || word.lower == "'":
			return nil
		case word.quoted || (!slices.Contains(sqlObjects, word.lower) && !slices.Contains(skip, word.lower)):
			return []string{word.text}
		}
	}
	return nil
}

// tablesRead returns the tables behind FROM and JOIN.
func tablesRead(words []sqlWord) (tables []string) {
	for i, word := range words[:len(words)-1] {
		next := words[i+1]
		isTable := !word.quoted && slices.Contains([]string{"from", "join", "describe", "desc", "table"}, word.lower)
		if isTable && next.lower != "(" && next.lower != "'" && !slices.Contains(tables, next.text) && next.lower != "lateral" && next.lower != "select" {
			tables = append(tables, next.text)
		}
	}
	return tables
}

// onlyReads reports whether a statement that begins like a query is known to change nothing.
func onlyReads(words []sqlWord) bool {
	if words[0].lower == "pragma" && len(words) > 2 {
		return false // it may set a value
	}
	for i, word := range words {
		if i > 0 && !word.quoted && slices.Contains(writing, word.lower) && words[0].lower != "show" {
			return false
		}
		if called := i+1 < len(words) && words[i+1].lower == "("; called && !slices.Contains(pure, word.lower) && word.lower != "(" && !isAlias(words, i) {
			return false
		}
	}
	return true
}

// isAlias reports whether a name in front of a bracket is that of a query: WITH x (a) AS.
func isAlias(words []sqlWord, i int) bool { return i == 1 && words[0].lower == "with" }

// sqlWord is a word, a bracket, or a quoted text, which is only a quote.
type sqlWord struct {
	text, lower string
	quoted      bool // a quoted name
}

// sqlStatements returns the words of each statement. It returns none and false for a text in which databases see different
// statements: they differ in what a backslash, a number sign and some comments mean.
func sqlStatements(source string) (all [][]sqlWord, whole bool) {
	if strings.ContainsAny(source, "\\#\x00") {
		return nil, false
	}
	database := sqllexer.DBMSPostgres
	if strings.Contains(source, "`") {
		database = sqllexer.DBMSMySQL
	}
	var words []sqlWord
	lexer := sqllexer.New(source, sqllexer.WithDBMS(database))
	for token := lexer.Scan(); token.Type != sqllexer.EOF; token = lexer.Scan() {
		switch token.Type {
		case sqllexer.ERROR, sqllexer.UNKNOWN, sqllexer.INCOMPLETE_STRING, sqllexer.DOLLAR_QUOTED_FUNCTION, sqllexer.DOLLAR_QUOTED_STRING, sqllexer.SYSTEM_VARIABLE:
			return nil, false
		case sqllexer.COMMENT, sqllexer.MULTILINE_COMMENT:
			if !isPlainComment(token.Value) {
				return nil, false
			}
		case sqllexer.STRING:
			words = append(words, sqlWord{text: "'", lower: "'"})
		case sqllexer.QUOTED_IDENT:
			name := strings.Trim(token.Value, "\"`")
			words = append(words, sqlWord{text: name, lower: strings.ToLower(name), quoted: true})
		case sqllexer.PUNCTUATION:
			if token.Value == ";" && len(words) > 0 {
				all, words = append(all, words), nil
			}
			if token.Value == "(" {
				words = append(words, sqlWord{text: "(", lower: "("})
			}
		case sqllexer.COMMAND, sqllexer.KEYWORD, sqllexer.IDENT, sqllexer.FUNCTION, sqllexer.NUMBER, sqllexer.BOOLEAN, sqllexer.NULL, sqllexer.PROC_INDICATOR, sqllexer.CTE_INDICATOR, sqllexer.ALIAS_INDICATOR:
			words = append(words, sqlWord{text: token.Value, lower: strings.ToLower(token.Value)})
		}
	}
	if len(words) > 0 {
		all = append(all, words)
	}
	return all, true
}

// isPlainComment reports whether a comment is one for every database: not one that MySQL runs, and none in another one.
func isPlainComment(text string) bool {
	if rest, line := strings.CutPrefix(text, "--"); line {
		return rest == "" || rest[0] == ' ' || rest[0] == '\t'
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/")
	return len(text) >= 4 && !strings.HasPrefix(inner, "!") && !strings.HasPrefix(inner, "+") && !strings.Contains(inner, "/*")
}

// sql adds the effects of SQL. Without is the target of a statement that names no table.
func (f *finder) sql(source, without string) {
	if !f.spend(len(source) / 4) {
		return
	}
	source = strings.TrimSpace(source)
	if showsOnly.MatchString(source) { // psql's \dt, sqlite's .tables
		f.add(approvals.Effect{Kind: approvals.EffectRead, Target: without}, "", "")
		return
	}
	list, understood := readSQL(source)
	for _, s := range list {
		if len(s.targets) == 0 {
			s.targets = []string{without}
		}
		for _, target := range s.targets {
			f.add(approvals.Effect{Kind: s.kind, Target: target}, s.undo, s.risk)
		}
	}
	if !understood || len(list) == 0 {
		f.unknown("SQL")
	}
}

var showsOnly = regexp.MustCompile(`^(?:\\(?:d[a-zA-Z+]*|l\+?|z|conninfo|encoding|timing)|\.(?:tables|schema|databases|indexes|indices|dump|fullschema|stats|show|help|mode|headers))(?:\s+[\w.*"]*)?$`)

var sqliteBackup = regexp.MustCompile(`^\.(?:backup|save|clone|output|once)\s+(?:main\s+)?'?([^\s']+)'?$`)

// statements adds the effects of SQL or code in a word.
func (s *subject) statements(kind approvals.EffectKind, word shell.Word) {
	switch backup := sqliteBackup.FindStringSubmatch(word.Text); {
	case kind == codeOf:
		s.code(word.Text)
	case !word.Known:
		s.f.unknown("SQL")
	case backup != nil:
		s.add(approvals.EffectWrite, text(backup[1]), "path", Uncertain, "")
	default:
		s.f.sql(word.Text, s.database())
	}
}

// database returns the database, file or host that a client of one is called with, or "".
func (s *subject) database() string {
	if value := s.args.value("-d", "--dbname", "-D", "--database"); value != "" {
		return value
	}
	if operands := s.args.operands; len(operands) > s.matched && !strings.ContainsAny(operands[s.matched].Text, " ;") {
		return operands[s.matched].Text
	}
	return s.args.value("-h", "--host")
}

// sqlInput adds the effects of a client that reads statements.
func (s *subject) sqlInput() {
	source, ok := s.input, s.input != ""
	if !ok && s.before != nil {
		source, ok = s.before.printed()
	}
	if ok {
		s.f.sql(source, s.database())
		return
	}
	s.add(approvals.EffectRun, text(s.database()), "", Uncertain, "")
}

var (
	mongoCall = regexp.MustCompile(`db\.(?:getCollection\(["']([^"']+)["']\)|([\w.-]+?))\.(\w+)\(`)
	mongoRead = regexp.MustCompile(`^(?:show \w+|db\.(?:stats|version|getCollectionNames|getCollectionInfos|serverStatus|hostInfo|getName|getUsers)\(\)|rs\.status\(\)|sh\.status\(\)|db\.adminCommand\(["']?(?:ping|listDatabases)["']?\))$`)
)

// mongoMethods are the methods of collections of MongoDB. Documents that are changed have no former value in the call.
var mongoMethods = func() map[string]toolVerb {
	methods := map[string]toolVerb{}
	for names, effect := range map[string]toolVerb{
		"find findOne count countDocuments estimatedDocumentCount aggregate distinct stats getIndexes explain": {approvals.EffectRead, Reversible, ""},
		"insert insertOne insertMany createIndex renameCollection":                                             {approvals.EffectWrite, Reversible, ""},
		"update updateOne updateMany replaceOne findOneAndUpdate findOneAndReplace save bulkWrite":             {approvals.EffectDestroy, Irreversible, ""},
		"delete deleteOne deleteMany remove findOneAndDelete":                                                  {approvals.EffectDestroy, Irreversible, ""},
		"drop":                  {approvals.EffectDestroy, Irreversible, approvals.RiskCritical},
		"dropIndex dropIndexes": {approvals.EffectDestroy, Uncertain, ""},
	} {
		for name := range strings.FieldsSeq(names) {
			methods[name] = effect
		}
	}
	return methods
}()

// mongo adds the effects of the code in --eval.
func (s *subject) mongo() {
	source := s.args.value("--eval", "-e")
	if source == "" {
		s.sqlInput()
		return
	}
	stated := false
	for _, m := range mongoCall.FindAllStringSubmatch(source, -1) {
		effect, ok := mongoMethods[m[3]]
		if !ok {
			continue
		}
		if m[3] == "aggregate" && (strings.Contains(source, "$out") || strings.Contains(source, "$merge")) {
			effect = toolVerb{approvals.EffectWrite, Uncertain, approvals.RiskHigh}
		}
		stated = true
		s.add(effect.kind, text(m[1]+m[2]), "", effect.undo, effect.risk)
	}
	if strings.Contains(source, "dropDatabase(") {
		stated = true
		s.add(approvals.EffectDestroy, text(s.database()), "", Irreversible, approvals.RiskCritical)
	}
	switch {
	case mongoRead.MatchString(strings.TrimSpace(source)):
		s.add(approvals.EffectRead, text(s.database()), "", "", "")
	case !stated:
		s.f.unknown(s.beginning(2))
	}
}
