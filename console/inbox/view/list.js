// The list of what waits. A row is made once for a turn and made anew when one
// of its requests changed; a thousand rows stay cheap.

import { decideSeveralOf } from '../decide.js';
import { ORDERS, riskRank, turnKey, turns } from '../order.js';
import { changed, pending, state } from '../store.js';
import { plain } from '../text/visible.js';
import { openBatch } from './batch.js';
import { button, countdown, el, elapsed, fill } from './dom.js';

/** @typedef {import('../types.js').Request} Request */
/** @typedef {import('../order.js').Turn} Turn */
/** @typedef {{row: HTMLElement, requests: Request[]}} Row */

/** @type {Map<string, Row>} */
const rows = new Map();
/** @type {string[]} */
let walk = [];

const count = el('span', { class: 'count' });
const body = el('ol', { class: 'rows', id: 'rows' });
const bar = el('div', { class: 'checkbar', role: 'group', 'aria-label': 'Decide several' });

/** The ids of what waits, as the list has them from top to bottom. */
export function inOrder() {
	return walk;
}

/** Builds the list within its section. @param {HTMLElement} section */
export function buildList(section) {
	const order = /** @type {HTMLSelectElement} */ (el('select', { 'aria-label': 'Order of the list', id: 'order', on: {
		change: () => {
			state.order = /** @type {keyof typeof ORDERS} */ (order.value);
			localStorage.setItem('order', state.order);
			changed();
		},
	} }, Object.entries(ORDERS).map(([value, label]) => el('option', { value }, label))));
	order.value = state.order;
	fill(section, el('header', {}, el('h1', {}, 'Waiting ', count), order), body, bar);
}

/** Draws what the store holds. */
export function drawList() {
	const ordered = turns(pending(), state.order);
	walk = ordered.flatMap((turn) => turn.requests.map((request) => request.id));
	count.textContent = state.loaded ? String(walk.length) : '';
	place(ordered);
	markSelected();
	drawEmpty(ordered.length);
	drawBar();
}

/** One row at most is marked as the one that is looked at. */
function markSelected() {
	const request = state.requests.get(state.selected);
	const row = request && rows.get(turnKey(request))?.row;
	for (const marked of body.querySelectorAll('.selected')) {
		if (marked === row) return;
		marked.classList.remove('selected');
		marked.querySelector('a')?.removeAttribute('aria-current');
	}
	row?.classList.add('selected');
	row?.querySelector('a')?.setAttribute('aria-current', 'true');
}

/** Puts the rows in order, and moves only those that stand elsewhere. @param {Turn[]} ordered */
function place(ordered) {
	const keep = new Set(ordered.map((turn) => turn.key));
	for (const [key, { row }] of rows) {
		if (keep.has(key)) continue;
		row.remove();
		rows.delete(key);
	}
	const made = ordered.map(rowOf); // before the walk: one may be put in the place of another
	let next = body.firstElementChild;
	for (const { row } of made) {
		if (row === next) next = next.nextElementSibling;
		else body.insertBefore(row, next);
	}
}

/** @param {Turn} turn @returns {Row} */
function rowOf(turn) {
	const known = rows.get(turn.key);
	if (known && known.requests.length === turn.requests.length && known.requests.every((request, i) => request === turn.requests[i])) return known;
	const made = { row: drawRow(turn), requests: turn.requests };
	known?.row.replaceWith(made.row);
	rows.set(turn.key, made);
	return made;
}

/** @param {Turn} turn */
function drawRow({ requests }) {
	const [first] = requests;
	const worst = requests.reduce((a, b) => (riskRank(b.risk_level) > riskRank(a.risk_level) ? b : a));
	const who = [first.principal.agent, first.principal.user].filter(Boolean).join(' · ') || 'an agent';
	const warned = requests.some((request) => (request.details.flags ?? []).length > 0);
	const title = requests.length === 1 ? plain(first.tool_name) || 'unnamed' : `${requests.length} calls`;
	return el('li', { class: `row risk-${worst.risk_level}`, data: { id: first.id } },
		el('label', { class: 'tick' }, el('input', { type: 'checkbox', 'aria-label': `Select ${title}`, checked: requests.every((request) => state.checked.has(request.id)), on: {
			change: (/** @type {Event} */ event) => check(requests, /** @type {HTMLInputElement} */ (event.target).checked),
		} })),
		el('a', { href: `#/requests/${first.id}` },
			el('span', { class: 'line' }, el('span', { class: 'tool' }, title), countdown(first.expires_at)),
			previews(requests),
			el('span', { class: 'meta' },
				el('span', { class: 'level' }, worst.risk_level), warned && el('span', { class: 'warned' }, '! warning'),
				el('span', { class: 'who' }, plain(who)), elapsed(first.created_at))));
}

/** @param {Request[]} requests */
function previews(requests) {
	if (requests.length === 1) return el('span', { class: 'preview' }, plain(requests[0].args_preview || requests[0].resource));
	const lines = requests.slice(0, 3).map((request) => el('span', { class: 'preview' }, plain(`${request.tool_name} ${request.args_preview || request.resource}`)));
	return requests.length > 3 ? [...lines, el('span', { class: 'preview muted' }, `and ${requests.length - 3} more`)] : lines;
}

/** @param {Request[]} requests @param {boolean} on */
function check(requests, on) {
	for (const request of requests) {
		if (on) state.checked.add(request.id);
		else state.checked.delete(request.id);
	}
	changed();
}

/** @param {number} waiting */
function drawEmpty(waiting) {
	const shown = body.querySelector('.empty');
	if (waiting > 0 || !state.loaded) return void shown?.remove();
	if (shown) return;
	body.append(el('li', { class: 'empty' }, el('h2', {}, 'Nothing waits'), el('p', {}, 'Calls that need an answer appear here as they come.')));
}

function drawBar() {
	const ids = walk.filter((id) => state.checked.has(id));
	bar.hidden = ids.length === 0;
	if (ids.length === 0) return bar.replaceChildren();
	const some = ids.flatMap((id) => state.requests.get(id) ?? []);
	fill(bar,
		el('strong', {}, `${ids.length} selected`),
		button('Approve…', () => openBatch('approve', some, decideSeveralOf), { class: 'good' }),
		button('Deny…', () => openBatch('deny', some, decideSeveralOf), { class: 'bad' }),
		ids.length < walk.length && button('Select all', () => { for (const id of walk) state.checked.add(id); tickAll(true); }, { class: 'quiet' }),
		button('Clear', () => { state.checked.clear(); tickAll(false); }, { class: 'quiet' }));
}

/** @param {boolean} on */
function tickAll(on) {
	for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (body.querySelectorAll('.tick input'))) box.checked = on;
	changed();
}
