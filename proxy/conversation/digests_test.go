package conversation

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/intercept/messages"
	"github.com/heldcall/heldcall/intercept/responses"
)

// The ids of sessions and runs are in the store, and other replicas and versions make the same:
// these are of a version that remembered no digests.
func TestIdentityStays(t *testing.T) {
	long, escaped := strings.Repeat("A line of a file.", 1000), strings.Repeat(`a\n\té \ud83d\ude00\"`, 1000)
	for _, tt := range []struct {
		name    string
		dialect intercept.Dialect
		body    string
		session string
		task    string // the end of the run's id
	}{
		{"a short message", chat.Dialect{}, `{"model":"m","messages":[{"role":"user","content":"do it"}]}`, "s-6d423679d25b7631", "dd24bb26"},
		{"a long message", chat.Dialect{}, `{"model":"m","user":"ann","messages":[{"role":"system","content":"s"},{"role":"user","content":"` + long + `"}]}`, "s-ffed17adbad5cf83", "e36efed8"},
		{"parts and escapes", chat.Dialect{}, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"` + escaped + `"},{"type":"text","text":"b"}]},{"role":"assistant","content":"x"},{"role":"user","content":"` + escaped + `"}]}`, "s-23d6fbec6474d586", "75ecdf86"},
		{"no message", chat.Dialect{}, `{"model":"m","messages":[{"role":"system","content":"s"}]}`, "s-21a7e84ba70ce4b2", "9a271f2a"},
		{"a reminder", messages.Dialect{}, `{"model":"m","metadata":{"user_id":"u"},"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":"` + long + `"}]}]}`, "s-13a85fc3980d9b5a", "e36efed8"},
		{"escapes", messages.Dialect{}, `{"model":"m","messages":[{"role":"user","content":"` + escaped + `"}]}`, "s-c89d2b703f87021d", "db09737c"},
		{"a text as the input", responses.Dialect{}, `{"model":"m","user":"ann","input":"` + escaped + `"}`, "s-de2a7518c3ae7550", "aa41f25b"},
		{"an answer that is continued", responses.Dialect{}, `{"model":"m","previous_response_id":"resp_1","input":[{"role":"user","content":[{"type":"input_text","text":"` + long + `"}]}]}`, "s-45211cd83c5dd3a6", "e83713ae"},
	} {
		b := newBench()
		for _, when := range []string{"first", "remembered"} {
			r := requestTo(tt.dialect, tt.body)
			r.Principal = approvals.Principal{Tenant: "acme", User: "u", Agent: "a"}
			id := b.prepared(t, r).Identity()
			if want := tt.session + "-" + tt.task + "@acme"; id.Session != tt.session || id.Run != want {
				t.Errorf("%s, %s: session %s, run %s; want %s, %s", tt.name, when, id.Session, id.Run, tt.session, want)
			}
		}
	}
}

// A change anywhere in the first message makes another session and run, one in the last message
// another run; the same history in another spelling makes the same. What is remembered of other
// requests changes nothing.
func TestIdentityOfLongMessages(t *testing.T) {
	const size = 100 << 10
	text := strings.Repeat("a line of a file\n", size/17)
	changed := func(at int) string { return text[:at] + "X" + text[at+1:] }
	for _, d := range []intercept.Dialect{chat.Dialect{}, messages.Dialect{}, responses.Dialect{}} {
		b := newBench()
		identity := func(first, last string) Identity {
			field := map[bool]string{true: "input", false: "messages"}[d.Name() == "responses"]
			return *b.prepared(t, requestTo(d, `{"model":"m","`+field+`":[{"role":"user","content":`+first+`},{"role":"assistant","content":"x"},{"role":"user","content":`+last+`}]}`)).Identity()
		}
		quoted := func(text string) string {
			raw, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
		plain, ending := quoted(text), quoted(text+"more")
		want := identity(plain, ending)
		spelled := strings.Replace(plain, "a line", `\u0061 line`, 1)
		for name, got := range map[string]Identity{
			"the same":               identity(plain, ending),
			"another spelling":       identity(spelled, strings.Replace(ending, "file", `f\u0069le`, 1)),
			"the first one in parts": identity(`[{"type":"text","text":`+plain+`}]`, ending),
			"in two parts":           identity(`[{"type":"text","text":`+quoted(text[:50])+`},{"type":"text","text":`+quoted(text[50:])+`}]`, ending),
		} {
			if got != want {
				t.Errorf("%s, %s: %+v, want %+v", d.Name(), name, got, want)
			}
		}
		sessions, runs := map[string]string{want.Session: "the request"}, map[string]string{want.Run: "the request"}
		for name, at := range map[string]int{"beginning": 0, "quarter": len(text) / 4, "middle": len(text) / 2, "end": len(text) - 1} {
			first, last := identity(quoted(changed(at)), ending), identity(plain, quoted(changed(at)+"more"))
			if last.Session != want.Session {
				t.Errorf("%s, %s of the last message: another session", d.Name(), name)
			}
			if other, equal := sessions[first.Session]; equal {
				t.Errorf("%s, %s of the first message: the session of %s", d.Name(), name, other)
			}
			sessions[first.Session] = name
			for where, id := range map[string]Identity{"first": first, "last": last} {
				if other, equal := runs[id.Run]; equal {
					t.Errorf("%s, %s of the %s message: the run of %s", d.Name(), name, where, other)
				}
				runs[id.Run] = name + " of the " + where
			}
		}
	}
}

// What an agent sends beside the message is a part of what is remembered.
func TestDigestsByPrefix(t *testing.T) {
	d := NewDigests()
	content := []byte(`[{"text":"<note>` + strings.Repeat("x", longContent) + `"}]`)
	texts := []intercept.UserText{
		{Content: content},
		{Prefix: "a", Content: content},
		{Prefix: "b", Content: content},
		{Content: content, Reminder: "<note>"},
		{Prefix: strings.Repeat("p", longContent+1), Content: content},
	}
	seen := map[string]int{}
	for i, text := range texts {
		sum := d.hex(text, 32)
		if again, plain := d.hex(text, 32), (*Digests)(nil).hex(text, 32); again != sum || plain != sum {
			t.Errorf("text %d: %s, then %s, and %s where nothing is remembered", i, sum, again, plain)
		}
		if other, equal := seen[sum]; equal {
			t.Errorf("texts %d and %d have the digest %s", other, i, sum)
		}
		seen[sum] = i
	}
}
