// The official Anthropic SDK for JavaScript: whole messages, raw events, its own
// stream helper, the helper with thinking, and its own loop, which sends only new messages: Anthropic
// keeps the conversation in a message thread. The argument names another version of it.
import { result, run, sdkTimeout, tools, within, words } from './jobs.mjs';

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

const report = (message, next) => ({
  text: textOf(message),
  calls: callsOf(message),
  finish: message.stop_reason,
  usage: { prompt: message.usage.input_tokens, completion: message.usage.output_tokens },
  next: textOf(next),
});

const callsOf = (message) =>
  message.content.filter((block) => block.type === 'tool_use').map(({ id, name, input }) => ({ id, name, arguments: JSON.stringify(input) }));

// loop lets the SDK run the calls, and the user write after an answer without any.
async function loop(client, job) {
  const { betaTool } = await import('@anthropic-ai/sdk/helpers/beta/json-schema');
  const runnable = tools.map(({ name, description, parameters: inputSchema }) =>
    betaTool({ name, description, inputSchema, run: (input) => result({ name, arguments: JSON.stringify(input) }) }),
  );
  const stream = !job.mode.includes('whole');
  const body = { model: 'claude-test', max_tokens: 4096, ...job.fields, tools: runnable };
  const question = { role: 'user', content: words(job) };
  let runner;
  if (job.kept) {
    const thread = client.beta.messages.thread(body);
    await thread.send({ role: 'user', content: 'hello' });
    thread.append(question);
    runner = thread.toolRunner({ stream });
  } else {
    runner = client.beta.messages.toolRunner({ ...body, messages: [question], stream });
  }
  const answers = [];
  for await (const answer of runner) {
    const message = stream ? await answer.finalMessage() : answer;
    answers.push(message);
    if (!job.once && answers.length === 1 && callsOf(message).length === 0) runner.pushMessages({ role: 'assistant', content: message.content }, { role: 'user', content: 'go on' });
  }
  return report(answers[0], answers.at(-1));
}

await run(async (baseURL, job) => {
  const client = new Anthropic({ baseURL: baseURL.replace(/\/v1$/, ''), apiKey: 'test', ...sdkTimeout(job) });
  if (job.mode.includes('loop')) return loop(client, job);
  const messages = [{ role: 'user', content: job.name }];
  const { answer: message, tries } = await within(job, (options) => complete(client, job.mode, messages, options));
  if (job.mode === 'thinking' && !job.name.includes('silent') && message.content[0].type !== 'thinking') throw new Error('the message does not begin with thinking');
  const calls = callsOf(message);
  if (job.once) return { text: textOf(message), calls, tries };
  const answers = calls.map((call) => ({ type: 'tool_result', tool_use_id: call.id, content: result(call) }));
  if (answers.length === 0) answers.push({ type: 'text', text: 'go on' });
  const next = await complete(client, job.mode, [
    ...messages,
    { role: 'assistant', content: message.content },
    { role: 'user', content: answers },
  ]);
  return report(message, next);
});
