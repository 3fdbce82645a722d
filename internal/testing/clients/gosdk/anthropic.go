package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// askAnthropic has one job's conversation with Anthropic's SDK.
func askAnthropic(ctx context.Context, baseURL string, j job) (report, error) {
	client := anthropic.NewClient(option.WithBaseURL(strings.TrimSuffix(baseURL, "/v1")), option.WithAPIKey("test"))
	params := anthropic.MessageNewParams{
		Model:     "claude-test",
		MaxTokens: 2048,
		Thinking:  anthropic.ThinkingConfigParamOfEnabled(1024),
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(j.Name))},
	}
	for _, name := range []string{"transfer", "lookup"} {
		schema := anthropic.ToolInputSchemaParam{
			Properties: parameters[name]["properties"], Required: parameters[name]["required"].([]string),
		}
		params.Tools = append(params.Tools, anthropic.ToolUnionParamOfTool(schema, name))
	}
	ask := func(ctx context.Context) (*anthropic.Message, error) { return say(ctx, client, j.Mode, params) }
	message, err := repeat(ctx, j, ask)
	if err != nil {
		return report{}, err
	}
	got := report{
		Text: textOf(message), Finish: string(message.StopReason),
		Usage: &usage{message.Usage.InputTokens, message.Usage.OutputTokens},
	}
	params.Messages = append(params.Messages, message.ToParam())
	var answers []anthropic.ContentBlockParamUnion
	for _, block := range message.Content {
		if block.Type == "tool_use" {
			c := call{block.ID, block.Name, string(block.Input)}
			got.Calls = append(got.Calls, c)
			answers = append(answers, anthropic.NewToolResultBlock(c.ID, c.result(), false))
		}
	}
	if j.Once {
		return got, nil
	}
	if len(answers) == 0 {
		answers = append(answers, anthropic.NewTextBlock("go on"))
	}
	params.Messages = append(params.Messages, anthropic.NewUserMessage(answers...))
	j.Leave = 0
	next, err := repeat(ctx, j, ask)
	if err != nil {
		return got, fmt.Errorf("next request: %w", err)
	}
	got.Next = textOf(next)
	return got, nil
}

func say(ctx context.Context, client anthropic.Client, mode string, params anthropic.MessageNewParams) (*anthropic.Message, error) {
	if mode == "whole" {
		return client.Messages.New(ctx, params)
	}
	stream := client.Messages.NewStreaming(ctx, params)
	var all anthropic.Message
	for stream.Next() {
		if err := all.Accumulate(stream.Current()); err != nil {
			return nil, err
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	return &all, nil
}

func textOf(m *anthropic.Message) string {
	var text strings.Builder
	for _, block := range m.Content {
		text.WriteString(block.Text)
	}
	return text.String()
}
