//go:build clients

package clients_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/testdeps"
)

// TestEveryClientReadsWhatWasShown holds that a released answer is read alike by
// every SDK: whatever bytes upstream sent, each client ends with exactly the calls
// that were judged and shown, or with an error and without calls. Variants of
// answers are generated from their number; HELDCALL_VARIANTS sets how many, or which
// (200-399), and HELDCALL_VARIANT runs one of them.
func TestEveryClientReadsWhatWasShown(t *testing.T) {
	clients := readers(install(t))
	from, last := testdeps.Numbers(t, "HELDCALL_VARIANTS", 0, 1000)
	to := last + 1
	if only := os.Getenv("HELDCALL_VARIANT"); only != "" {
		from = number(t, only)
		to = from + 1
	}
	const batch = 300 // requests that a program makes at the same time
	sum := tally{variants: to - from}
	for ; from < to; from += batch {
		var variants []variant
		for n := from; n < min(from+batch, to); n++ {
			variants = append(variants, newVariant(t, n))
		}
		sum.add(playVariants(t, clients, variants))
	}
	t.Logf("%d variants, %d of them refused by heldcall; %d readings by %d clients: %d with exactly the calls shown, %d with an error and no call",
		sum.variants, sum.refused, sum.readings, len(clients), sum.same, sum.failed)
	if sum.same == 0 {
		t.Error("no client read any call")
	}
}

type tally struct{ variants, refused, readings, same, failed int }

func (s *tally) add(o tally) {
	s.refused, s.readings, s.same, s.failed = s.refused+o.refused, s.readings+o.readings, s.same+o.same, s.failed+o.failed
}

func number(t *testing.T, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// readers are the clients that read an answer without running an agent, each with
// the modes that only read.
func readers(clients []client) []client {
	plain := []string{"whole", "raw", "helper", "stream"}
	var list []client
	for _, c := range clients {
		if strings.HasPrefix(c.name, "agents-js") || strings.HasPrefix(c.name, "pydantic-ai") {
			continue
		}
		c.modes = slices.DeleteFunc(slices.Clone(c.modes), func(mode string) bool { return !slices.Contains(plain, mode) })
		list = append(list, c)
	}
	return list
}

// playVariants serves what heldcall released to every client and compares what
// each read with what was shown.
func playVariants(t *testing.T, clients []client, variants []variant) (sum tally) {
	server, err := fakemodel.New(func(r *fakemodel.Request) fakemodel.Reply {
		n, err := strconv.Atoi(strings.Split(r.Path, "/")[2]) // /v1/N/v1/...
		if err != nil || n >= len(variants) {
			return fakemodel.Fail(404, "not_found", "no such variant")
		}
		if v := &variants[n]; !v.streamed {
			return fakemodel.Whole(200, v.released)
		}
		return fakemodel.Events(fakemodel.Write{Bytes: variants[n].released})
	})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for _, v := range variants {
		if v.refused {
			sum.refused++
		}
	}
	for _, c := range clients {
		r := &run{client: c}
		for n, v := range variants {
			for _, mode := range c.modes {
				if v.api == c.api && v.released != nil && v.streamed == (mode != "whole") {
					r.jobs = append(r.jobs, job{Name: fmt.Sprintf("%d/%s", n, mode), Mode: mode, BaseURL: fmt.Sprintf("%s/%d/v1", server.URL(), n), Once: true})
				}
			}
		}
		reports, err := r.play(context.Background())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, j := range r.jobs {
			n := number(t, strings.Split(j.Name, "/")[0])
			got, ok := reports[j.Name]
			if !ok {
				t.Errorf("%s: no report on %s", c.name, variants[n].name)
				continue
			}
			sum.readings++
			switch difference := variants[n].compare(got); {
			case difference != "":
				t.Errorf("%s, %s, variant %s:\n%s\nupstream sent:\n%s\nheldcall released:\n%s", c.name, j.Mode, variants[n].name, difference, variants[n].upstream, variants[n].released)
			case got.Error != "" && len(got.Calls) == 0:
				sum.failed++
			default:
				sum.same++
			}
		}
	}
	return sum
}

// compare returns how what a client read differs from what was shown, "" if it does
// not. A client that fails may have fewer calls, never others.
func (v *variant) compare(got report) string {
	left := slices.Clone(v.shown)
	for _, c := range got.Calls {
		if slices.Contains(v.doubted, c.Name) {
			continue
		}
		at := slices.IndexFunc(left, func(s fakemodel.Call) bool { return sameCall(s, c.Name, c.Arguments) })
		if at < 0 {
			return fmt.Sprintf("the client has the call %s(%s), shown were %+v", c.Name, c.Arguments, v.shown)
		}
		left = slices.Delete(left, at, at+1)
	}
	left = slices.DeleteFunc(left, func(s fakemodel.Call) bool { return s.Name == "" }) // clients drop it
	if len(left) > 0 && got.Error == "" && !v.refused {
		return fmt.Sprintf("the client lacks %+v", left)
	}
	return ""
}

// sameCall reports whether a client's call is the one shown. SDKs that decode
// arguments read none as an empty object.
func sameCall(shown fakemodel.Call, name, arguments string) bool {
	if shown.Name != name {
		return false
	}
	if shown.Arguments == arguments || (strings.TrimSpace(shown.Arguments) == "" && (arguments == "{}" || arguments == "null")) {
		return true
	}
	return sameJSON(shown.Arguments, arguments)
}
