package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// TestDeletedAnswersAreDeletedWhole: upstream keeps an answer that heldcall continued
// in several parts, of which the agent knows the first.
func TestDeletedAnswersAreDeletedWhole(t *testing.T) {
	t.Parallel()
	k := newKeeper(1)
	var c app.Config
	failing := false
	w := build(t, denyAll, func(r *fakemodel.Request) fakemodel.Reply {
		if failing && r.Method == http.MethodDelete {
			return fakemodel.Fail(http.StatusInternalServerError, "server_error", "try again")
		}
		return k.Reply(r)
	}, restarting(&c))
	id := answerIn(t, w.post("/v1/responses", `{"model":"m","input":"Work.","store":true}`).rest()).Get("id").Str
	w.restart(c)
	remove := func() string {
		return w.raw("DELETE /v1/responses/" + id + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	}
	failing = true
	if got := remove(); !strings.HasPrefix(got, "HTTP/1.1 502") || errorCode(got[strings.Index(got, "\r\n\r\n")+4:]) != "upstream_unreachable" {
		t.Errorf("where a part stays it is answered %s", got)
	}
	failing = false
	if got := remove(); !strings.HasPrefix(got, "HTTP/1.1 200") || gjson.Get(got[strings.Index(got, "\r\n\r\n")+4:], "id").Str != id {
		t.Errorf("it is answered %s", got)
	}
	var parts []string
	for _, r := range w.upstream.Requests() {
		if r.Method == http.MethodDelete {
			parts = append(parts, strings.TrimPrefix(r.Path, "/v1/responses/"))
		}
	}
	if len(parts) != 3 || parts[0] != parts[1] || parts[1] == id || parts[2] != id {
		t.Errorf("of %s upstream deleted %q", id, parts)
	}
	if got := remove(); !strings.HasPrefix(got, "HTTP/1.1 404") {
		t.Errorf("deleted again it is answered %s", got)
	}
}
