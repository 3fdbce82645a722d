package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/testing/fakeidp"
)

// User info is used if it belongs to the same person. If it does not, or cannot be read,
// the sign-in fails, and the log has the reason.
func TestUserInfoThatProvesNothing(t *testing.T) {
	t.Parallel()
	o := organize(t)
	o.Know("tom", fakeidp.Person{})
	w := build(t, askAll, callThenText, o.config)
	const rest = `"email":"tom@corp.example","email_verified":true,"groups":["engineers"]`
	answers := func(status int, text string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(status)
			fmt.Fprint(rw, text)
		}
	}
	o.Answer(fakeidp.PathUserInfo, answers(http.StatusOK, `{"sub":"tom",`+rest+`}`))
	w.browser(o).signIn("tom")
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		logged string
	}{
		"another person":       {answers(http.StatusOK, `{"sub":"ann",`+rest+`}`), "of another person (sub)"},
		"nobody":               {answers(http.StatusOK, `{`+rest+`}`), "of another person (sub)"},
		"a person of a kind":   {answers(http.StatusOK, `{"sub":["tom"],`+rest+`}`), "read the user's claims"},
		"no right to ask":      {answers(http.StatusForbidden, `{"sub":"tom",`+rest+`}`), "403 Forbidden"},
		"a list":               {answers(http.StatusOK, `[{"sub":"tom",`+rest+`}]`), "read the user's claims"},
		"no JSON":              {answers(http.StatusOK, `sub=tom`), "read the user's claims"},
		"JSON that breaks off": {answers(http.StatusOK, `{"sub":"tom",`+rest), "read the user's claims"},
		"nothing":              {answers(http.StatusOK, ``), "read the user's claims"},
	} {
		t.Run(name, func(t *testing.T) {
			o.Answer(fakeidp.PathUserInfo, c.answer)
			tom, before := w.browser(o), len(w.log.String())
			status, text := tom.finish(tom.atProvider(tom.begin(), "tom"))
			want(t, status, text, http.StatusUnauthorized, problem.CodeSignInFailed)
			status, text = tom.page("GET", "/api/v1/me", nil)
			want(t, status, text, http.StatusUnauthorized, problem.CodeUnauthenticated)
			if log := w.log.String()[before:]; !strings.Contains(log, "sign-in refused") || !strings.Contains(log, c.logged) {
				t.Errorf("the log is %s", log)
			}
		})
	}
}

// A failure of the provider is reported as such at every step, not as a failed sign-in.
// Later sign-ins succeed.
func TestProviderInNeed(t *testing.T) {
	t.Parallel()
	o := organize(t)
	o.Know("tom", fakeidp.Person{UserInfo: map[string]any{"email": "tom@corp.example", "email_verified": true, "groups": []string{"engineers"}}})
	status := func(code int) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(code)
			fmt.Fprint(rw, `{"error":"server_error","sub":"tom"}`)
		}
	}
	breaks := func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", "100")
		fmt.Fprint(rw, `{"sub":"tom"`)
	}
	o.Answer(fakeidp.PathDiscovery, status(http.StatusServiceUnavailable)) // heldcall looks at its start too
	w := build(t, askAll, callThenText, o.config)
	tom := w.browser(o)
	code, text := tom.page("POST", "/api/v1/session/oidc", nil)
	want(t, code, text, http.StatusBadGateway, problem.CodeProviderUnavailable)
	o.Answer(fakeidp.PathDiscovery, nil)
	for _, c := range []struct {
		what, path string
		answer     http.HandlerFunc
		logged     string
	}{
		{"the token", fakeidp.PathToken, status(http.StatusBadGateway), "exchange the code"},
		{"the keys", fakeidp.PathKeys, status(http.StatusInternalServerError), "read its keys"},
		{"the keys, cut", fakeidp.PathKeys, breaks, "read its keys"},
		{"the claims", fakeidp.PathUserInfo, status(http.StatusInternalServerError), "read the user's claims"},
		{"the claims, too often", fakeidp.PathUserInfo, status(http.StatusTooManyRequests), "429 Too Many Requests"},
		{"the claims, cut", fakeidp.PathUserInfo, breaks, "unexpected EOF"},
	} {
		t.Run(c.what, func(t *testing.T) {
			tom, before := w.browser(o), len(w.log.String())
			returned := tom.atProvider(tom.begin(), "tom")
			o.Answer(c.path, c.answer)
			code, text := tom.finish(returned)
			want(t, code, text, http.StatusBadGateway, problem.CodeProviderUnavailable)
			o.Answer(c.path, nil)
			if log := w.log.String()[before:]; !strings.Contains(log, "the provider is not available") || !strings.Contains(log, c.logged) {
				t.Errorf("the log is %s", log)
			}
		})
	}
	tom.signIn("tom")
}

// A provider changes its key while heldcall runs.
func TestProviderRotatesItsKey(t *testing.T) {
	t.Parallel()
	o := organize(t)
	w := build(t, askAll, callThenText, o.config)
	w.browser(o).signIn("ann")
	if err := o.Rotate(); err != nil {
		t.Fatal(err)
	}
	w.browser(o).signIn("ann")
}
