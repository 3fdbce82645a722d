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

// What the user writes.
export const words = (job) => job.words ?? job.name;

// within calls complete with an abort signal and returns its answer and how often it was
// called: again, up to job.tries times, if an answer takes longer than job.timeout seconds.
export async function within(job, complete) {
  for (let tries = 1; ; tries++) {
    const signal = job.timeout && AbortSignal.timeout(job.timeout * 1000);
    try {
      const answer = await complete(signal ? { signal } : {});
      signal?.throwIfAborted(); // the SDKs end an aborted stream without an error
      return { answer, tries };
    } catch (error) {
      if (!signal?.aborted || tries >= (job.tries ?? 1)) throw error;
    }
  }
}

// The option of a client for the time-out of its SDK.
export const sdkTimeout = (job) => (job.sdk_timeout ? { timeout: job.sdk_timeout * 1000 } : {});

// run calls ask for each job. ask returns {text, calls, finish, usage, next},
// where next is the text of the answer to the results of the calls. A job with once
// set ends after the first answer, and only its text and calls are returned.
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
