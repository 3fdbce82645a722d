// What the clients have in common: jobs come in on standard input, each is run
// at the same time as the others, and what it accumulated goes out as one line
// of JSON.
import { text } from 'node:stream/consumers';

export const tools = [
  {
    name: 'transfer',
    description: 'Moves money',
    parameters: {
      type: 'object',
      properties: { job: { type: 'string' }, amount: { type: 'number' } },
      required: ['job', 'amount'],
      additionalProperties: false,
    },
  },
  {
    name: 'lookup',
    description: 'Looks an account up',
    parameters: {
      type: 'object',
      properties: { job: { type: 'string' } },
      required: ['job'],
      additionalProperties: false,
    },
  },
];

export const result = (call) => `ran ${call.name} with ${call.arguments}`;

// run calls ask for each job. ask returns {text, calls, finish, usage, next},
// where next is the text of the answer to the results of the calls. A job with once
// set ends after the first answer, and only its calls are returned.
export async function run(ask) {
  const { jobs } = JSON.parse(await text(process.stdin));
  await Promise.all(
    jobs.map(async (job) => {
      let got;
      try {
        got = await ask(job.base_url, job);
      } catch (error) {
        got = { error: String(error?.stack ?? error) };
      }
      process.stdout.write(JSON.stringify({ job: job.name, ...got }) + '\n');
    }),
  );
}
