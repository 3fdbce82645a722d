package secrets_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/secrets"
	"github.com/heldcall/heldcall/internal/testing/memstore"
)

// Two replicas store the values of two answers to one request, in any order of their steps:
// in the end the value is that of the decision, the value before it if none is, and all of
// them are masked.
func TestAnswersAtTheSameMoment(t *testing.T) {
	for _, known := range []bool{false, true} {
		for _, winner := range []int{0, 1, -1} {
			// The steps: 0 and 1 store the value of an answer, 2 and 3 settle it.
			for _, order := range [][]int{{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 1, 3}, {1, 0, 2, 3}, {1, 0, 3, 2}, {1, 3, 0, 2}} {
				t.Run(fmt.Sprintf("known %t, winner %d, order %v", known, winner, order), func(t *testing.T) {
					answersAtTheSameMoment(t, known, winner, order)
				})
			}
		}
	}
}

func answersAtTheSameMoment(t *testing.T, known bool, winner int, order []int) {
	const session, before, first, second = "s1", "before-Both-Q1z9", "of-the-First-Q7x1", "of-the-Second-W2k8"
	values := []string{first, second}
	options := secrets.Options{Store: memstore.New(memstore.Options{}).Secrets, KeyFile: filepath.Join(t.TempDir(), "secrets.key")}
	replicas := []*secrets.Secrets{run(t, options), run(t, options)}
	set(t, replicas[0], approvals.Secret{Name: "OTHER", Principal: alice}, before) // makes the key
	want := ""
	if known {
		set(t, replicas[0], approvals.Secret{Name: "TOKEN", Principal: alice, SessionID: session}, before)
		want = before
	}
	if winner >= 0 {
		want = values[winner]
	}
	r := &approvals.Request{
		ID: "request", Kind: approvals.KindEnvVar, Principal: alice, SessionID: session,
		Details: approvals.Details{Questions: []approvals.Question{{Fields: []approvals.QuestionField{{Name: "TOKEN", Secret: true}}}}},
	}
	settle := make([]func(context.Context, bool), 2)
	for _, step := range order {
		i := step % 2
		if step >= 2 {
			settle[i](t.Context(), i == winner)
			continue
		}
		d := &approvals.Decision{Action: approvals.ActionAnswer, ReviewerID: "rita", Response: approvals.Response{Values: map[string]string{"TOKEN": values[i]}}}
		var err error
		if settle[i], err = replicas[i].Conceal(t.Context(), r, d); err != nil || d.Values["TOKEN"] != "secret://TOKEN" {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	fresh := run(t, options)
	wantValue(t, fresh, session, "TOKEN", want)
	m, err := fresh.Masker(alice)
	text := m.Text(fmt.Sprint(slices.Concat(values, []string{before})))
	if err != nil || !strings.HasPrefix(text, "[secret://TOKEN secret://TOKEN secret://") {
		t.Errorf("masked %q, %v", text, err)
	}
}
