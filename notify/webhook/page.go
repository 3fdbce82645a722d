package webhook

import (
	"cmp"
	_ "embed"
	"errors"
	"html/template"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/sanitize"
)

const maxForm = 64 << 10

//go:embed page.html
var pageText string

type page struct {
	Request  *approvals.Request // nil where the link leads to none that waits for it
	Reviewer string
	Waits    bool   // it can be decided here
	About    string // what is decided: "this call"
	Asked    bool   // the request is a question
	Done     approvals.Action
	Problem  string
	Ended    string // how the request ended, and by whom
	After    string // see [approvals.Request.AfterApproval]
	Missing  string // the approvals that it still waits for
}

// answer is the decision in a form, or of a program.
type answer struct {
	Action approvals.Action `json:"action"`
	Note   string           `json:"note"`
}

// ServeHTTP serves one link: a page that asks for GET, the decision for POST.
func (l *Links) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the URL is a secret
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		l.show(w, r)
	case http.MethodPost:
		l.take(w, r)
	default:
		h.Set("Allow", "GET, HEAD, POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func token(r *http.Request) string { return r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] }

// show shows the decision that the link would take. It takes none.
func (l *Links) show(w http.ResponseWriter, r *http.Request) {
	id, err := l.open(r.Context(), token(r))
	var request approvals.Request
	if err == nil {
		request, err = l.request(r.Context(), id)
	}
	if err == nil && request.Status.Final() {
		err = &approvals.DecidedError{Request: request}
	}
	if err == nil {
		_, err = l.unused(r.Context(), id)
	}
	l.render(w, statusOf(err), request, "", err)
}

func (l *Links) take(w http.ResponseWriter, r *http.Request) {
	id, err := l.open(r.Context(), token(r))
	var given answer
	program := false
	if err == nil {
		given, program, err = read(w, r)
	} else {
		program = asksForJSON(r)
	}
	var request approvals.Request
	if err == nil {
		request, err = l.decide(r.Context(), id, given.Action, given.Note)
	}
	if errors.Is(err, errUsed) { // the first use may have decided it meanwhile
		if now, missing := l.request(r.Context(), id); missing == nil && now.Status.Final() {
			request, err = now, &approvals.DecidedError{Request: now}
		}
	}
	if decided := (*approvals.DecidedError)(nil); errors.As(err, &decided) {
		request = decided.Request
	}
	if err != nil && statusOf(err) == http.StatusServiceUnavailable {
		l.o.Log.Warn("the decision of a link failed", "request", id, "error", err)
	}
	if program {
		l.reply(w, request, err)
		return
	}
	l.render(w, statusOf(err), request, given.Action, err)
}

func asksForJSON(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return kind == "application/json"
}

func read(w http.ResponseWriter, r *http.Request) (a answer, program bool, err error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if program = asksForJSON(r); program {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &a, json.RejectUnknownMembers(true))
		}
		if err != nil {
			return a, program, &approvals.InvalidError{Field: "body", Reason: `it is not {"action": "approve" or "deny", "note": "..."}`}
		}
	} else {
		if err := r.ParseForm(); err != nil {
			return a, program, &approvals.InvalidError{Field: "body", Reason: "it is not a form"}
		}
		a = answer{approvals.Action(r.PostForm.Get("action")), r.PostForm.Get("note")}
	}
	switch {
	case a.Action != approvals.ActionApprove && a.Action != approvals.ActionDeny:
		return a, program, &approvals.InvalidError{Field: "action", Reason: "a link approves or denies (as JSON only with Content-Type: application/json); use the inbox for the rest"}
	case len(a.Note) > maxNote:
		return a, program, &approvals.InvalidError{Field: "note", Reason: "it is too long"}
	}
	return a, program, nil
}

// reply answers a program. Of a request that had ended before, the answer has the outcome and
// no more, as [Links.render] does.
func (l *Links) reply(w http.ResponseWriter, request approvals.Request, err error) {
	var body any = request
	kind := "application/json"
	if err != nil {
		kind = problem.ContentType
		body = problem.New(statusOf(err), codeOf(err), l.words(err))
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(statusOf(err))
	_ = json.MarshalWrite(w, body, jsontext.AllowInvalidUTF8(true))
}

func codeOf(err error) string {
	codes := map[int]string{
		http.StatusNotFound: problem.CodeNotFound, http.StatusForbidden: problem.CodeForbidden, http.StatusUnprocessableEntity: problem.CodeInvalid,
		http.StatusGone: problem.CodeAlreadyDecided, http.StatusConflict: problem.CodeAlreadyDecided,
	}
	return cmp.Or(codes[statusOf(err)], problem.CodeStoreUnavailable)
}

func (l *Links) words(err error) string {
	var invalid *approvals.InvalidError
	var forbidden *approvals.ForbiddenError
	var decided *approvals.DecidedError
	switch {
	case errors.As(err, &decided):
		return "Too late: " + ended(&decided.Request) + "."
	case errors.As(err, &forbidden):
		return "Not permitted: " + forbidden.Reason + "."
	case errors.As(err, &invalid):
		return invalid.Field + ": " + invalid.Reason + "."
	case errors.Is(err, errForged), errors.Is(err, errExpired), errors.Is(err, errUsed):
		return err.Error() + "."
	case errors.Is(err, approvals.ErrUnknownRequest):
		return "This request no longer exists."
	}
	if text, certain := approvals.NotRecorded(err); certain {
		return text
	}
	return "heldcall failed, and the decision may or may not be recorded: look in the inbox."
}

func moment(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 MST") }

func ended(r *approvals.Request) string {
	text := string(r.Status)
	if d, ok := r.FinalDecision(); ok {
		text += " by " + d.ReviewerID + " at " + moment(d.DecidedAt)
	} else if why := r.WhyCancelled(); why != "" {
		text += ": " + why
	}
	if line := r.NotRun(); line != "" {
		text += "; " + line
	}
	return text
}

// subject is the heading of the arguments.
func subject(r *approvals.Request) string {
	text := approvals.WordsFor(r.Kind).Subject
	return strings.ToUpper(text[:1]) + text[1:]
}

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"line": sanitize.Line, "lines": sanitize.Lines, "agent": func(r *approvals.Request) string { return r.AgentNote(moment) },
	"effects": func(r *approvals.Request) string { return approvals.WordsFor(r.Kind).Effects }, "subject": subject, "arguments": sanitize.Arguments,
}).Parse(pageText))

// render answers a browser. A call is shown as long as its link may still decide it:
// after that the URL stays in mails and histories, and shows how the request ended.
func (l *Links) render(w http.ResponseWriter, status int, request approvals.Request, done approvals.Action, err error) {
	who, _ := l.o.Reviewer()
	p := page{Reviewer: who.Name, Waits: err == nil && done == "", Done: done, Missing: request.Missing(), About: "this call", Asked: request.Asks()}
	if request.Kind == approvals.KindResult {
		p.About = "this result"
	}
	waits := err == nil || errors.As(err, new(*approvals.ForbiddenError))
	if waits && request.ID != "" && !request.Status.Final() {
		p.Request = &request
	}
	if err != nil {
		p.Problem, p.Done = l.words(err), ""
	}
	if request.Status.Final() {
		p.Ended, p.After = ended(&request), request.AfterApproval()
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = pageTemplate.Execute(w, p)
}
