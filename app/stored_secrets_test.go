package app_test

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/proxy/packed"
)

// The eighth promise for the state on disk.

// agentKey is a key that an agent sends in the query of its requests.
const agentKey = "AIzaOpensesameOfTheAgent"

var base64Runs = regexp.MustCompile(`[A-Za-z0-9+/]{40,}={0,2}`)

// onDisk returns the files of a folder as text, with compressed parts unpacked.
func onDisk(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		all.Write(content)
		for _, run := range base64Runs.FindAll(content, -1) {
			raw, err := base64.StdEncoding.DecodeString(string(run))
			if err != nil {
				continue
			}
			if plain, err := packed.Decode(raw, 1<<20); err == nil {
				all.Write(plain)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// An upstream quotes its key in the text of an answer, and in the arguments of a call that
// is held: no file has it, nor the key in the agent's query, while the turn is detached and
// while its call is parked. The turn continues with the query of the agent that comes back.
func TestPromise8_TheStoreHasNoKey(t *testing.T) {
	t.Parallel()
	inJSON := spelt()["JSON"]
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		for _, mode := range []string{"block", "park"} {
			model := lister()
			model.Rules[0].Say = fakemodel.Say(fakemodel.Answer{
				Text: "Let me look with " + quotedKey + ".", Fragment: 999,
				Calls: []fakemodel.Call{{ID: lsCall.ID, Name: lsCall.Name, Arguments: `{"command":"ls -- ` + inJSON + `"}`}},
			})
			var c app.Config
			w := build(t, askAll, model.Reply, withKey, func(configured *app.Config) {
				if mode == "park" {
					parks(configured)
				}
			}, restarting(&c))
			path := s.path + "?key=" + agentKey
			var r approvals.Request
			if mode == "park" {
				w.post(path, s.body(streamed), s.header...).rest()
				r = w.pending(1)[0]
				w.agent(r.ID, approvals.AgentParked)
			} else {
				leave := w.ask(path, s.body(streamed), s.header...)
				r = w.pending(1)[0]
				leave()
				w.agent(r.ID, approvals.AgentDetached)
			}
			if text, err := json.Marshal(r); err != nil || showsKey(string(text)) {
				t.Errorf("%s: people read the key: %s %v", mode, text, err)
			}
			if err := w.stop(); err != nil {
				t.Fatal(err)
			}
			files := onDisk(t, c.NATS.Dir)
			if !strings.Contains(files, "Let me look with [upstream key]") {
				t.Errorf("%s: the answer is not in the files", mode)
			}
			for _, key := range []string{agentKey, "opensesame"} {
				if at := strings.Index(files, key); at >= 0 {
					t.Errorf("%s: the files have %s: %q", mode, key, files[max(0, at-200):min(len(files), at+100)])
				}
			}
			if showsKey(files) {
				t.Errorf("%s: the files show the key", mode)
			}
			if mode == "park" {
				continue
			}
			w.start(c)
			w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny})
			back := w.post(path, s.body(streamed), append(retried, s.header...)...)
			if got := back.rest(); back.resp.Header.Get("X-Heldcall-Turn") != r.TurnID || !strings.Contains(got, "Unde") {
				t.Errorf("the turn does not continue: %s\n%s", got, w.log.String())
			}
			requests := w.upstream.Requests()
			if last := requests[len(requests)-1]; len(requests) != 2 || last.RawQuery != "key="+agentKey {
				t.Errorf("%d requests, the last with the query %q", len(requests), last.RawQuery)
			}
		}
	})
}
