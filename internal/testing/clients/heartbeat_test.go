//go:build clients

package clients_test

import (
	"path"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/proxy"
)

// breaks are the clients that one form of heartbeat breaks, by name and mode, with
// the setting that does. They are what heldcall's table of clients is for: with
// auto they have to be right.
var breaks = map[string]string{
	"openai-node-6.45/helper":              "event",
	"openai-python/careless":               "event",   // a chunk without choices
	"langchain-python/impatient":           "comment", // gives up after 20 s
	"langchain-python-responses/impatient": "comment",
}

// broken reports whether a job's client cannot be right with its heartbeats, while
// it is held for as long as it should be.
func broken(job string) bool {
	parts := strings.Split(job, "/") // client, scenario, mode, label
	return breaks[parts[0]+"/"+parts[2]] == parts[3]
}

// agent is the User-Agent of a client, in one API.
type agent struct {
	api       fakemodel.API
	userAgent string
}

func agentOf(r *fakemodel.Request) agent {
	apis := map[string]fakemodel.API{"completions": fakemodel.Chat, "responses": fakemodel.Responses, "messages": fakemodel.Messages}
	return agent{apis[path.Base(r.Path)], r.Get("User-Agent")}
}

// judgeTable looks whether each row of heldcall's table of clients is that of a
// client that was there.
func judgeTable(t *testing.T, m *model) {
	used := make(map[int]bool)
	for a := range m.agents {
		for i, row := range proxy.ClientHeartbeats() {
			if row.Dialect == string(a.api) && strings.HasPrefix(a.userAgent, row.UserAgent) {
				used[i] = true
				break
			}
		}
	}
	for i, row := range proxy.ClientHeartbeats() {
		if !used[i] {
			t.Errorf("no client proves that %q gets %s on %s", row.UserAgent, row.Form, row.Dialect)
		}
	}
}
