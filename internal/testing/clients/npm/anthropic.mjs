// The official Anthropic SDK for JavaScript: whole messages, raw events, its own
// stream helper, and the helper with thinking. The argument names another version of it.
import { result, run, sdkTimeout, tools, within } from './jobs.mjs';

const { default: Anthropic } = await import(process.argv[2] ?? '@anthropic-ai/sdk');

const offered = tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }));

async function complete(client, mode, messages, options) {
  const body = { model: 'claude-test', max_tokens: 4096, messages, tools: offered };
  switch (mode) {
    case 'whole':
      return client.messages.create(body, options);
    case 'raw':
      return accumulate(await client.messages.create({ ...body, stream: true }, options));
    case 'thinking':
      body.thinking = { type: 'enabled', budget_tokens: 1024 };
  }
  return client.messages.stream(body, options).finalMessage();
}

async function accumulate(events) {
  let message;
  const inputs = [];
  for await (const event of events) {
    switch (event.type) {
      case 'message_start':
        if (message) throw new Error('a second message begins');
        message = event.message;
        break;
      case 'content_block_start':
        if (event.index !== message.content.length) throw new Error(`block ${event.index} after ${message.content.length} blocks`);
        message.content.push({ ...event.content_block });
        break;
      case 'content_block_delta':
        if (event.delta.type === 'text_delta') message.content[event.index].text += event.delta.text;
        if (event.delta.type === 'input_json_delta') inputs[event.index] = (inputs[event.index] ?? '') + event.delta.partial_json;
        break;
      case 'content_block_stop':
        if (inputs[event.index]) message.content[event.index].input = JSON.parse(inputs[event.index]);
        break;
      case 'message_delta':
        Object.assign(message, event.delta);
        Object.assign(message.usage, Object.fromEntries(Object.entries(event.usage).filter(([, value]) => value !== null)));
        break;
      case 'message_stop':
        return message;
    }
  }
  throw new Error('the stream ended without message_stop');
}

const textOf = (message) => message.content.filter((block) => block.type === 'text').map((block) => block.text).join('');

await run(async (baseURL, job) => {
  const client = new Anthropic({ baseURL: baseURL.replace(/\/v1$/, ''), apiKey: 'test', ...sdkTimeout(job) });
  const messages = [{ role: 'user', content: job.name }];
  const { answer: message, tries } = await within(job, (options) => complete(client, job.mode, messages, options));
  if (job.mode === 'thinking' && !job.name.includes('silent') && message.content[0].type !== 'thinking') throw new Error('the message does not begin with thinking');
  const calls = message.content
    .filter((block) => block.type === 'tool_use')
    .map(({ id, name, input }) => ({ id, name, arguments: JSON.stringify(input) }));
  if (job.once) return { text: textOf(message), calls, tries };
  const answers = calls.map((call) => ({ type: 'tool_result', tool_use_id: call.id, content: result(call) }));
  if (answers.length === 0) answers.push({ type: 'text', text: 'go on' });
  const next = await complete(client, job.mode, [
    ...messages,
    { role: 'assistant', content: message.content },
    { role: 'user', content: answers },
  ]);
  return {
    text: textOf(message),
    calls,
    finish: message.stop_reason,
    usage: { prompt: message.usage.input_tokens, completion: message.usage.output_tokens },
    next: textOf(next),
  };
});
