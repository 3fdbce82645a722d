package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/questions"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

type answerCommand struct {
	oneRequest
	Select []string `sep:"none" help:"Option to select, by its id. Repeat it for several." placeholder:"OPTION"`
	Text   []string `sep:"none" help:"Answer in your own words. To a held call: a message to the model; the call does not run." placeholder:"TEXT"`
	Field  []string `sep:"none" help:"Value of a field. NAME alone reads it from the terminal, or a line from standard input: secrets are taken in no other way. Repeat it for several." placeholder:"NAME=VALUE"`
	Save   bool     `help:"Keep secrets for all sessions of the agent."`
	Note   string   `help:"Note stored with the decision." placeholder:"TEXT"`
}

// Help explains answers to several questions.
func (answerCommand) Help() string {
	return "A request with several questions takes the id of a question before each value: --select a:yes --text b:later --field c:HOST=example.org"
}

// Run answers a question of a model.
func (c *answerCommand) Run(ctx context.Context, s *streams) error {
	console, request, err := c.find(ctx, s)
	if err != nil {
		return err
	}
	if request.Status.Final() {
		return &tooLate{&approvals.DecidedError{Request: request}}
	}
	d := approvals.Decision{RequestID: request.ID, Action: approvals.ActionAnswer, Note: c.Note, Save: c.Save}
	if err := c.fill(ctx, &d, &request, newSecretInput(s.in, s.err)); err != nil {
		return &usageError{err}
	}
	return decideOne(ctx, s, console, c.outputFlag, d)
}

// fill adds the flags to a decision.
func (c *answerCommand) fill(ctx context.Context, d *approvals.Decision, r *approvals.Request, in *secretInput) error {
	for _, flag := range []struct {
		name   string
		values []string
		set    func(to *approvals.Response, value string) error
	}{
		{"select", c.Select, func(to *approvals.Response, value string) error {
			to.Selected = append(to.Selected, value)
			return nil
		}},
		{"text", c.Text, func(to *approvals.Response, value string) error {
			if to.Answer != "" {
				return errors.New("a question has one --text")
			}
			to.Answer = value
			return nil
		}},
		{"field", c.Field, func(to *approvals.Response, value string) error { return setField(ctx, to, value, r, in) }},
	} {
		for _, value := range flag.values {
			id, answer, err := questions.Named(r, value)
			if err != nil {
				return fmt.Errorf("--%s %s: %w", flag.name, value, err)
			}
			to := d.Response
			if r.Kind == approvals.KindCombined {
				to = d.Responses[id]
			}
			if err := flag.set(&to, answer); err != nil {
				return err
			}
			if r.Kind != approvals.KindCombined {
				d.Response = to
				continue
			}
			if d.Responses == nil {
				d.Responses = make(map[string]approvals.Response)
			}
			d.Responses[id] = to
		}
	}
	return nil
}

// setField sets NAME=VALUE, or NAME to a value that is read. Other users of the machine can
// read command lines, so that secrets are always read.
func setField(ctx context.Context, to *approvals.Response, field string, r *approvals.Request, in *secretInput) error {
	name, value, given := strings.Cut(field, "=")
	if given && r.Details.AsksSecret(name) {
		return fmt.Errorf("--field %s: it is a secret: write the name alone, and enter the value in the terminal or on standard input", name)
	}
	if !given {
		read, err := in.value(ctx, name)
		if err != nil {
			return err
		}
		value = read
	}
	if to.Values == nil {
		to.Values = make(map[string]string)
	}
	to.Values[name] = value
	return nil
}

// answerFlags returns the flags with which a question is answered, each after a space.
func answerFlags(r *approvals.Request) string {
	flags := ""
	for i := range r.Details.Questions {
		q := &r.Details.Questions[i]
		id := ""
		if q.ID != "" {
			id = textview.ShellWord(q.ID) + ":"
		}
		if len(q.Options) > 0 {
			flags += " --select " + id + "OPTION"
		} else if q.AllowFreeText {
			flags += " --text " + id + "TEXT"
		}
		for _, f := range q.Fields {
			if flags += " --field " + id + f.Name; !f.Secret {
				flags += "=VALUE"
			}
		}
	}
	return sanitize.Line(flags)
}
