package inner

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/internal/testing/memstore"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// released adds calls of a turn in a session of a principal, as the wire does.
func (x *Releases) released(t testing.TB, who approvals.Principal, session, turn string, calls ...intercept.Call) {
	t.Helper()
	var c conversation.Conversation
	c.Init(&conversation.Shared{Store: memstore.New(memstore.Options{}).Turns}, &conversation.Request{
		Turn: turn, Dialect: chat.Dialect{}, Principal: who, Session: session,
		Envelope: intercept.Envelope{Method: "POST", Path: "/chat/completions", Body: []byte(`{"model":"m","messages":[{"role":"user","content":"do it"}]}`)},
	})
	if refusal := c.Read(t.Context()); refusal != nil {
		t.Fatal(refusal)
	}
	x.Released(&c, calls)
}

func bash(id, command string) intercept.Call {
	return intercept.Call{ID: id, Name: "Bash", Arguments: fmt.Sprintf(`{"command":%q}`, command)}
}

// A release covers one call: by its id, else by its arguments, and never in another conversation or of another principal.
func TestReleases(t *testing.T) {
	ada, bob := approvals.Principal{Tenant: "default", User: "ada"}, approvals.Principal{Tenant: "default", User: "bob"}
	wire := []intercept.Call{bash("1", "a"), bash("2", "b"), bash("2", "c"), {ID: "3", Name: "exec_command", Arguments: `{"cmd":"d","workdir":"/w"}`}, bash("", "e")}
	for _, test := range []struct {
		name    string
		who     approvals.Principal
		session string
		call    intercept.Call
		want    bool
	}{
		{"by id", ada, "s", bash("1", "a"), true},
		{"by arguments, with an id of the client", ada, "s", bash("own", "a"), true},
		{"by arguments, without an id", ada, "s", bash("", "a"), true},
		{"other spaces", ada, "s", intercept.Call{ID: "1", Name: "Bash", Arguments: `{ "command": "a" }`}, true},
		{"an id that repeats", ada, "s", bash("2", "c"), true},
		{"no id on the wire", ada, "s", bash("own", "e"), true},
		{"as the hook shows it", ada, "s", bash("3", "d"), true},
		{"as the hook shows it, without the id", ada, "s", bash("own", "d"), false},
		{"the id of another call", ada, "s", bash("2", "a"), false},
		{"other arguments", ada, "s", bash("1", "x"), false},
		{"another tool", ada, "s", intercept.Call{ID: "1", Name: "Read", Arguments: `{"command":"a"}`}, false},
		{"another session", ada, "other", bash("1", "a"), false},
		{"another principal", bob, "s", bash("1", "a"), false},
	} {
		x := NewReleases()
		x.released(t, ada, "s", "turn", wire...)
		x.released(t, ada, "s", "turn", wire[0]) // the answer is delivered again
		c := &Call{Principal: test.who, Session: test.session, Call: test.call}
		if got := x.take(c); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
		if x.take(c) {
			t.Errorf("%s: it covers two calls", test.name)
		}
	}
}

// A release ends after a time, and their number is bounded.
func TestReleasesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		who, x := approvals.Principal{Tenant: "default"}, NewReleases()
		x.released(t, who, "s", "turn", bash("1", "a"))
		time.Sleep(coveredFor + time.Second)
		if x.take(&Call{Principal: who, Session: "s", Call: bash("1", "a")}) {
			t.Error("a release has no end")
		}
		for i := range 3 * maxReleased {
			x.released(t, who, "s", fmt.Sprint("turn", i), bash(fmt.Sprint(i), "a"))
		}
		if n := len(x.known(name{who, conversation.DigestHeader([]byte("s"))}).calls); n > maxReleased {
			t.Errorf("%d releases are kept", n)
		}
	})
}

func BenchmarkReleased(b *testing.B) {
	who, x := approvals.Principal{Tenant: "default"}, NewReleases()
	var c conversation.Conversation
	c.Init(&conversation.Shared{Store: memstore.New(memstore.Options{}).Turns}, &conversation.Request{
		Turn: "turn", Dialect: chat.Dialect{}, Principal: who, Session: "s",
		Envelope: intercept.Envelope{Method: "POST", Path: "/chat/completions", Body: []byte(`{"model":"m","messages":[{"role":"user","content":"do it"}]}`)},
	})
	if refusal := c.Read(b.Context()); refusal != nil {
		b.Fatal(refusal)
	}
	calls := []intercept.Call{bash("1", "git status --short")}
	for b.Loop() {
		x.Released(&c, calls)
	}
}
