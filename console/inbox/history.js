// Which ended requests the history shows, and the files that it exports.

import { byWhom } from './decide.js';
import { notRun, ruleTitle } from './present.js';
import { write } from './text/json.js';

/** @typedef {import('./types.js').Request} Request */

/** The filters by a part of a text, by their names in addresses, with what each looks at. @type {Record<string, (request: Request) => string[]>} */
const TEXTS = {
	agent: ({ principal }) => [principal.agent],
	tool: ({ tool_name: tool }) => [tool],
	rule: ({ rule, title }) => [rule, title],
	reviewer: ({ decisions }) => decisions.flatMap(({ reviewer_id: reviewer, on_behalf_of: other }) => [reviewer, other ?? '']),
};

/** Whether the history shows a request: it has ended, and the filters have its texts and the day on which it was made. @param {Request} request @param {URLSearchParams} query */
export function selects(request, query) {
	if (request.status === 'pending' || Date.parse(request.created_at) < dayOf(query).from) return false;
	return Object.entries(TEXTS).every(([name, of]) => {
		const wanted = (query.get(name) ?? '').toLowerCase();
		return of(request).some((text) => text.toLowerCase().includes(wanted));
	});
}

/** The words that the server searches by, for the texts of the filters too. @param {URLSearchParams} query */
export function wordsOf(query) {
	return ['q', ...Object.keys(TEXTS)].flatMap((name) => query.get(name) || []).join(' ');
}

/** The day of the filter in this browser's time zone, in milliseconds; without one, all time. @param {URLSearchParams} query */
export function dayOf(query) {
	const from = new Date(`${query.get('day') ?? ''}T00:00`);
	if (Number.isNaN(from.getTime())) return { from: -Infinity, to: Infinity };
	const to = new Date(from);
	to.setDate(to.getDate() + 1);
	return { from: from.getTime(), to: to.getTime() };
}

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'; // of ids

/** The first id of a time, from which lists go back; '' for the end of all time. @param {number} time milliseconds */
export function cursorOf(time) {
	if (time === Infinity) return '';
	let [text, rest] = ['', time];
	for (let i = 0; i < 10; i++, rest = Math.floor(rest / 32)) text = DIGITS[rest % 32] + text;
	return text + '0'.repeat(16);
}

/** The columns of the table, each with its value. @type {Record<string, (request: Request) => string>} */
const COLUMNS = {
	id: ({ id }) => id,
	created_at: ({ created_at: at }) => at,
	ended_at: ({ details }) => details.ended_at ?? '',
	status: ({ status }) => status,
	risk: ({ risk_level: risk }) => risk,
	agent: ({ principal }) => principal.agent,
	user: ({ principal }) => principal.user,
	tenant: ({ principal }) => principal.tenant,
	run: ({ run_id: run }) => run,
	tool: ({ tool_name: tool }) => tool,
	call: ({ args_preview: preview, resource }) => preview || resource,
	title: ruleTitle,
	rule: ({ rule }) => rule,
	reviewers: ({ decisions }) => decisions.map(byWhom).join(', '),
	note: ({ decisions }) => decisions.at(-1)?.note ?? '',
	outcome: notRun,
};

/** Requests as a table with a head. A cell that a spreadsheet would compute is a text. @param {Request[]} requests */
export function csvOf(requests) {
	const cell = (/** @type {string} */ text) => `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
	const lines = [Object.keys(COLUMNS), ...requests.map((request) => Object.values(COLUMNS).map((of) => of(request)))];
	return lines.map((line) => line.map(cell).join(',') + '\r\n').join('');
}

/** Requests as the API has them, one on each line. @param {Request[]} requests */
export function linesOf(requests) {
	return requests.map((request) => `${write(request)}\n`).join('');
}
