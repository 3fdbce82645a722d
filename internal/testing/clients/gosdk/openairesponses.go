package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"github.com/tidwall/gjson"
)

// askResponses has one job's conversation with the official SDK on Responses. A mode that
// begins with "stored-" continues from the stored response, the others send everything again.
func askResponses(ctx context.Context, baseURL string, j job) (report, error) {
	client := openai.NewClient(option.WithBaseURL(baseURL), option.WithAPIKey("test"))
	mode, stored := strings.CutPrefix(j.Mode, "stored-")
	question := responses.ResponseInputItemParamOfMessage(j.Name, responses.EasyInputMessageRoleUser)
	params := responses.ResponseNewParams{
		Model:     "gpt-test",
		Reasoning: shared.ReasoningParam{Summary: shared.ReasoningSummaryAuto},
		Store:     openai.Bool(stored),
		Input:     responses.ResponseNewParamsInputUnion{OfInputItemList: []responses.ResponseInputItemUnionParam{question}},
	}
	if !stored {
		params.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	for _, name := range []string{"transfer", "lookup"} {
		params.Tools = append(params.Tools, responses.ToolParamOfFunction(name, parameters[name], true))
	}
	ask := func(ctx context.Context) (*responses.Response, error) { return respond(ctx, client, mode, params) }
	response, err := repeat(ctx, j, ask)
	if err != nil {
		return report{}, err
	}
	got := report{
		Text: response.OutputText(), Finish: string(response.Status),
		Usage: &usage{response.Usage.InputTokens, response.Usage.OutputTokens},
	}
	var answers []responses.ResponseInputItemUnionParam
	for _, item := range response.Output {
		if !stored {
			echo := param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(item.RawJSON()))
			params.Input.OfInputItemList = append(params.Input.OfInputItemList, echo)
		}
		if item.Type == "function_call" {
			c := call{item.CallID, item.Name, item.Arguments.OfString}
			got.Calls = append(got.Calls, c)
			answer := responses.ResponseInputItemParamOfFunctionCallOutput(c.result())
			answer.OfFunctionCallOutput.CallID = openai.String(c.ID)
			answers = append(answers, answer)
		}
	}
	if j.Once {
		return got, nil
	}
	if len(answers) == 0 {
		answers = append(answers, responses.ResponseInputItemParamOfMessage("go on", responses.EasyInputMessageRoleUser))
	}
	if stored {
		params.PreviousResponseID = openai.String(response.ID)
		params.Input.OfInputItemList = nil
	}
	params.Input.OfInputItemList = append(params.Input.OfInputItemList, answers...)
	j.Leave = 0
	next, err := repeat(ctx, j, ask)
	if err != nil {
		return got, fmt.Errorf("next request: %w", err)
	}
	got.Next = next.OutputText()
	return got, nil
}

// respond returns a response; of a stream it is the one that closes it, which must equal the
// events before it.
func respond(ctx context.Context, client openai.Client, mode string, params responses.ResponseNewParams) (*responses.Response, error) {
	if mode == "whole" {
		return client.Responses.New(ctx, params)
	}
	stream := client.Responses.NewStreaming(ctx, params)
	var done []responses.ResponseOutputItemUnion
	var last *responses.Response
	number := int64(-1)
	for stream.Next() {
		event := stream.Current()
		if event.SequenceNumber <= number {
			return nil, fmt.Errorf("the sequence number %d comes after %d", event.SequenceNumber, number)
		}
		number = event.SequenceNumber
		switch event := event.AsAny().(type) {
		case responses.ResponseOutputItemDoneEvent:
			if event.OutputIndex != int64(len(done)) {
				return nil, fmt.Errorf("the item %d is done after %d others", event.OutputIndex, len(done))
			}
			done = append(done, event.Item)
		case responses.ResponseCompletedEvent:
			last = &event.Response
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	if last == nil {
		return nil, errors.New("the stream has no completed response")
	}
	if got, want := shown(last.Output), shown(done); !slices.Equal(got, want) {
		return nil, fmt.Errorf("the response holds %q, the events were of %q", got, want)
	}
	return last, nil
}

// shown returns the items without content that is encrypted differently each time.
func shown(items []responses.ResponseOutputItemUnion) []string {
	var all []string
	for _, item := range items {
		text := gjson.Parse(item.RawJSON())
		var fields []string
		text.ForEach(func(name, value gjson.Result) bool {
			if name.Str != "encrypted_content" {
				fields = append(fields, name.Raw+":"+value.Raw)
			}
			return true
		})
		all = append(all, strings.Join(fields, ","))
	}
	return all
}
