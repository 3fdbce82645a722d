// LangChain for JavaScript.
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { result, run, tools } from './jobs.mjs';

async function complete(model, mode, messages) {
  if (mode === 'whole') return model.invoke(messages);
  let all;
  for await (const chunk of await model.stream(messages)) {
    all = all === undefined ? chunk : all.concat(chunk);
  }
  return all;
}

await run(async (baseURL, job) => {
  const model = new ChatOpenAI({
    model: 'gpt-test', apiKey: 'test', configuration: { baseURL }, streaming: job.mode !== 'whole',
  }).bindTools(tools.map((tool) => ({ type: 'function', function: tool })));
  const messages = [new HumanMessage(job.name)];
  const message = await complete(model, job.mode, messages);
  if (message.invalid_tool_calls?.length) {
    throw new Error('calls that cannot be read: ' + JSON.stringify(message.invalid_tool_calls));
  }
  const calls = message.tool_calls.map((call) => ({ id: call.id, name: call.name, arguments: JSON.stringify(call.args) }));
  const answers = calls.map((call) => new ToolMessage({ tool_call_id: call.id, content: result(call) }));
  if (answers.length === 0) answers.push(new HumanMessage('go on'));
  const next = await complete(model, job.mode, [...messages, message, ...answers]);
  return {
    text: message.content,
    calls,
    finish: message.response_metadata.finish_reason,
    usage: { prompt: message.usage_metadata?.input_tokens, completion: message.usage_metadata?.output_tokens },
    next: next.content,
  };
});
