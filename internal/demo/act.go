package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

const (
	actTime  = 20 * time.Second // for one act, at most
	patience = 20 * time.Second // for the audit log to come in, at most
)

// act is one conversation, what its reviewer does and what must come of it.
type act struct {
	name    string // also the session
	title   string
	says    []string          // by the user, one after the other
	rulings map[string]ruling // by call; a call without one expires
	want    outcome
}

// ruling is what the scripted reviewer decides.
type ruling struct {
	approvals.Decision
	overNATS bool // else over the console's REST API
}

// outcome is what everybody is to have seen at the end of an act.
type outcome struct {
	received []string // the calls that the agent got and ran
	files    []string // of the agent's folder
	made     []string // the calls that the model knows of
	told     []string // a text in the tool message of each call
	says     string   // a text in the last answer that the agent got
	events   []string // of the audit log, as DescribeEvent has them
	secret   string   // a value that only the agent gets; "" for none
}

// scene is what everybody saw.
type scene struct {
	agent  *Agent
	files  []string
	model  []fakemodel.Conversation // each request that the model got
	events []approvals.Event
}

// PlayAll plays every act and writes the transcript. It returns an error if a result
// differs from the expected one.
func (s *Stage) PlayAll(ctx context.Context, tell Tell) error {
	failed, events := 0, 0
	for _, a := range acts() {
		tell(Line{Heading, a.title})
		played, err := s.play(ctx, a, tell)
		if err != nil {
			return fmt.Errorf("act %q: %w", a.name, err)
		}
		last := played.model[len(played.model)-1].Messages
		for _, line := range WhoSaw(played.agent.History[:len(played.agent.History)-1], last) {
			tell(line)
		}
		tell(Line{Heading, "The audit log, and the checks"})
		events += len(played.events)
		for _, e := range played.events {
			tell(Line{Audit, DescribeEvent(e)})
		}
		for _, c := range a.want.check(played) {
			if c.problem == "" {
				tell(Line{Passed, c.claim})
				continue
			}
			failed++
			tell(Line{Failed, c.claim + ": " + c.problem})
		}
	}
	if err := s.Ledger.Unbroken(); err != nil {
		failed++
		tell(Line{Failed, err.Error()})
	}
	tell(Line{Heading, fmt.Sprintf("%d acts, %d events in an unbroken audit log, %d differences", len(acts()), events, failed)})
	if failed > 0 {
		return fmt.Errorf("%d checks failed: see %s above", failed, Failed)
	}
	return nil
}

// play lets an agent and a reviewer play one act.
func (s *Stage) play(ctx context.Context, a act, tell Tell) (*scene, error) {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	agent, err := s.NewAgent(a.name, tell)
	if err != nil {
		return nil, err
	}
	defer agent.Close()
	asked, began := len(s.Model.Requests()), s.Ledger.Len()
	reviewing, dismiss := context.WithCancel(ctx)
	reviewed := make(chan error, 1)
	go func() { reviewed <- s.review(reviewing, a, began, tell) }()
	for _, text := range a.says {
		if err = agent.Ask(ctx, text); err != nil {
			break
		}
	}
	dismiss()
	if err := errors.Join(err, <-reviewed); err != nil {
		return nil, err
	}
	played := &scene{agent: agent, files: agent.Files()}
	for _, r := range s.Model.Requests()[asked:] {
		conversation, err := fakemodel.ParseConversation(r.Body)
		if err != nil {
			return nil, err
		}
		played.model = append(played.model, conversation)
	}
	told, enough := context.WithTimeout(ctx, s.patience)
	defer enough()
	played.events = s.Ledger.Of(told, a.name, began, len(a.want.events))
	return played, nil
}

// review answers what the act has rulings for, until the context ends.
func (s *Stage) review(ctx context.Context, a act, from int, tell Tell) error {
	for i := from; ; i++ {
		event, err := s.Ledger.At(ctx, i)
		if err != nil {
			return unlessOver(ctx, err)
		}
		if event.SessionID != a.name || event.Type != approvals.EventApprovalRequired {
			continue
		}
		held := event.ToolName + " " + string(event.Before)
		what := ""
		if event.Kind == approvals.KindResult {
			what = "the result of "
		}
		tell(Line{Heldcall, "holds " + what + held})
		r, ok := a.rulings[held]
		if !ok {
			tell(Line{Reviewer, "does not answer"})
			continue
		}
		r.RequestID = event.RequestID
		tell(Line{Reviewer, r.describe()})
		if err := s.decide(ctx, r); err != nil {
			return unlessOver(ctx, fmt.Errorf("decide %s: %w", held, err))
		}
	}
}

// unlessOver drops an error that comes of the end of the context.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

func (r ruling) describe() string {
	channel := "REST"
	if r.overNATS {
		channel = "NATS"
	}
	text := fmt.Sprintf("over %s: %s", channel, r.Action)
	text += answerText(&r.Response)
	for _, id := range slices.Sorted(maps.Keys(r.Responses)) {
		one := r.Responses[id]
		text += " " + id + ":" + answerText(&one)
	}
	if r.ModifiedArgs != nil {
		text += " " + string(r.ModifiedArgs)
	}
	if r.Note != "" {
		text += ", " + r.Note
	}
	return text
}

// answerText describes an answer, without values, which may be secret.
func answerText(a *approvals.Response) (text string) {
	if len(a.Selected) > 0 {
		text += " " + strings.Join(a.Selected, ", ")
	}
	if a.Answer != "" {
		text += " " + a.Answer
	}
	for _, name := range slices.Sorted(maps.Keys(a.Values)) {
		text += " " + name + "=•••"
	}
	return text
}

func (s *Stage) decide(ctx context.Context, r ruling) error {
	if !r.overNATS {
		_, err := s.Client.Decide(ctx, r.Decision)
		return err
	}
	conn, err := natsgo.Connect(s.NATS)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", s.NATS, err)
	}
	defer conn.Close()
	var payload bytes.Buffer
	encoder := json.NewEncoder(&payload)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(struct {
		Action       approvals.Action `json:"action"`
		ModifiedArgs json.RawMessage  `json:"modified_args,omitempty"`
		Note         string           `json:"note,omitempty"`
		approvals.Response
		Responses map[string]approvals.Response `json:"responses,omitempty"`
	}{r.Action, r.ModifiedArgs, r.Note, r.Response, r.Responses}); err != nil {
		return err
	}
	reply, err := conn.RequestWithContext(ctx, "heldcall.v1.decide.local."+r.RequestID, payload.Bytes())
	if err != nil {
		return err
	}
	var refusal struct{ Code, Message string }
	if err := json.Unmarshal(reply.Data, &refusal); err != nil {
		return fmt.Errorf("the reply is not JSON: %w", err)
	}
	if refusal.Code != "" {
		return fmt.Errorf("%s: %s", refusal.Code, refusal.Message)
	}
	return nil
}
