// Texts that depend on what a request is about, as approvals.WordsFor has them.

/** @typedef {import('./types.js').Request} Request */

const CALL = {
	subject: 'Arguments', input: 'Input', automatic: 'Runs automatically', willNot: 'won’t run', ran: 'Ran automatically: nobody answered ',
	editHint: 'The edited call runs in place of the model’s. The model gets the arguments that ran.', effects: '',
};

const RESULT = {
	subject: 'Result', input: 'Result', automatic: 'The model reads it automatically', willNot: 'the model won’t read it', ran: 'Read by the model: nobody answered ',
	editHint: 'The model reads this text in place of the result, now and in every later request.',
	effects: 'Approve: the model reads the result. Edit: it reads your text in its place. Deny: it reads that it was denied, and your note.',
};

const ASKS = { clarification: 'asks a question', decision: 'asks for a decision', env_var: 'asks for values', combined: 'asks several questions' };

/** What an agent does that asks a question; '' for other requests. @param {Pick<Request, 'kind'>} request */
export const asksFor = ({ kind }) => ASKS[/** @type {keyof typeof ASKS} */ (kind)] ?? '';

/** What a model asks people, as approvals.Request.Headline has it: the first question and the number of the others; '' for other requests. @param {Request} request */
export function headline({ kind, args_preview: preview, title, details }) {
	if (!asksFor({ kind })) return '';
	const others = (details.questions ?? []).length - 1;
	return others > 0 && preview ? `${preview} (and ${others} more)` : preview || title;
}

/** Whether people are asked about the result of a call. @param {Request} request */
export const isResult = ({ kind }) => kind === 'result';

/** @param {Request} request */
export const wordsFor = (request) => (isResult(request) ? RESULT : CALL);
