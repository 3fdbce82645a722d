// What was asked and how it ended, newest first.

import { Failure, listRequests } from '../api.js';
import { exact } from '../clock.js';
import { plain } from '../text/visible.js';
import { button, el, fill, hostile, riskBadge } from './dom.js';
import { plural } from './parts.js';

/** @typedef {import('../types.js').Request} Request */

const PAGE = 200; // requests that are read at once
const ENOUGH = 50; // found ones that are shown before somebody asks for more
const STATUSES = { '': 'Any outcome', approved: 'Approved', denied: 'Denied', expired: 'Nobody answered', cancelled: 'Cancelled', pending: 'Waiting' };
const RISKS = { '': 'Any risk', critical: 'Critical', high: 'High', medium: 'Medium', low: 'Low' };

/**
 * Draws the history. The filters stand in the address, so that a reload and a
 * link keep them.
 * @param {HTMLElement} place
 * @param {URLSearchParams} query
 */
export function drawHistory(place, query) {
	const results = el('ol', { class: 'entries' });
	const foot = el('div', { class: 'foot', role: 'status' });
	const status = picker('Outcome', 'status', STATUSES, query);
	const risk = picker('Risk', 'risk', RISKS, query);
	const text = /** @type {HTMLInputElement} */ (el('input', { type: 'search', 'aria-label': 'Search', placeholder: 'Tool, argument, agent, reviewer, id', value: query.get('q') ?? '' }));
	const apply = (/** @type {Event} */ event) => {
		event.preventDefault();
		const next = new URLSearchParams(Object.entries({ q: text.value.trim(), status: status.value, risk: risk.value }).filter(([, value]) => value));
		const run = query.get('run_id');
		if (run) next.set('run_id', run);
		location.hash = `#/history?${next}`;
	};
	const run = query.get('run_id');
	fill(place, el('div', { class: 'column' },
		el('h1', {}, 'History'),
		el('form', { class: 'filters', role: 'search', on: { submit: apply, change: apply } }, text, status, risk, el('button', { type: 'submit' }, 'Search')),
		run && el('p', {}, 'Of the run ', el('code', {}, hostile(run)), ' only. ', el('a', { href: '#/history' }, 'Of all runs')),
		results, foot));
	void search(query, results, foot, '');
}

/** @param {string} label @param {string} name @param {Record<string, string>} options @param {URLSearchParams} query */
function picker(label, name, options, query) {
	const select = /** @type {HTMLSelectElement} */ (el('select', { 'aria-label': label }, Object.entries(options).map(([value, text]) => el('option', { value }, text))));
	select.value = query.get(name) ?? '';
	return select;
}

/**
 * Reads on from a cursor until enough is found, or nothing is left.
 * @param {URLSearchParams} query
 * @param {HTMLElement} results
 * @param {HTMLElement} foot
 * @param {string} cursor
 */
async function search(query, results, foot, cursor) {
	const words = (query.get('q') ?? '').toLowerCase().split(/\s+/).filter(Boolean);
	let found = 0;
	let read = 0;
	try {
		do {
			fill(foot, el('p', { class: 'muted' }, read ? `Looked through ${plural(read, 'request')}…` : 'Looking…'));
			const page = await listRequests({ status: query.get('status') ?? '', risk: query.get('risk') ?? '', run_id: query.get('run_id') ?? '', limit: String(PAGE), cursor });
			const fitting = page.items.filter((request) => matches(request, words));
			results.append(...fitting.map(drawEntry));
			found += fitting.length;
			read += page.items.length;
			cursor = page.next_cursor;
		} while (cursor && found < ENOUGH && results.isConnected);
	} catch (error) {
		return fill(foot, el('p', { class: 'error' }, hostile(error instanceof Failure ? error.message : 'The history could not be read.')));
	}
	const next = cursor;
	fill(foot,
		el('p', { class: 'muted' }, results.childElementCount === 0 ? 'No request fits.' : plural(results.childElementCount, 'request')),
		next && button('Look further back', () => void search(query, results, foot, next)));
}

/** Reports whether every word stands somewhere in the request. @param {Request} request @param {string[]} words */
export function matches(request, words) {
	if (words.length === 0) return true;
	const { principal, context } = request;
	const text = [
		request.tool_name, request.args_preview, request.resource, JSON.stringify(request.arguments), request.id, request.run_id, request.session_id, request.model, request.rule,
		principal.agent, principal.user, principal.tenant, context.last_user_message, ...request.decisions.flatMap((decision) => [decision.reviewer_id, decision.note]),
	].join('\n').toLowerCase();
	return words.every((word) => text.includes(word));
}

const ENDS = { approved: 'approved', denied: 'denied', answered: 'answered', expired: 'nobody answered', cancelled: 'cancelled', pending: 'waiting' };

/** One request on one line or two. @param {Request} request */
export function drawEntry(request) {
	const decision = request.decisions.at(-1);
	const end = decision?.modified_args !== undefined ? 'changed' : ENDS[request.status];
	const who = [request.principal.agent, request.principal.user].filter(Boolean).join(' · ');
	return el('li', {}, el('a', { class: 'entry', href: `#/requests/${request.id}` },
		el('span', { class: 'what' }, el('code', {}, plain(request.tool_name)), ' ', el('span', { class: 'preview' }, plain(request.args_preview || request.resource))),
		el('span', { class: 'how' },
			el('strong', { class: `end ${request.status}` }, end), decision && el('span', {}, ' by ', hostile(decision.reviewer_id)),
			decision?.note && el('span', { class: 'note' }, ' “', plain(decision.note), '”')),
		el('span', { class: 'when' }, riskBadge(request.risk_level), el('span', {}, plain(who)), el('time', { datetime: request.created_at }, exact(request.created_at)))));
}
