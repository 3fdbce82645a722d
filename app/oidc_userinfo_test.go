package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/idp"
)

// What is read with the access token is used where it is of the same person, and nobody
// is signed in where it is not, or cannot be read; the log says why.
func TestUserInfoThatProvesNothing(t *testing.T) {
	o := organize(t)
	o.Know("tom", idp.Person{})
	w := build(t, askAll, callThenText, o.config)
	const rest = `"email":"tom@corp.example","email_verified":true,"groups":["engineers"]`
	answers := func(status int, text string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(status)
			fmt.Fprint(rw, text)
		}
	}
	o.AnswerUserInfo(answers(http.StatusOK, `{"sub":"tom",`+rest+`}`))
	w.browser(o).signIn("tom")
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		logged string
	}{
		"another person":       {answers(http.StatusOK, `{"sub":"ann",`+rest+`}`), "those of another (sub)"},
		"nobody":               {answers(http.StatusOK, `{`+rest+`}`), "those of another (sub)"},
		"a person of a kind":   {answers(http.StatusOK, `{"sub":["tom"],`+rest+`}`), "read the user's claims"},
		"a provider in need":   {answers(http.StatusInternalServerError, `{"sub":"tom",`+rest+`}`), "500 Internal Server Error"},
		"no right to ask":      {answers(http.StatusForbidden, `{"sub":"tom",`+rest+`}`), "403 Forbidden"},
		"a list":               {answers(http.StatusOK, `[{"sub":"tom",`+rest+`}]`), "read the user's claims"},
		"no JSON":              {answers(http.StatusOK, `sub=tom`), "read the user's claims"},
		"JSON that breaks off": {answers(http.StatusOK, `{"sub":"tom",`+rest), "read the user's claims"},
		"nothing":              {answers(http.StatusOK, ``), "read the user's claims"},
	} {
		t.Run(name, func(t *testing.T) {
			o.AnswerUserInfo(c.answer)
			tom, before := w.browser(o), len(w.log.String())
			status, text := tom.finish(tom.atProvider(tom.begin(), "tom"))
			want(t, status, text, http.StatusUnauthorized, problem.CodeSignInFailed)
			status, text = tom.page("GET", "/api/v1/me", nil)
			want(t, status, text, http.StatusUnauthorized, problem.CodeUnauthenticated)
			if log := w.log.String()[before:]; !strings.Contains(log, "a sign-in was refused") || !strings.Contains(log, c.logged) {
				t.Errorf("the log says %s", log)
			}
		})
	}
}

// A provider changes its key while heldcall runs.
func TestProviderRotatesItsKey(t *testing.T) {
	o := organize(t)
	w := build(t, askAll, callThenText, o.config)
	w.browser(o).signIn("ann")
	if err := o.Rotate(); err != nil {
		t.Fatal(err)
	}
	w.browser(o).signIn("ann")
}
