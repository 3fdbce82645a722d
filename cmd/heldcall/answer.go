package main

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

type answerCommand struct {
	oneRequest
	Select []string `help:"Option to select, by its id. Repeat it for several." placeholder:"OPTION"`
	Text   string   `help:"Answer in your own words. To a held call: a message to the model, which does not run." placeholder:"TEXT"`
	Field  []string `help:"Value of a field. NAME alone reads it from the terminal, or a line from standard input: secrets are taken in no other way. Repeat it for several." placeholder:"NAME=VALUE"`
	Save   bool     `help:"Keep secrets for all sessions of the agent."`
	Note   string   `help:"Note stored with the decision." placeholder:"TEXT"`
}

// Help explains answers to several questions.
func (answerCommand) Help() string {
	return "A request with several questions takes the id of a question before each value: --select a:yes --text b:later --field c:HOST=example.org"
}

// Run answers a question of a model.
func (c *answerCommand) Run(ctx context.Context, s *streams) error {
	console, request, err := c.find(ctx)
	if err != nil {
		return err
	}
	if request.Status.Final() {
		return &tooLate{&approvals.DecidedError{Request: request}}
	}
	d := approvals.Decision{RequestID: request.ID, Action: approvals.ActionAnswer, Note: c.Note, Save: c.Save}
	if err := c.fill(&d, &request, s, bufio.NewReader(s.in)); err != nil {
		return &usageError{err}
	}
	return decideOne(ctx, s, console, c.outputFlag, d)
}

// fill adds the flags to a decision.
func (c *answerCommand) fill(d *approvals.Decision, r *approvals.Request, s *streams, in *bufio.Reader) error {
	several := r.Kind == approvals.KindCombined
	change := func(flag, value string, set func(to *approvals.Response, value string) error) error {
		if !several {
			return set(&d.Response, value)
		}
		id, rest, found := strings.Cut(value, ":")
		if !found || !slices.ContainsFunc(r.Details.Questions, func(q approvals.Question) bool { return q.ID == id }) {
			return fmt.Errorf("--%s %s: write the id of a question and a colon before it; `heldcall requests show` lists them", flag, value)
		}
		response := d.Responses[id]
		if err := set(&response, rest); err != nil {
			return err
		}
		if d.Responses == nil {
			d.Responses = make(map[string]approvals.Response)
		}
		d.Responses[id] = response
		return nil
	}
	for _, one := range c.Select {
		if err := change("select", one, func(to *approvals.Response, value string) error {
			to.Selected = append(to.Selected, value)
			return nil
		}); err != nil {
			return err
		}
	}
	if c.Text != "" {
		if err := change("text", c.Text, func(to *approvals.Response, value string) error {
			to.Answer = value
			return nil
		}); err != nil {
			return err
		}
	}
	for _, one := range c.Field {
		if err := change("field", one, func(to *approvals.Response, value string) error { return setField(to, value, r, s, in) }); err != nil {
			return err
		}
	}
	return nil
}

// setField sets NAME=VALUE, or NAME to a value that is read. Other users of the machine can
// read command lines, so that secrets are always read.
func setField(to *approvals.Response, field string, r *approvals.Request, s *streams, in *bufio.Reader) error {
	name, value, given := strings.Cut(field, "=")
	if given && r.Details.AsksSecret(name) {
		return fmt.Errorf("--field %s: it is a secret: write the name alone, and enter the value in the terminal or on standard input", name)
	}
	if !given {
		var err error
		if value, err = readSecret(s, in, name); err != nil {
			return err
		}
	}
	if to.Values == nil {
		to.Values = make(map[string]string)
	}
	to.Values[name] = value
	return nil
}
