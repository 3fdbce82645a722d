package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// askOpenAI has one job's conversation with the official SDK.
func askOpenAI(ctx context.Context, baseURL string, j job) (report, error) {
	client := openai.NewClient(option.WithBaseURL(baseURL), option.WithAPIKey("test"))
	params := openai.ChatCompletionNewParams{
		Model:    "gpt-test",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(j.Name)},
	}
	for _, name := range []string{"transfer", "lookup"} {
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: name, Parameters: parameters[name],
		}))
	}
	complete := func(ctx context.Context) (*openai.ChatCompletion, error) {
		return completeOpenAI(ctx, client, j.Mode, params)
	}
	completion, err := repeat(ctx, j, complete)
	if err != nil {
		return report{}, err
	}
	if len(completion.Choices) == 0 {
		return report{}, errors.New("the answer has no choice")
	}
	choice := completion.Choices[0]
	got := report{
		Text: choice.Message.Content, Finish: choice.FinishReason,
		Usage: &usage{completion.Usage.PromptTokens, completion.Usage.CompletionTokens},
	}
	params.Messages = append(params.Messages, choice.Message.ToParam())
	for _, made := range choice.Message.ToolCalls {
		c := call{made.ID, made.Function.Name, made.Function.Arguments}
		got.Calls = append(got.Calls, c)
		params.Messages = append(params.Messages, openai.ToolMessage(c.result(), c.ID))
	}
	if j.Once {
		return got, nil
	}
	if len(got.Calls) == 0 {
		params.Messages = append(params.Messages, openai.UserMessage("go on"))
	}
	j.Leave = 0
	next, err := repeat(ctx, j, complete)
	if err != nil {
		return got, fmt.Errorf("next request: %w", err)
	}
	got.Next = next.Choices[0].Message.Content
	return got, nil
}

func completeOpenAI(ctx context.Context, client openai.Client, mode string, params openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	if mode == "whole" {
		return client.Chat.Completions.New(ctx, params)
	}
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(ctx, params)
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		if !all.AddChunk(stream.Current()) {
			return nil, fmt.Errorf("the accumulator refused a chunk: %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	if len(all.Choices) == 0 {
		return nil, fmt.Errorf("the stream held no choice")
	}
	return &all.ChatCompletion, nil
}
