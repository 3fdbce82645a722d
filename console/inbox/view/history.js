// Ended requests and their outcomes, newest first.

import { Failure, listRequests } from '../api.js';
import { exact } from '../clock.js';
import { TIMEOUT, byWhom } from '../decide.js';
import { csvOf, cursorOf, dayOf, linesOf, selects, wordsOf } from '../history.js';
import { notRun, ruleTitle } from '../present.js';
import { plain } from '../text/visible.js';
import { button, el, fill, hostile, riskBadge } from './dom.js';
import { plural } from './folds.js';

/** @typedef {import('../types.js').Request} Request */

const PAGE = 50; // matches that are shown at first
const AT_ONCE = 200; // requests of one page of an export
const STATUSES = { '': 'Any outcome', approved: 'Approved', denied: 'Denied', answered: 'Answered', expired: 'Expired', cancelled: 'Cancelled' };
/** The filters by a part of a text. */
const TEXTS = { agent: 'Agent', tool: 'Tool', rule: 'Rule', reviewer: 'Reviewer' };
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
	const day = /** @type {HTMLInputElement} */ (el('input', { type: 'date', value: query.get('day') ?? '' }));
	const texts = Object.entries(TEXTS).map(([name, label]) => [name, label, /** @type {HTMLInputElement} */ (el('input', { type: 'text', maxlength: 100, value: query.get(name) ?? '', autocomplete: 'off', spellcheck: 'false' }))]);
	const apply = (/** @type {Event} */ event) => {
		event.preventDefault();
		const entered = texts.map(([name, , input]) => [name, input.value.trim()]);
		const wanted = { q: text.value.trim(), status: status.value, risk: risk.value, day: day.value, run_id: run ?? '', ...Object.fromEntries(entered) };
		location.hash = `#/history?${new URLSearchParams(Object.entries(wanted).filter(([, value]) => value))}`;
	};
	const run = query.get('run_id');
	const more = el('details', { open: ['day', ...Object.keys(TEXTS)].some((name) => query.get(name)) }, el('summary', {}, 'More filters'),
		el('div', { class: 'filters' }, texts.map(([, label, input]) => el('label', {}, label, input)), el('label', {}, 'Day', day)));
	fill(place, el('div', { class: 'column' },
		el('h1', {}, 'History'),
		el('form', { class: 'filters', role: 'search', on: { submit: apply, change: apply } }, text, status, risk, el('button', { type: 'submit' }, 'Search'), more),
		run && el('p', {}, 'Of the run ', el('code', {}, hostile(run)), ' only. ', el('a', { href: '#/history' }, 'Of all runs')),
		results, foot, drawExport(query)));
	void search(query, results, foot, cursorOf(dayOf(query).to));
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
	let found = 0;
	try {
		do {
			fill(foot, el('p', { class: 'muted' }, results.childElementCount > 0 ? 'Looking further back…' : 'Looking…'));
			const page = await readPage(query, PAGE - found, cursor);
			results.append(...page.items.map(drawEntry));
			found += page.items.length;
			cursor = page.next;
		} while (cursor && found < PAGE && results.isConnected);
	} catch (error) {
		return fill(foot, el('p', { class: 'error' }, hostile(error instanceof Failure ? error.message : 'The history could not be read.')));
	}
	const next = cursor;
	fill(foot,
		el('p', { class: 'muted' }, results.childElementCount === 0 ? 'No matches.' : plural(results.childElementCount, 'request')),
		next && button('Look further back', () => void search(query, results, foot, next)));
}

/**
 * Reads ended requests from a cursor on. next is '' where none is left.
 * @param {URLSearchParams} query
 * @param {number} limit
 * @param {string} cursor
 */
async function readPage(query, limit, cursor) {
	const filter = Object.fromEntries(['status', 'risk', 'run_id'].map((name) => [name, query.get(name) ?? '']));
	const page = await listRequests({ ...filter, q: wordsOf(query), limit: String(limit), cursor });
	const last = page.items.at(-1);
	const over = last && Date.parse(last.created_at) < dayOf(query).from;
	return { items: page.items.filter((request) => selects(request, query)), next: over ? '' : page.next_cursor };
}

const EXPORTED = 10_000; // requests at most

/** The buttons that save what the filters find. @param {URLSearchParams} query */
function drawExport(query) {
	const note = el('span', { class: 'muted', role: 'status' });
	let busy = false;
	const save = async (/** @type {string} */ name, /** @type {string} */ type, /** @type {(requests: Request[]) => string} */ write) => {
		if (busy) return;
		busy = true;
		try {
			const requests = await readAll(query, (n) => fill(note, `${plural(n, 'request')}…`));
			download(name, new Blob([write(requests)], { type }));
			fill(note, `${plural(requests.length, 'request')} saved${requests.length < EXPORTED ? '.' : ': there may be older ones.'}`);
		} catch (error) {
			fill(note, hostile(error instanceof Failure ? error.message : 'The history could not be read.'));
		}
		busy = false;
	};
	return el('div', { class: 'foot' }, 'Export: ', button('CSV', () => void save('heldcall.csv', 'text/csv', csvOf)), button('JSON lines', () => void save('heldcall.jsonl', 'application/jsonl', linesOf)), note);
}

/** Reads all that the filters find. @param {URLSearchParams} query @param {(n: number) => void} tell called with how many were found */
async function readAll(query, tell) {
	/** @type {Request[]} */
	const all = [];
	let cursor = cursorOf(dayOf(query).to);
	do {
		const page = await readPage(query, AT_ONCE, cursor);
		all.push(...page.items);
		cursor = page.next;
		tell(all.length);
	} while (cursor && all.length < EXPORTED);
	return all.slice(0, EXPORTED);
}

/** Has the browser save a file. @param {string} name @param {Blob} content */
function download(name, content) {
	const link = /** @type {HTMLAnchorElement} */ (el('a', { download: name }));
	link.href = URL.createObjectURL(content);
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
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
