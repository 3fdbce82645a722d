package textview

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// Secrets writes a table of secrets, which does not contain their values. One that no call can use
// anymore is still replaced in what models read, and marked.
func Secrets(w io.Writer, list []approvals.Secret, now time.Time) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "No secrets.")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tTENANT\tUSER\tAGENT\tSESSION\tENDS\tBY")
	for i := range list {
		s := &list[i]
		p, ends := s.Principal, timeOr(&s.ExpiresAt, "")
		if !s.ExpiresAt.After(now) {
			ends += " (expired)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", sanitize.Line(s.Name), sanitize.Line(p.Tenant), orDash(p.User), orDash(p.Agent), orDash(s.SessionID), ends, sanitize.Line(s.CreatedBy))
	}
	return endTable(w, table, "")
}

// Secret describes a secret on one line.
func Secret(s *approvals.Secret) string {
	return fmt.Sprintf("%s until %s, for %s: agents use it as secret://%s", sanitize.Line(s.Name), timeOr(&s.ExpiresAt, ""), holders(&s.Principal), sanitize.Line(s.Name))
}

// holders describes whose agents have a secret.
func holders(p *approvals.Principal) string {
	part := func(name, value string) string {
		switch value {
		case "":
			return "no " + name
		case approvals.EveryName:
			return "every " + name
		}
		return name + " " + sanitize.Line(value)
	}
	return part("tenant", p.Tenant) + ", " + part("user", p.User) + ", " + part("agent", p.Agent)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return sanitize.Line(text)
}
