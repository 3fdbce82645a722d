package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"

	"errors"
	"strings"
	"text/template"

	"github.com/heldcall/heldcall/approvals"
)

// maxMessage bounds what a template may write, in bytes.
const maxMessage = 4 << 10

// Message is a template of a rule: the title of a question, or what the model is
// told of a denial. It is written in Go's text/template over [MessageData].
type Message struct{ template *template.Template }

// MessageData is what a template may show.
type MessageData struct {
	Tool      string
	Resource  string
	Args      map[string]any // empty of free text and of arguments that are not strict
	Commands  []string       // of a shell command, those found
	Risk      approvals.Risk
	Rule      string
	Reason    string
	Principal approvals.Principal
	Session   string
	Run       string
	Model     string

	Denied // in a denial
}

// Denied is how a call came to be denied.
type Denied struct {
	Outcome  approvals.Outcome
	Note     string // of the reviewer
	Reviewer string
}

// newMessage reads a template and tries it out.
func newMessage(text string) (*Message, error) {
	t, err := template.New("message").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: message:"))
	}
	m := &Message{t}
	_, err = m.render(MessageData{Args: map[string]any{}, Commands: []string{""}})
	var failed template.ExecError
	// Which arguments a call has is not known yet.
	if errors.As(err, &failed) && !strings.Contains(err.Error(), "at <.Args") && !strings.Contains(err.Error(), "at <$.Args") {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: message:"))
	}
	return m, nil
}

var errTooLong = errors.New("the text is too long")

// render fills in the template.
func (m *Message) render(data MessageData) (string, error) {
	var b bounded
	if err := m.template.Execute(&b, data); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

// bounded takes as much text as a message may have.
type bounded struct{ strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxMessage {
		return 0, errTooLong
	}
	return b.Builder.Write(p)
}

// messageData is what templates may show of a call.
func (s *subject) messageData(v *Verdict) MessageData {
	data := MessageData{
		Tool: s.call.Tool, Resource: s.text, Args: map[string]any{}, Commands: firstOf(s.shownCommands()), Risk: v.Risk, Rule: v.Rule, Reason: v.Reason,
		Principal: s.call.Principal, Session: s.call.Session, Run: s.call.Run, Model: s.call.Model,
	}
	if !s.call.FreeText && len(s.doubts) == 0 {
		data.Args = match.DecodeObject(s.call.Arguments)
	}
	return data
}

// title fills in the title of a question. Where it cannot be filled in, the
// verdict has none and a flag says why.
func (s *subject) title(v *Verdict, rules []*rule) {
	for _, r := range rules {
		if r.title == nil {
			continue
		}
		text, err := r.title.render(s.messageData(v))
		if err != nil {
			v.Flags = append(v.Flags, "The title of the rule at "+v.Rule+" could not be filled in for this call.")
			return
		}
		v.Title = match.Preview(text)
		return
	}
}

// denial is what the model is told by the first rule that says it, or nil.
func (s *subject) denial(v *Verdict, rules []*rule) *Denial {
	for _, r := range rules {
		if r.denial != nil {
			return &Denial{r.denial, s.messageData(v)}
		}
	}
	return nil
}

// Denial is what the model is told where a call is denied, as a rule has it.
type Denial struct {
	message *Message
	data    MessageData
}

// Text fills in how the call came to be denied. It is "" if that cannot be done,
// and on a nil *Denial: then the model is told the usual.
func (d *Denial) Text(how Denied) string {
	if d == nil {
		return ""
	}
	data := d.data
	data.Denied = how
	text, err := d.message.render(data)
	if err != nil {
		return ""
	}
	return text
}
