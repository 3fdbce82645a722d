// The official OpenAI SDK for JavaScript: whole answers, raw chunks, its own stream
// helper, and its own loop.
import OpenAI from 'openai';
import { result, run, sdkTimeout, tools, within, words } from './jobs.mjs';

const functions = tools.map((tool) => ({ type: 'function', function: tool }));

async function complete(client, mode, messages, options) {
  const body = { model: 'gpt-test', messages, tools: functions };
  if (mode === 'whole') {
    return client.chat.completions.create(body, options);
  }
  const streamed = { ...body, stream_options: { include_usage: true } };
  if (mode === 'helper') {
    return client.chat.completions.stream(streamed, options).finalChatCompletion();
  }
  const message = { role: 'assistant', content: '', tool_calls: [] };
  const completion = { choices: [{ message }] };
  for await (const chunk of await client.chat.completions.create({ ...streamed, stream: true }, options)) {
    completion.usage = chunk.usage ?? completion.usage;
    for (const choice of chunk.choices) {
      message.content += choice.delta.content ?? '';
      completion.choices[0].finish_reason = choice.finish_reason ?? completion.choices[0].finish_reason;
      for (const part of choice.delta.tool_calls ?? []) {
        const call = (message.tool_calls[part.index] ??= { type: 'function', function: { name: '', arguments: '' } });
        call.id = part.id ?? call.id;
        call.function.name += part.function?.name ?? '';
        call.function.arguments += part.function?.arguments ?? '';
      }
    }
  }
  if (message.tool_calls.length === 0) delete message.tool_calls;
  return completion;
}

// loop lets the SDK run the calls. The user writes after an answer without any.
async function loop(client, job) {
  const runnable = tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters, parse: JSON.parse, function: (input) => result({ name, arguments: JSON.stringify(input) }) },
  }));
  const stream = !job.mode.includes('whole');
  const body = { model: 'gpt-test', ...job.fields, tools: runnable, stream, ...(stream && { stream_options: { include_usage: true } }) };
  const first = client.chat.completions.runTools({ ...body, messages: [{ role: 'user', content: words(job) }] });
  let last = await first.finalContent();
  const completion = first.allChatCompletions()[0];
  const { message, finish_reason: finish } = completion.choices[0];
  if (!job.once && !message.tool_calls?.length) {
    last = await client.chat.completions.runTools({ ...body, messages: [...first.messages, { role: 'user', content: 'go on' }] }).finalContent();
  }
  return {
    text: message.content ?? '',
    calls: (message.tool_calls ?? []).map((call) => ({ id: call.id, name: call.function.name, arguments: call.function.arguments })),
    finish,
    usage: completion.usage && { prompt: completion.usage.prompt_tokens, completion: completion.usage.completion_tokens },
    next: last,
  };
}

await run(async (baseURL, job) => {
  const client = new OpenAI({ baseURL, apiKey: 'test' });
  if (job.mode.includes('loop')) return loop(client, job);
  const messages = [{ role: 'user', content: job.name }];
  const { answer: completion, tries } = await within(job, (options) => complete(client, job.mode, messages, { ...options, ...sdkTimeout(job) }));
  const { message, finish_reason: finish } = completion.choices[0];
  const calls = (message.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function }));
  const made = calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }));
  if (job.once) return { text: String(message.content ?? ''), calls: made, tries }; // hostile answers have other types
  const answers = calls.map((call) => ({ role: 'tool', tool_call_id: call.id, content: result(call) }));
  if (answers.length === 0) answers.push({ role: 'user', content: 'go on' });
  const next = await complete(client, job.mode, [...messages, message, ...answers]);
  return {
    text: message.content ?? '',
    calls: made,
    finish,
    usage: completion.usage && { prompt: completion.usage.prompt_tokens, completion: completion.usage.completion_tokens },
    next: next.choices[0].message.content,
  };
});
