package responses

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/testing/cost"
)

// Agents and upstreams send bodies of any size. The cost of a body grows with its size,
// and no faster: otherwise one body of a few megabytes stops heldcall for all.

// series is n elements of an array, made of their numbers.
func series(n int, element func(i int) string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = element(i)
	}
	return strings.Join(list, ",")
}

func accepted(t *testing.T, e intercept.Envelope) *request {
	t.Helper()
	r, err := parseRequest(e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A compacted history repeats messages and calls.
func TestGrowthOfACompactedHistory(t *testing.T) {
	for name, item := range map[string]func(i int) string{
		"messages": func(i int) string {
			return fmt.Sprintf(`{"id":"m%d","type":"message","role":"user","status":"completed","content":[{"type":"input_text","text":"word %d"}]}`, i, i)
		},
		"calls": func(i int) string { return function(fmt.Sprint(i), "bash", ls) },
	} {
		t.Run(name, func(t *testing.T) {
			cost.Linear(t, 60, func(n int) func() {
				e := asked(`{"model":"m","input":[` + series(n, item) + `]}`)
				e.Path = rootPath + compactPath
				p := newPlayer(t, e, 1<<24, intercept.Limits{})
				body := `{"id":"resp_c","object":"response.compaction","output":[` + series(n, item) + `]}`
				return func() {
					if err := p.Feed(body); err != nil || len(p.Answer.Calls()) != 0 {
						t.Fatalf("%d calls, %v", len(p.Answer.Calls()), err)
					}
				}
			})
		})
	}
}

// An agent with an edited call, which knows the records' texts, writes any history.
func TestGrowthOfAHistory(t *testing.T) {
	word := strings.Repeat("word ", 20)
	var records [][]byte
	for _, seen := range [][]string{{message("msg_1", strings.Repeat(word, 10)), function("a", "bash", ls)}, {function("b", "bash", ls), function("c", "bash", ls), speech}} {
		p := newPlayer(t, asked(request1), 1<<20, intercept.Limits{})
		p.Turn(stream("resp_1", seen...), func(int, intercept.Call) intercept.Ruling {
			return intercept.Ruling{Action: intercept.Edit, Arguments: `{"cmd":"x"}`, ModelMessage: "note"}
		})
		records = append(records, p.Last.Hidden...)
	}
	const output, reference = `{"type":"function_call_output","call_id":"call_a","output":"x"}`, `{"type":"item_reference","id":"msg_1"}`
	call, said := function("a", "bash", ls), func(i int) string { return message(fmt.Sprint(i), word) }
	for name, item := range map[string]func(i int) string{
		"messages":                 said,
		"messages and outputs":     func(i int) string { return said(i) + "," + output },
		"blank messages, outputs":  func(i int) string { return message(fmt.Sprint(i), " ") + "," + output },
		"calls":                    func(int) string { return call },
		"calls and outputs":        func(int) string { return call + "," + output },
		"calls, messages, outputs": func(i int) string { return call + "," + output + "," + said(i) + "," + output },
		"reasoning":                func(i int) string { return reasoning(fmt.Sprint(i)) },
		"reasoning and outputs":    func(i int) string { return reasoning(fmt.Sprint(i)) + "," + output },
		"references":               func(int) string { return reference },
		"references and outputs":   func(int) string { return reference + "," + output },
		"outputs":                  func(int) string { return output },
		"half an answer, reasoning": func(i int) string {
			return function("b", "bash", ls) + "," + output + "," + reasoning(fmt.Sprint(i)) + "," + output
		},
	} {
		t.Run(name, func(t *testing.T) {
			cost.Linear(t, 150, func(n int) func() {
				r := accepted(t, asked(`{"model":"m","input":[`+call+","+output+","+series(n, item)+`]}`))
				return func() { r.Splice(records) }
			})
		})
	}
}

// The ends of an input do not show it, and clients read halves of characters in it.
func TestGrowthOfAnInputWithManyEnds(t *testing.T) {
	cost.Linear(t, 100, func(n int) func() {
		const of = `"item_id":"fc_1","output_index":0,`
		s := newScript("resp_1").begin()
		s.event("response.output_item.added", `"output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"bash","arguments":"","status":"in_progress"}`)
		s.event("response.function_call_arguments.delta", of+`"delta":"\ud83d"`)
		s.event("response.function_call_arguments.delta", of+`"delta":"\ude00`+strings.Repeat("x", 1000*n)+`"`)
		for range n {
			s.event("response.function_call_arguments.done", of+`"arguments":"x"`)
		}
		p := newPlayer(t, asked(request1), 1<<20, intercept.Limits{MaxBytes: 64 << 20})
		p.Answer.Begin()
		return func() {
			if _, err := p.Answer.Write([]byte(s.out.String())); err != nil {
				t.Error(err)
			}
		}
	})
}
