// LangChain for JavaScript. The argument names the API: chat, responses or
// messages.
import { ChatAnthropic } from '@langchain/anthropic';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { result, run, tools } from './jobs.mjs';

console.log = console.error; // warnings would be among the reports

const api = process.argv[2];

function connect(baseURL, mode) {
  const streaming = mode !== 'whole';
  const offered = tools.map((tool) => ({ type: 'function', function: tool }));
  if (api === 'messages') {
    const anthropicApiUrl = baseURL.replace(/\/v1$/, '');
    const thinking = mode === 'thinking' ? { type: 'enabled', budget_tokens: 1024 } : undefined;
    return new ChatAnthropic({ model: 'claude-test', maxTokens: 4096, apiKey: 'test', anthropicApiUrl, streaming, thinking }).bindTools(offered);
  }
  const zdrEnabled = mode === 'stateless';
  return new ChatOpenAI({
    model: 'gpt-test', apiKey: 'test', configuration: { baseURL }, streaming, useResponsesApi: api === 'responses', zdrEnabled,
  }).bindTools(offered);
}

async function complete(model, mode, messages) {
  if (mode === 'whole') return model.invoke(messages);
  let all;
  for await (const chunk of await model.stream(messages)) {
    all = all === undefined ? chunk : all.concat(chunk);
  }
  return all;
}

function finishOf({ response_metadata: metadata, additional_kwargs: more }) {
  return metadata.finish_reason ?? metadata.status ?? metadata.stop_reason ?? more.stop_reason ?? null;
}

// usageOf is what the answer cost. Of a streamed message LangChain reads the
// prompt's tokens in message_start alone, before a continuation has any, and adds
// the one token that message_start counts to the final number, which includes it.
function usageOf({ usage_metadata: usage }, mode) {
  if (api === 'messages' && mode !== 'whole') return { prompt: null, completion: usage.output_tokens - 1 };
  return { prompt: usage?.input_tokens, completion: usage?.output_tokens };
}

await run(async (baseURL, job) => {
  const model = connect(baseURL, job.mode);
  const messages = [new HumanMessage(job.name)];
  const message = await complete(model, job.mode, messages);
  // An agent runs the calls that can be read also beside others that cannot.
  if (message.invalid_tool_calls?.length && !job.once) {
    throw new Error('calls that cannot be read: ' + JSON.stringify(message.invalid_tool_calls));
  }
  const calls = message.tool_calls.map((call) => ({ id: call.id, name: call.name, arguments: JSON.stringify(call.args) }));
  if (job.once) return { calls, error: message.invalid_tool_calls?.length ? JSON.stringify(message.invalid_tool_calls) : undefined };
  const answers = calls.map((call) => new ToolMessage({ tool_call_id: call.id, content: result(call) }));
  if (answers.length === 0) answers.push(new HumanMessage('go on'));
  const next = await complete(model, job.mode, [...messages, message, ...answers]);
  return {
    text: message.text,
    calls,
    finish: finishOf(message),
    usage: usageOf(message, job.mode),
    next: next.text,
  };
});
