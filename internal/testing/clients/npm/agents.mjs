// OpenAI's Agents SDK, which runs the tools itself. The argument names the API:
// responses or chat. In the mode stored the server remembers the conversation, so
// that each request holds only what is new.
import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';
import OpenAI from 'openai';
import { result, run, tools } from './jobs.mjs';

const useResponses = process.argv[2] === 'responses';

async function play(runner, agent, mode, input, conversationId) {
  if (mode === 'whole') return runner.run(agent, input);
  const streamed = await runner.run(agent, input, { stream: true, conversationId });
  for await (const event of streamed) void event;
  await streamed.completed;
  if (streamed.error) throw streamed.error;
  return streamed;
}

await run(async (baseURL, job) => {
  const client = new OpenAI({ baseURL, apiKey: 'test' });
  const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient: client, useResponses }), tracingDisabled: true });
  const ran = [];
  const agent = new Agent({
    name: 'clerk',
    model: 'gpt-test',
    tools: tools.map((each) =>
      tool({
        ...each,
        strict: true,
        execute: (input, context, details) => {
          const call = { id: details.toolCall.callId, name: each.name, arguments: JSON.stringify(input) };
          ran.push(call);
          return result(call);
        },
      }),
    ),
  });
  const conversation = job.mode === 'stored' ? (await client.conversations.create({ metadata: { job: job.name } })).id : undefined;
  const played = await play(runner, agent, job.mode, job.name, conversation);
  const first = played.rawResponses[0];
  const got = {
    text: first.output.filter((item) => item.type === 'message').flatMap((item) => item.content).map((part) => part.text).join(''),
    calls: first.output
      .filter((item) => item.type === 'function_call')
      .map((item) => ({ id: item.callId, name: item.name, arguments: item.arguments })),
    finish: null,
    usage: { prompt: first.usage.inputTokens, completion: first.usage.outputTokens },
    next: played.finalOutput,
  };
  const ids = (calls) => calls.map((call) => call.id).sort().join();
  if (ids(ran) !== ids(got.calls)) throw new Error(`the answer holds the calls ${ids(got.calls)}, ran ${ids(ran)}`);
  if (got.calls.length === 0) {
    const said = { role: 'user', content: 'go on' };
    const after = await play(runner, agent, job.mode, conversation ? [said] : [...played.history, said], conversation);
    got.next = after.finalOutput;
  }
  return got;
});
