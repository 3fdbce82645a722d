// The official OpenAI SDK for JavaScript over Responses: whole answers, raw
// events, its own stream helper, and conversations that the server remembers
// (stored) or must not (stateless). The argument names another version of it.
import { randomUUID } from 'node:crypto';
import { result, run, tools, words } from './jobs.mjs';

const { default: OpenAI } = await import(process.argv[2] ?? 'openai');

const functions = tools.map((tool) => ({ type: 'function', strict: true, ...tool }));

async function complete(client, { mode, fields }, input, kept) {
  const body = { model: 'gpt-test', ...fields, input, tools: functions, ...kept };
  if (mode === 'stateless') Object.assign(body, { store: false, include: ['reasoning.encrypted_content'] });
  if (mode === 'whole') return client.responses.create(body);
  if (mode === 'helper') return client.responses.stream(body).finalResponse();
  return accumulate(await client.responses.create({ ...body, stream: true }));
}

// shown is an item without what is encrypted anew each time it is told.
const shown = (item) => JSON.stringify({ ...item, encrypted_content: undefined });

// accumulate takes the items as an agent does that acts on each when it is done,
// and compares them with their pieces and with the closing event.
async function accumulate(events) {
  const output = [];
  const pieces = [];
  for await (const event of events) {
    switch (event.type) {
      case 'response.output_item.added':
        pieces[event.output_index] = '';
        break;
      case 'response.output_text.delta':
      case 'response.function_call_arguments.delta':
        pieces[event.output_index] += event.delta;
        break;
      case 'response.output_item.done':
        output[event.output_index] = event.item;
        break;
      case 'error':
      case 'response.failed':
        throw new Error(JSON.stringify(event));
      case 'response.completed':
        for (const [i, item] of event.response.output.entries()) {
          if (shown(item) !== shown(output[i])) {
            throw new Error(`item ${i} is ${shown(output[i])}, at the end ${shown(item)}`);
          }
          const whole = item.arguments ?? item.content?.[0].text;
          if (item.type !== 'reasoning' && whole !== pieces[i]) throw new Error(`${whole} was told as ${pieces[i]}`);
        }
        if (event.response.output.length !== output.length) throw new Error(`${output.length} items, at the end others`);
        return event.response;
    }
  }
  throw new Error('the stream ended without a closing event');
}

// begun begins the conversation that the provider keeps, and returns the field that continues it.
async function begun(client, job) {
  switch (job.kept) {
    case 'previous_response_id':
      return { previous_response_id: (await complete(client, job, 'hello')).id };
    case 'conversation':
      return { conversation: (await client.conversations.create({ ...job.fields, metadata: { id: randomUUID() } })).id };
  }
}

await run(async (baseURL, job) => {
  const client = new OpenAI({ baseURL, apiKey: 'test' });
  const input = [{ role: 'user', content: words(job) }];
  const before = await begun(client, job);
  const response = await complete(client, job, input, before);
  const texts = response.output.flatMap((item) => item.content ?? []).map((part) => part.text);
  const calls = response.output
    .filter((item) => item.type === 'function_call')
    .map((item) => ({ id: item.call_id, name: item.name, arguments: item.arguments }));
  if (job.once) return { calls };
  const answers = calls.map((call) => ({ type: 'function_call_output', call_id: call.id, output: result(call) }));
  if (answers.length === 0) answers.push({ role: 'user', content: 'go on' });
  const next =
    job.mode === 'stored'
      ? await complete(client, job, answers, before?.conversation ? before : { previous_response_id: response.id })
      : await complete(client, job, [...input, ...response.output, ...answers]);
  return {
    text: texts.join(''),
    calls,
    finish: response.status,
    usage: { prompt: response.usage.input_tokens, completion: response.usage.output_tokens },
    next: next.output.flatMap((item) => item.content ?? []).map((part) => part.text).join(''),
  };
});
