package rule

import (
	"errors"
	"strings"
	"text/template"

	"github.com/heldcall/heldcall/approvals"
)

// MaxMessage is the most bytes that a template writes.
const MaxMessage = 4 << 10

// Message is a Go text/template over [MessageData]: the title of a request, the message to the
// model about a denial, or the notice of a parked call.
type Message struct{ template *template.Template }

// MessageData are the values of templates.
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

	Request string // the id of the request, in a notice
	Denied         // in a denial
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
	_, err = m.Render(MessageData{Args: map[string]any{}, Commands: []string{""}})
	var failed template.ExecError
	// Which arguments a call has is not known yet.
	if errors.As(err, &failed) && !strings.Contains(err.Error(), "at <.Args") && !strings.Contains(err.Error(), "at <$.Args") {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: message:"))
	}
	return m, nil
}

var errTooLong = errors.New("the text is too long")

// Render fills in the template.
func (m *Message) Render(data MessageData) (string, error) {
	var b bounded
	if err := m.template.Execute(&b, data); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

// bounded is a builder of at most MaxMessage bytes.
type bounded struct{ strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > MaxMessage {
		return 0, errTooLong
	}
	return b.Builder.Write(p)
}
