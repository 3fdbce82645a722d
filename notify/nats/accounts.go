package nats

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// Accounts are the rights that an external NATS server has to give: one account for
// heldcall and one for its reviewers, which imports the subjects for them. A reply or
// delivery subject of a client in it never reaches heldcall's streams and buckets.
type Accounts struct {
	Services  []string       `json:"services"` // that heldcall's account exports: requests with replies
	Feeds     []string       `json:"feeds"`    // the same: what can be listened to
	Reviewers []ReviewerUser `json:"reviewers"`
}

// ReviewerUser is a reviewer as a user of NATS.
type ReviewerUser struct {
	Name     string         `json:"name"`
	Role     reviewers.Role `json:"role"`
	Password string         `json:"password"`     // the variable that the server has it in
	Inbox    string         `json:"inbox_prefix"` // with which their client connects
	Consumer string         `json:"consumer"`     // of HELDCALL_REQUESTS that is theirs, if the operator makes it; "": they may not have one
	subjects.Rights
}

// AccountsOf are the accounts for reviewers.
func AccountsOf(all []reviewers.Reviewer) Accounts {
	a := Accounts{Services: append(subjects.EveryReviewersServices(), subjects.ReadingServices()...), Feeds: subjects.Feeds(), Reviewers: []ReviewerUser{}}
	a.Services = append(a.Services, subjects.ConsumerServices(subjects.StreamRequests, "*")...)
	// With this import the server does not answer JetStream's subjects in the
	// reviewers' account itself. No user may publish on it.
	a.Services = append(a.Services, "$JS.API.INFO")
	taken := map[string]bool{}
	for _, who := range all {
		token := subjects.Token(who.Name)
		user := ReviewerUser{Name: who.Name, Role: who.Role, Password: variable(who.Name), Inbox: subjects.Inbox(who.Name), Consumer: token}
		for n := 2; taken[user.Password]; n++ {
			user.Password = fmt.Sprintf("%s_%d", variable(who.Name), n)
		}
		taken[user.Password] = true
		user.Publish = subjects.ReviewerServices(who)
		if who.Tenants.Limited() { // lists and consumers have all tenants
			user.Consumer = ""
		} else {
			user.Publish = append(append(user.Publish, subjects.ReadingServices()...), subjects.ConsumerServices(subjects.StreamRequests, token)...)
		}
		user.Subscribe = append(subjects.FeedsOf(who.Tenants), user.Inbox+".>")
		a.Reviewers = append(a.Reviewers, user)
	}
	return a
}

// variable is the name of a reviewer's password in the server's environment.
func variable(name string) string {
	return "NATS_PASSWORD_" + strings.Map(func(c rune) rune {
		if c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
			return unicode.ToUpper(c)
		}
		return '_'
	}, name)
}

// String is the part of a nats-server's configuration.
func (a Accounts) String() string {
	var b strings.Builder
	b.WriteString("accounts {\n  HELDCALL {\n    jetstream: enabled\n    users: [{nkey: $HELDCALL_NKEY}]\n    exports: [\n")
	for _, subject := range a.Services {
		fmt.Fprintf(&b, "      {service: %q, response_type: stream, accounts: [REVIEWERS]}\n", subject)
	}
	for _, subject := range a.Feeds {
		fmt.Fprintf(&b, "      {stream: %q, accounts: [REVIEWERS]}\n", subject)
	}
	b.WriteString("    ]\n  }\n  REVIEWERS {\n    imports: [\n")
	for _, subject := range a.Services {
		fmt.Fprintf(&b, "      {service: {account: HELDCALL, subject: %q}}\n", subject)
	}
	for _, subject := range a.Feeds {
		fmt.Fprintf(&b, "      {stream: {account: HELDCALL, subject: %q}}\n", subject)
	}
	b.WriteString("    ]\n    users: [\n")
	for _, user := range a.Reviewers {
		fmt.Fprintf(&b, "      {\n        # %s, %s\n        user: %s, password: $%s\n        permissions: {\n", user.Name, user.Role, quoted(user.Name), user.Password)
		writeSubjects(&b, "publish", user.Publish)
		writeSubjects(&b, "subscribe", user.Subscribe)
		b.WriteString("        }\n      }\n")
	}
	b.WriteString("    ]\n  }\n}\n")
	return b.String()
}

func writeSubjects(b *strings.Builder, name string, subjects []string) {
	fmt.Fprintf(b, "          %s: [\n", name)
	for _, subject := range subjects {
		fmt.Fprintf(b, "            %q\n", subject)
	}
	b.WriteString("          ]\n")
}

// quoted writes a name as the server reads it.
func quoted(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}
