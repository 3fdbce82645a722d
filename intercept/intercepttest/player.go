package intercepttest

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

// Player plays one answer turn by turn, so that a test can look at it in between.
// [Play] plays a whole one.
type Player struct {
	Request intercept.Request
	Answer  *intercept.Answer
	Got     strings.Builder      // by the agent
	Last    intercept.Resolution // of the turn
	t       testing.TB
	block   int
}

// NewPlayer begins an answer to a request, whose bodies come in blocks of so many
// bytes.
func NewPlayer(t testing.TB, r intercept.Request, block int, limits intercept.Limits) *Player {
	t.Helper()
	if limits.MaxContinuations == 0 {
		limits.MaxContinuations = 4
	}
	limits.TurnID = "t1"
	return &Player{Request: r, Answer: intercept.NewAnswer(r, limits), t: t, block: block}
}

// Feed lets an upstream body come.
func (p *Player) Feed(body string) error {
	p.Answer.Begin()
	for body != "" {
		n := min(p.block, len(body))
		out, err := p.Answer.Write([]byte(body[:n]))
		p.Got.Write(out)
		if err != nil {
			return err
		}
		body = body[n:]
	}
	out, err := p.Answer.End(true)
	p.Got.Write(out)
	return err
}

// Turn lets an upstream body come and its calls be ruled on.
func (p *Player) Turn(body string, rule Ruler) {
	p.t.Helper()
	if err := p.Feed(body); err != nil {
		p.t.Fatalf("feed: %v", err)
	}
	var rulings []intercept.Ruling
	for i, c := range p.Answer.Calls() {
		rulings = append(rulings, rule(i, c))
	}
	var err error
	if p.Last, err = p.Answer.Resolve(rulings); err != nil {
		p.t.Fatalf("settle: %v", err)
	}
	p.Got.Write(p.Last.Bytes)
}

// Bench measures an answer of 200 events that comes in blocks of n bytes and whose
// calls are released.
func Bench(b *testing.B, r intercept.Request, answer string, n int) {
	b.Helper()
	body := []byte(answer)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		a := intercept.NewAnswer(r, intercept.Limits{MaxBytes: 1 << 20, TurnID: "t"})
		a.Begin()
		for at := 0; at < len(body); at += n {
			if _, err := a.Write(body[at:min(at+n, len(body))]); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := a.End(true); err != nil {
			b.Fatal(err)
		}
		var rulings []intercept.Ruling
		for i, c := range a.Calls() {
			rulings = append(rulings, ReleaseAll(i, c))
		}
		if _, err := a.Resolve(rulings); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/200, "ns/event")
}
