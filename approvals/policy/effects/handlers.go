package effects

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// handle adds the effects of a program whose words have a language of their own.
func (s *subject) handle(name string) {
	switch name {
	case "awk":
		s.awk()
	case "curl":
		s.curl()
	case "find":
		s.search()
	case "httpie":
		s.httpie()
	case "input":
		s.sqlInput()
	case "interpreter":
		s.interpreter()
	case "mongo":
		s.mongo()
	case "pod":
		s.pod()
	case "runner":
		s.runner()
	case "shell":
		s.shell()
	case "ssh":
		s.ssh()
	case "wget":
		s.wget()
	}
}

// exchange is a request over HTTP.
type exchange struct {
	method string
	url    shell.Word
	body   bool   // it has data
	file   string // that it has as data
}

// local reports whether a host is this machine.
func local(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1" || host == "0.0.0.0" || strings.HasSuffix(host, ".localhost")
}

// exchange adds the effects of a request over HTTP.
func (s *subject) exchange(x exchange) {
	host := hostOf(x.url.Text)
	risk := approvals.Risk("")
	switch method := strings.ToUpper(x.method); {
	case method == "DELETE":
		s.add(approvals.EffectDestroy, text(host+pathOf(x.url.Text)), "", Irreversible, "")
		return
	case method == "" && !x.body, slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, method):
		if local(host) {
			risk = approvals.RiskLow
		}
		s.add(approvals.EffectFetch, text(host), "", "", risk)
		return
	}
	if local(host) {
		risk = approvals.RiskMedium
	}
	undo := Uncertain
	if x.file != "" {
		s.add(approvals.EffectRead, text(x.file), "path", "", "")
		if method := strings.ToUpper(x.method); method != "PUT" && method != "PATCH" && !local(host) {
			undo = Irreversible // published
		}
	}
	s.add(approvals.EffectSend, text(host), "", undo, risk)
}

// pathOf returns the path of a URL without its query.
func pathOf(url string) string {
	if _, after, ok := strings.Cut(url, "://"); ok {
		url = after
	}
	_, name, ok := strings.Cut(url, "/")
	if !ok {
		return ""
	}
	if at := strings.IndexAny(name, "?#"); at >= 0 {
		name = name[:at]
	}
	return strings.TrimSuffix("/"+name, "/")
}

// curlBodies are the options of curl that have data to send.
var curlBodies = strings.Fields("-d --data --data-raw --data-binary --data-urlencode --data-ascii --json -F --form --form-string -T --upload-file")

func (s *subject) curl() {
	x := s.curlRequest()
	urls := append(slices.Clone(s.args.operands), s.args.options["--url"]...)
	if len(urls) == 0 {
		urls = append(urls, shell.Word{})
	}
	for _, url := range urls {
		x.url = url
		s.exchange(x)
	}
	for _, name := range []string{"-o", "--output", "--output-dir"} {
		for _, word := range s.args.options[name] {
			s.add(approvals.EffectWrite, word, "path", Uncertain, "")
		}
	}
	if s.args.has("-O", "--remote-name", "--remote-name-all") && !s.args.has("--output-dir") {
		s.add(approvals.EffectWrite, shell.Word{}, "", Uncertain, "")
	}
}

// curlRequest returns the method and the data of curl.
func (s *subject) curlRequest() exchange {
	a := s.args
	x := exchange{method: a.value("-X", "--request"), body: a.has(curlBodies...)}
	for _, name := range curlBodies {
		for _, value := range a.options[name] {
			if before, file, ok := strings.Cut(value.Text, "@"); ok && (before == "" || strings.HasSuffix(before, "=")) {
				x.file, _, _ = strings.Cut(file, ";")
			}
		}
	}
	if file := a.value("-T", "--upload-file"); file != "" {
		x.file, x.method = file, cmp.Or(x.method, "PUT")
	}
	if a.has("-G", "--get") {
		x.body = false
	}
	if a.has("-I", "--head") {
		x.method = "HEAD"
	}
	return x
}

func (s *subject) wget() {
	a := s.args
	x := exchange{method: a.value("--method"), file: a.value("--post-file", "--body-file")}
	x.body = a.has("--post-data", "--post-file", "--body-data", "--body-file")
	urls := a.operands
	if len(urls) == 0 {
		urls = append(urls, shell.Word{})
	}
	for _, url := range urls {
		x.url = url
		s.exchange(x)
	}
	if x.method != "" || x.body || a.has("--spider") || a.value("-O", "--output-document") == "-" {
		return
	}
	for _, name := range []string{"-O", "--output-document", "-P", "--directory-prefix"} {
		for _, word := range a.options[name] {
			s.add(approvals.EffectWrite, word, "path", Uncertain, "")
			return
		}
	}
	for _, url := range a.operands {
		if name := match.LastSegment(pathOf(url.Text)); name != "" && url.Known {
			s.add(approvals.EffectWrite, text(name), "path", Uncertain, "")
		}
	}
}

// httpie reads METHOD URL ITEM...
func (s *subject) httpie() {
	operands := s.args.operands
	x := exchange{}
	if len(operands) > 0 && strings.Trim(operands[0].Text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		x.method, operands = operands[0].Text, operands[1:]
	}
	if len(operands) == 0 {
		s.f.unknown(s.beginning(2))
		return
	}
	x.url, operands = operands[0], operands[1:]
	for _, item := range operands {
		if !strings.Contains(item.Text, "==") && strings.ContainsAny(item.Text, "=@") {
			x.body = true
		}
	}
	if strings.HasPrefix(x.url.Text, ":") {
		x.url.Text = "localhost" + x.url.Text
	}
	s.exchange(x)
	if output := s.args.value("-o", "--output"); output != "" {
		s.add(approvals.EffectWrite, text(output), "path", Uncertain, "")
	}
}

// remoteFile returns the machine and path, or the bucket and key, that a word names.
func (s *subject) remoteFile(word string) (target string, ok bool) {
	if scheme, name, found := strings.Cut(word, "://"); found && scheme != "file" {
		name = name[strings.LastIndexByte(name, '@')+1:]
		return strings.TrimSuffix(name, "/"), true
	}
	colon, slash := strings.IndexByte(word, ':'), strings.IndexByte(word, '/')
	inPod := s.name == "kubectl" || s.name == "oc"          // NAMESPACE/POD:PATH
	if colon > 1 && (slash < 0 || slash > colon || inPod) { // C: is a drive
		return word[strings.LastIndexByte(word[:colon], '@')+1:], true
	}
	return "", false
}

// copies adds the effects of a copy: the last word is where to.
func (s *subject) copies(words []shell.Word, st *statement) {
	if len(words) == 0 {
		s.f.unknown(s.beginning(2))
		return
	}
	sources, to := words[:len(words)-1], words[len(words)-1]
	if len(sources) == 0 {
		sources, to = words, text(".")
	}
	destination, sends := s.remoteFile(to.Text)
	for _, from := range sources {
		switch source, fetches := s.remoteFile(from.Text); {
		case !fetches:
			s.add(approvals.EffectRead, from, "path", "", "")
		case elsewhereOnly[s.name]: // a container of this machine
			s.add(approvals.EffectRead, text(source), "", "", "")
		default:
			s.add(approvals.EffectFetch, text(source), "", "", "")
		}
	}
	undo := st.undo
	if st.kind == mirrored && undo == "" {
		undo = Irreversible
	}
	switch {
	case sends:
		if elsewhereOnly[s.name] {
			s.add(approvals.EffectWrite, text(destination), "", Uncertain, st.risk)
			return
		}
		s.add(approvals.EffectSend, text(destination), "", undo, st.risk)
		if st.kind == mirrored {
			s.add(approvals.EffectDestroy, text(destination), "", undo, st.risk)
		}
	case st.kind == mirrored:
		s.add(approvals.EffectDestroy, to, "path", undo, st.risk)
		s.add(approvals.EffectWrite, to, "path", undo, st.risk)
	default:
		if to.Text == "." {
			to.Text = ""
		}
		s.add(approvals.EffectWrite, to, "path", undo, st.risk)
	}
}

// elsewhereOnly are programs whose other side is on this machine.
var elsewhereOnly = map[string]bool{"docker": true, "podman": true}

// shell adds the effects of a shell that does not run commands which the script shows.
func (s *subject) shell() {
	a := s.args
	switch {
	case a.has("-n") && len(a.operands) > 0:
		s.add(approvals.EffectRead, a.operands[0], "path", "", "")
	case s.own && len(s.execution.Command.Inner()) > 0: // the commands are of their own
	case a.has("-c") && len(a.options["-c"]) > 0:
		s.script(a.options["-c"][0].Text, s.remote)
	case len(a.operands) > 0 && a.operands[0].Text != "-":
		s.add(approvals.EffectRun, a.operands[0], "file", Uncertain, "")
	case s.input != "":
		s.script(s.input, s.remote)
	case s.before != nil:
		s.runsOutput()
	default:
		s.add(approvals.EffectRun, text(s.beginning(1)), "", "", "")
	}
}

// runsOutput adds the effects of an interpreter that runs what another command writes.
func (s *subject) runsOutput() {
	from := s.before
	if printed, ok := from.printed(); ok && s.depth == 0 && s.name != "" && isShell[s.name] {
		s.script(printed, s.remote)
		return
	}
	if from.args == nil || !slices.Contains([]string{"curl", "wget", "http", "https", "xh"}, from.name) || len(from.args.operands) == 0 {
		s.add(approvals.EffectRun, text(s.beginning(1)), "", "", "")
		return
	}
	for _, url := range from.args.operands {
		s.add(approvals.EffectRun, url, "host", "", approvals.RiskCritical)
	}
}

var isShell = map[string]bool{"sh": true, "bash": true, "zsh": true, "dash": true, "ksh": true}

// printed returns what a command prints, if its words are all of that.
func (s *subject) printed() (string, bool) {
	if len(s.words) == 0 {
		return "", false
	}
	name := baseName(s.words[0].Text)
	if name == "cat" && len(s.words) == 1 && s.input != "" {
		return s.input, true
	}
	if name != "echo" && name != "printf" {
		return "", false
	}
	var texts []string
	for _, word := range s.words[1:] {
		if !word.Known {
			return "", false
		}
		if !slices.Contains([]string{"-n", "-e", "-E"}, word.Text) {
			texts = append(texts, word.Text)
		}
	}
	return strings.Join(texts, " "), true
}

// search adds the effects of find: the folders, and what it does with what it finds there.
func (s *subject) search() {
	words := s.words[1:]
	for len(words) > 0 && slices.Contains([]string{"-H", "-L", "-P"}, words[0].Text) {
		words = words[1:]
	}
	at := slices.IndexFunc(words, func(w shell.Word) bool { return strings.HasPrefix(w.Text, "-") || w.Text == "(" || w.Text == "!" })
	if at < 0 {
		at = len(words)
	}
	folders, tests := words[:at], words[at:]
	if len(folders) == 0 {
		folders = []shell.Word{text(".")}
	}
	if s.searchActions(tests, searchTargets(folders, tests)) {
		return
	}
	for _, folder := range folders {
		s.add(approvals.EffectRead, folder, "path", "", "")
	}
}

// searchTargets returns what find finds, as people name it: a pattern, or the folder where it looks.
func searchTargets(folders, tests []shell.Word) []shell.Word {
	targets := slices.Clone(folders)
	for i, word := range tests[:max(len(tests)-1, 0)] {
		if word.Text != "-name" && word.Text != "-iname" {
			continue
		}
		for k := range targets {
			if targets[k].Text == "." {
				targets[k].Text = tests[i+1].Text
			}
		}
	}
	return targets
}

// searchActions adds the effects of what find does with what it finds, and reports whether that is more than to show it.
func (s *subject) searchActions(tests, targets []shell.Word) (acts bool) {
	for i, word := range tests {
		switch word.Text {
		case "-delete":
			acts = true
			for _, target := range targets {
				s.add(approvals.EffectDestroy, target, "path", Irreversible, "")
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			acts = true
			s.runsFor(tests[i+1:], targets)
		case "-fprint", "-fprintf", "-fls", "-fprint0":
			s.add(approvals.EffectWrite, tests[min(i+1, len(tests)-1)], "path", Uncertain, "")
		}
	}
	return acts
}

// runsFor adds the effects of the command that find runs, on what it finds.
func (s *subject) runsFor(words, targets []shell.Word) {
	end := slices.IndexFunc(words, func(w shell.Word) bool { return w.Text == ";" || w.Text == "+" })
	if end < 0 {
		end = len(words)
	}
	var command []shell.Word
	for _, word := range words[:end] {
		if word.Text == "{}" {
			command = append(command, targets...)
		} else {
			command = append(command, word)
		}
	}
	s.inner(command)
}

// ssh adds that a command runs on another machine, which may get what another command writes.
func (s *subject) ssh() {
	host := s.args.operands
	switch {
	case len(host) == 0:
		s.f.unknown(s.beginning(1))
	case s.input != "" && len(host) == 1: // a script
		s.add(approvals.EffectRun, host[0], "host", Uncertain, "")
		s.script(s.input, true)
	case s.before != nil || s.input != "":
		s.add(approvals.EffectSend, host[0], "host", Uncertain, "")
	case len(host) == 1:
		s.add(approvals.EffectRun, host[0], "host", Uncertain, "")
	default:
		s.add(approvals.EffectRun, host[0], "host", Uncertain, approvals.RiskMedium)
	}
}
