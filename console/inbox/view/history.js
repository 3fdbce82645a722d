// Requests and their outcomes, newest first.

import { Failure, listRequests } from '../api.js';
import { exact } from '../clock.js';
import { TIMEOUT, byWhom } from '../decide.js';
import { notRun, ruleTitle } from '../present.js';
import { plain } from '../text/visible.js';
import { button, el, fill, hostile, riskBadge } from './dom.js';
import { plural } from './parts.js';

/** @typedef {import('../types.js').Request} Request */

const PAGE = 50; // matches that are shown at first
const STATUSES = { '': 'Any outcome', approved: 'Approved', denied: 'Denied', expired: 'Expired', cancelled: 'Cancelled', pending: 'Waiting' };
const RISKS = { '': 'Any risk', critical: 'Critical', high: 'High', medium: 'Medium', low: 'Low' };

/**
 * Draws the history. The filters are in the address, so that a reload and a link
 * keep them.
 * @param {HTMLElement} place
 * @param {URLSearchParams} query
 */
export function drawHistory(place, query) {
	const results = el('ol', { class: 'entries' });
	const foot = el('div', { class: 'foot', role: 'status' });
	const status = picker('Outcome', 'status', STATUSES, query);
	const risk = picker('Risk', 'risk', RISKS, query);
	const text = /** @type {HTMLInputElement} */ (el('input', { type: 'search', 'aria-label': 'Search', placeholder: 'Tool, argument, agent, reviewer, note, id', maxlength: 200, value: query.get('q') ?? '' }));
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
 * Reads on from a cursor until a page is full, or nothing is left. The server
 * looks through so many requests at a time, and may find none among them.
 * @param {URLSearchParams} query
 * @param {HTMLElement} results
 * @param {HTMLElement} foot
 * @param {string} cursor
 */
async function search(query, results, foot, cursor) {
	const filter = Object.fromEntries(['q', 'status', 'risk', 'run_id'].map((name) => [name, query.get(name) ?? '']));
	let found = 0;
	try {
		do {
			fill(foot, el('p', { class: 'muted' }, cursor ? 'Looking further back…' : 'Looking…'));
			const page = await listRequests({ ...filter, limit: String(PAGE - found), cursor });
			results.append(...page.items.map(drawEntry));
			found += page.items.length;
			cursor = page.next_cursor;
		} while (cursor && found < PAGE && results.isConnected);
	} catch (error) {
		return fill(foot, el('p', { class: 'error' }, hostile(error instanceof Failure ? error.message : 'The history could not be read.')));
	}
	const next = cursor;
	fill(foot,
		el('p', { class: 'muted' }, results.childElementCount === 0 ? 'No matches.' : plural(results.childElementCount, 'request')),
		next && button('Look further back', () => void search(query, results, foot, next)));
}

const ENDS = { approved: 'approved', denied: 'denied', answered: 'answered', expired: 'expired', cancelled: 'cancelled', pending: 'waiting' };

/** One request on one line or two. @param {Request} request */
export function drawEntry(request) {
	const decision = request.decisions.at(-1);
	const automatic = decision?.reviewer_id === TIMEOUT;
	const end = automatic ? 'ran automatically' : decision?.action === 'modify_args' ? 'changed' : ENDS[request.status];
	const who = [request.principal.agent, request.principal.user].filter(Boolean).join(' · ');
	return el('li', {}, el('a', { class: 'entry', href: `#/requests/${request.id}` },
		el('span', { class: 'what' }, el('code', {}, plain(request.tool_name)), ' ', el('span', { class: 'preview' }, plain([ruleTitle(request), request.args_preview || request.resource].filter(Boolean).join(' · ')))),
		el('span', { class: 'how' },
			el('strong', { class: `end ${request.status}` }, end), decision && !automatic && el('span', {}, ' by ', hostile(byWhom(decision))),
			notRun(request) && el('span', { class: 'note not-run' }, ' ', plain(notRun(request))),
			decision?.note && el('span', { class: 'note' }, ' “', plain(decision.note), '”')),
		el('span', { class: 'when' }, riskBadge(request.risk_level), el('span', {}, plain(who)), el('time', { datetime: request.created_at }, exact(request.created_at)))));
}
