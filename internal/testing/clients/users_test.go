//go:build clients

package clients_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	console "github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/conformance"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// startTime is how long programs may take to start and to write.
const startTime = 90 * time.Second

// nothing is the field of users whom nothing tells apart.
const nothing = "nothing"

// userFields are the fields in which an API's requests of two users may differ. kept are those that
// continue what the provider keeps.
var userFields = map[fakemodel.API]struct{ sent, kept []string }{
	fakemodel.Chat: {sent: []string{nothing, "user", "safety_identifier", "metadata.user_id", "prompt_cache_key"}},
	fakemodel.Responses: {
		sent: []string{nothing, "user", "safety_identifier", "metadata.user", "metadata.user_id", "prompt_cache_key"},
		kept: []string{"previous_response_id", "conversation"},
	},
	fakemodel.Messages: {sent: []string{nothing, "metadata.user_id", "container", "user_profile_id"}, kept: []string{"thread"}},
}

// renewed are the fields whose value is another each time that a program starts.
var renewed = []string{"conversation", "thread"}

// userModes are the clients whose users write the same, each with its mode.
var userModes = map[string]string{
	"openai-node": "loop", "openai-node-responses": "stored", "anthropic-node": "stored-loop",
	"openai-python": "helper", "openai-python-responses": "stored-helper", "anthropic-python": "stored-loop",
}

// userTopP is top_p of each user. It does not tell requests apart, but the scripted model knows the user
// by it.
var userTopP = map[scenario]float64{ann: 0.1, bob: 0.2, carol: 0.3}

// wordsOf is what the user of a job writes: all users the same.
func wordsOf(job string) string {
	if user := scenarioOf(job); userTopP[user] != 0 {
		return strings.Replace(job, "/"+string(user)+"/", "/users/", 1)
	}
	return job
}

// jobOfUser is the job of a user who writes the words.
func jobOfUser(words string, user scenario) string {
	return strings.Replace(words, "/users/", "/"+string(user)+"/", 1)
}

// TestUsersOfOneKey lets users of one API key write the same words, with one field that tells them apart.
// Ann's program is killed while her calls are held. That of Bob and Carol gets none of them, and Ann's gets
// them when it is started again. Then the calls of all are held at the same time. Ann's are denied, Bob's
// approved, and Carol's denied, so that her conversations go on with the same words as Ann's.
func TestUsersOfOneKey(t *testing.T) {
	clients := slices.DeleteFunc(install(t), func(c client) bool { return userModes[c.name] == "" })
	models := make(map[scenario]*model)
	for user := range userTopP {
		models[user] = newModel()
		models[user].user = user
	}
	script := func(r *fakemodel.Request) fakemodel.Reply {
		var reader scenario
		for user, topP := range userTopP {
			if gjson.GetBytes(r.Body, "top_p").Num == topP {
				reader = user
			}
		}
		for other := range userTopP {
			inCall, inField := fmt.Appendf(nil, "_%s_", other), fmt.Appendf(nil, "%q", other)
			if other != reader && (bytes.Contains(r.Body, inCall) || bytes.Contains(r.Body, inField)) {
				t.Errorf("the model of %s reads of %s: %s", reader, other, r.Body)
			}
		}
		return models[reader].reply(r)
	}
	h := conformance.StartHeldcall(t, conformance.Options{
		Upstream: startScript(t, script, slices.Collect(maps.Values(models))...).URL(), Policy: "default: ask\n", Keepalive: keepalive,
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	t.Run("clients", func(t *testing.T) { // heldcall stops after all of them
		for _, c := range clients {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				u := &users{t: t, client: c, heldcall: h}
				u.play(models)
			})
		}
	})
}

// users are the users of a client.
type users struct {
	t        *testing.T
	client   client
	heldcall *conformance.Heldcall
}

func (u *users) play(models map[scenario]*model) {
	killed, kill := u.start(ann)
	u.await("Ann has written", standing{ann: 1, attached: 1}, nil)
	kill()
	<-killed.ended
	u.await("Ann's program was killed", standing{ann: 1}, nil)
	others, _ := u.start(bob, carol)
	u.await("Bob and Carol have written", standing{ann: 1, bob: 1, carol: 1}, map[string]standing{
		nothing: {ann: 1, attached: 1}, // Bob has got Ann's call
	})
	anns, _ := u.start(ann)
	u.await("Ann has written again", standing{ann: 1, bob: 1, carol: 1, attached: 1}, map[string]standing{
		nothing:    {ann: 2, attached: 2},
		renewed[0]: {ann: 2, bob: 1, carol: 1, attached: 1},
		renewed[1]: {ann: 2, bob: 1, carol: 1, attached: 1},
	})
	u.decide(ann, approvals.Decision{Action: approvals.ActionDeny, Note: note})
	<-anns.ended
	u.decide(bob, approvals.Decision{Action: approvals.ActionApprove})
	u.decide(carol, approvals.Decision{Action: approvals.ActionDeny, Note: note})
	for user, r := range map[scenario]*run{ann: anns, bob: others, carol: others} {
		<-r.ended
		of := *r
		of.jobs = slices.DeleteFunc(u.jobs(user), func(j job) bool { return fieldOf(j.Name) == nothing })
		of.judge(u.t, models[user])
	}
}

// start starts a program for some users, which kill ends.
func (u *users) start(all ...scenario) (r *run, kill func()) {
	ctx, kill := context.WithTimeout(u.t.Context(), patience)
	r = &run{client: u.client, ended: make(chan struct{})}
	for _, user := range all {
		r.jobs = append(r.jobs, u.jobs(user)...)
	}
	u.t.Cleanup(func() { kill(); <-r.ended })
	go func() {
		defer close(r.ended)
		r.reports, r.err = r.play(ctx)
	}()
	return r, kill
}

// jobs are those of a user, one for each field.
func (u *users) jobs(user scenario) (all []job) {
	mode, fields := userModes[u.client.name], userFields[u.client.api]
	for _, field := range slices.Concat(fields.sent, fields.kept) {
		if field == nothing && user == carol {
			continue // two show that nothing else tells users apart
		}
		name := strings.Join([]string{u.client.name, string(user), mode, field}, "/")
		j := job{Name: name, Mode: mode, BaseURL: u.heldcall.Proxy + "/v1", Words: wordsOf(name), Once: field == nothing}
		j.Fields = fmt.Appendf(nil, `{"top_p":%v}`, userTopP[user])
		switch {
		case slices.Contains(fields.kept, field):
			j.Kept = field
		case field != nothing:
			var err error
			if j.Fields, err = sjson.SetBytes(j.Fields, field, user); err != nil {
				u.t.Fatal(err)
			}
		}
		all = append(all, j)
	}
	return all
}

func fieldOf(job string) string { return job[strings.LastIndex(job, "/")+1:] }

// standing is how often people were asked about the call of a job, for each user, and how many agents
// wait for Ann's.
type standing struct{ ann, bob, carol, attached int }

// asked are the requests of each user, by the field that tells the users apart. The user is in the id
// of the call.
func (u *users) asked() map[string]map[scenario][]approvals.Request {
	of := make(map[string]map[scenario][]approvals.Request)
	for words, requests := range requestsOf(u.t, u.heldcall) {
		if !strings.HasPrefix(words, u.client.name+"/") {
			continue
		}
		byUser := make(map[scenario][]approvals.Request)
		for _, r := range requests {
			for user := range userTopP {
				if strings.Contains(r.ToolCallID, "_"+string(user)+"_") {
					byUser[user] = append(byUser[user], r)
				}
			}
		}
		of[fieldOf(words)] = byUser
	}
	return of
}

// await waits until every field stands as wanted, or as its exception.
func (u *users) await(what string, want standing, exceptions map[string]standing) {
	u.t.Helper()
	var wrong []string
	for end := time.Now().Add(startTime); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		asked := u.asked()
		wrong = nil
		for _, j := range u.jobs(ann) {
			field := fieldOf(j.Name)
			wanted, ok := exceptions[field]
			if !ok {
				wanted = want
			}
			got := standing{ann: len(asked[field][ann]), bob: len(asked[field][bob]), carol: len(asked[field][carol])}
			for _, r := range asked[field][ann] {
				if r.Agent != nil && r.Agent.State == approvals.AgentAttached {
					got.attached++
				}
			}
			if got != wanted {
				wrong = append(wrong, fmt.Sprintf("%s: %+v, want %+v", field, got, wanted))
			}
		}
		if len(wrong) == 0 {
			return
		}
	}
	u.t.Fatalf("%s: after %v\n%s", what, startTime, strings.Join(wrong, "\n"))
}

// decide decides every request of a user.
func (u *users) decide(user scenario, d approvals.Decision) {
	c, err := console.New(u.heldcall.Console)
	if err != nil {
		u.t.Fatal(err)
	}
	for _, byUser := range u.asked() {
		for _, r := range byUser[user] {
			d.RequestID = r.ID
			if _, err := c.Decide(u.t.Context(), d); err != nil {
				u.t.Errorf("%s: %v", r.Context.LastUserMessage, err)
			}
		}
	}
}
