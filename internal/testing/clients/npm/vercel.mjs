// Vercel's AI SDK. The argument names the provider: openai or openai-compatible
// for Chat Completions, responses, anthropic. In the mode stateless OpenAI is not
// to store responses; in the mode loop the SDK runs the calls.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { result, run, tools } from './jobs.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false; // they would go to standard output

function model(baseURL) {
  switch (process.argv[2]) {
    case 'openai':
      return createOpenAI({ baseURL, apiKey: 'test' }).chat('gpt-test');
    case 'responses':
      return createOpenAI({ baseURL, apiKey: 'test' }).responses('gpt-5-test');
    case 'anthropic':
      return createAnthropic({ baseURL, apiKey: 'test' })('claude-test');
  }
  return createOpenAICompatible({ name: 'heldcall', baseURL, apiKey: 'test', includeUsage: true })('gpt-test');
}

// Without execute the SDK hands the calls out instead of running them.
const set = Object.fromEntries(
  tools.map(({ name, description, parameters }) => [name, tool({ description, inputSchema: jsonSchema(parameters) })]),
);

const runnable = Object.fromEntries(
  tools.map(({ name, description, parameters }) => [
    name,
    tool({ description, inputSchema: jsonSchema(parameters), execute: (input) => result({ name, arguments: JSON.stringify(input) }) }),
  ]),
);

// loop lets the SDK run the calls. The user writes after an answer without any.
async function loop(baseURL, job) {
  const steps = async (messages) => {
    const stream = streamText({ model: model(baseURL), messages, tools: runnable, stopWhen: stepCountIs(5) });
    await stream.consumeStream();
    return { all: await stream.steps, response: await stream.response, text: await stream.text };
  };
  const messages = [{ role: 'user', content: job.name }];
  const got = await steps(messages);
  const [first] = got.all;
  let next = got.text;
  if (first.toolCalls.length === 0) next = (await steps([...messages, ...got.response.messages, { role: 'user', content: 'go on' }])).text;
  return {
    text: first.text,
    calls: first.toolCalls.map((call) => ({ id: call.toolCallId, name: call.toolName, arguments: JSON.stringify(call.input) })),
    finish: first.finishReason,
    usage: { prompt: first.usage.inputTokens, completion: first.usage.outputTokens },
    next,
  };
}

// complete returns one answer. The SDK runs the calls of a stream also after an error
// in it, so a job that ends with the first answer gets both.
async function complete(baseURL, mode, messages, once) {
  const options = { model: model(baseURL), messages, tools: set };
  if (mode === 'stateless') options.providerOptions = { openai: { store: false } };
  if (mode === 'thinking') options.providerOptions = { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } };
  if (mode === 'whole') return generateText(options);
  let failed;
  const stream = streamText({ ...options, onError: ({ error }) => (failed = error) });
  await stream.consumeStream();
  if (failed && !once) throw failed;
  return {
    failed,
    text: await stream.text,
    toolCalls: await stream.toolCalls,
    finishReason: await stream.finishReason,
    usage: await stream.usage,
    response: await stream.response,
  };
}

await run(async (baseURL, job) => {
  if (job.mode === 'loop') return loop(baseURL, job);
  const messages = [{ role: 'user', content: job.name }];
  const got = await complete(baseURL, job.mode, messages, job.once);
  const calls = got.toolCalls.map((call) => ({ id: call.toolCallId, name: call.toolName, arguments: JSON.stringify(call.input) }));
  // Calls whose input the SDK cannot parse are not executed.
  if (job.once) {
    const invalid = got.toolCalls.find((call) => call.invalid);
    const error = got.failed ?? invalid?.error;
    return { calls: calls.filter((_, i) => !got.toolCalls[i].invalid), error: error && String(error) };
  }
  const answers = calls.map((call) => ({
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: call.id, toolName: call.name, output: { type: 'text', value: result(call) } }],
  }));
  if (answers.length === 0) answers.push({ role: 'user', content: 'go on' });
  const next = await complete(baseURL, job.mode, [...messages, ...got.response.messages, ...answers]);
  return {
    text: got.text,
    calls,
    finish: got.finishReason,
    usage: { prompt: got.usage.inputTokens, completion: got.usage.outputTokens },
    next: next.text,
  };
});
