package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sashabaranov/go-openai"
)

// askGoOpenAI has one job's conversation with sashabaranov's SDK.
func askGoOpenAI(ctx context.Context, baseURL string, j job) (report, error) {
	config := openai.DefaultConfig("test")
	config.BaseURL = baseURL
	client := openai.NewClientWithConfig(config)
	request := openai.ChatCompletionRequest{
		Model:    "gpt-test",
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: j.Name}},
	}
	for _, name := range []string{"transfer", "lookup"} {
		request.Tools = append(request.Tools, openai.Tool{
			Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: name, Parameters: parameters[name]},
		})
	}
	message, finish, spent, err := completeGoOpenAI(ctx, client, j.Mode, request)
	if err != nil {
		return report{}, err
	}
	got := report{Text: message.Content, Finish: finish, Usage: spent}
	request.Messages = append(request.Messages, message)
	for _, made := range message.ToolCalls {
		c := call{made.ID, made.Function.Name, made.Function.Arguments}
		got.Calls = append(got.Calls, c)
		request.Messages = append(request.Messages, openai.ChatCompletionMessage{
			Role: openai.ChatMessageRoleTool, ToolCallID: c.ID, Content: c.result(),
		})
	}
	if j.Once {
		return got, nil
	}
	if len(got.Calls) == 0 {
		request.Messages = append(request.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: "go on"})
	}
	next, _, _, err := completeGoOpenAI(ctx, client, j.Mode, request)
	if err != nil {
		return got, fmt.Errorf("next request: %w", err)
	}
	got.Next = next.Content
	return got, nil
}

func completeGoOpenAI(ctx context.Context, client *openai.Client, mode string, request openai.ChatCompletionRequest) (openai.ChatCompletionMessage, string, *usage, error) {
	if mode != "whole" {
		return streamGoOpenAI(ctx, client, request)
	}
	answer, err := client.CreateChatCompletion(ctx, request)
	if err != nil {
		return openai.ChatCompletionMessage{}, "", nil, err
	}
	if len(answer.Choices) == 0 {
		return openai.ChatCompletionMessage{}, "", nil, errors.New("the answer has no choice")
	}
	spent := &usage{int64(answer.Usage.PromptTokens), int64(answer.Usage.CompletionTokens)}
	return answer.Choices[0].Message, string(answer.Choices[0].FinishReason), spent, nil
}

// streamGoOpenAI accumulates by index, as this SDK's users have to.
func streamGoOpenAI(ctx context.Context, client *openai.Client, request openai.ChatCompletionRequest) (message openai.ChatCompletionMessage, finish string, spent *usage, err error) {
	request.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	stream, err := client.CreateChatCompletionStream(ctx, request)
	if err != nil {
		return message, "", nil, err
	}
	defer stream.Close()
	message.Role = openai.ChatMessageRoleAssistant
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return message, finish, spent, nil
		}
		if err != nil {
			return message, finish, spent, err
		}
		if chunk.Usage != nil {
			spent = &usage{int64(chunk.Usage.PromptTokens), int64(chunk.Usage.CompletionTokens)}
		}
		for _, choice := range chunk.Choices {
			message.Content += choice.Delta.Content
			if choice.FinishReason != "" {
				finish = string(choice.FinishReason)
			}
			for _, part := range choice.Delta.ToolCalls {
				if part.Index == nil || *part.Index > len(message.ToolCalls) {
					return message, finish, spent, fmt.Errorf("a call has the index %v after %d calls", part.Index, len(message.ToolCalls))
				}
				if *part.Index == len(message.ToolCalls) {
					message.ToolCalls = append(message.ToolCalls, openai.ToolCall{Type: openai.ToolTypeFunction})
				}
				made := &message.ToolCalls[*part.Index]
				if part.ID != "" {
					made.ID = part.ID
				}
				made.Function.Name += part.Function.Name
				made.Function.Arguments += part.Function.Arguments
			}
		}
	}
}
