// The list of pending requests: its head, its rows, and the bar to decide several.

import { now } from '../clock.js';
import { decideSeveralOf } from '../decide.js';
import { ORDERS, bundles, matches, nextPin, runKey } from '../order.js';
import { asks, counts, hindrance, spent } from '../session.js';
import { changed, pending, state } from '../store.js';
import { plain } from '../text/visible.js';
import { openBatch } from './batch.js';
import { button, byId, el, fill, isNarrow } from './dom.js';
import { Rows } from './rows.js';
import { buildShelf } from './shelf.js';
import { listenToSwipes } from './swipe.js';
import { toast } from './toast.js';
import { Views } from './views.js';
import { buildWindows } from './windows.js';

/** @typedef {import('../types.js').Request} Request */

/** @type {string[]} */
let walk = [];
/** The list when the selected request was last in it, and that request. */
let seen = { id: '', ids: walk };
let whole = false; // the whole list was drawn
let barred = ''; // what the bar shows, as JSON
let pinning = 0; // the timer of the next request that ends soon

const count = el('span', { class: 'count' });
const rows = new Rows(check);
const views = new Views(() => {});
const bar = el('div', { class: 'checkbar', role: 'group', 'aria-label': 'Decide several' });

/** The ids of the pending requests, in the order of the list. */
export function inOrder() {
	return walk;
}

/** The run of a request that is known. @param {string} id */
function runOf(id) {
	const request = state.requests.get(id);
	return request && runKey(request);
}

/**
 * Where the reader is in the list: at the selected request. If that does not wait any more, another one of its run, else the
 * next one below it, else the next one above it; '' in an empty list.
 */
export function placeInList() {
	const { id, ids } = seen;
	const at = Math.max(ids.indexOf(id), 0);
	const listed = new Set(walk);
	const waiting = [...ids.slice(at), ...ids.slice(0, at).reverse(), ...walk].filter((other) => listed.has(other) && !state.leaving.has(other) && state.requests.get(other)?.status === 'pending');
	return waiting.find((other) => runOf(other) === runOf(id)) ?? waiting[0] ?? '';
}

/**
 * Builds the list within its section.
 * @param {HTMLElement} section
 * @param {(id: string) => void} go looks at a request
 */
export function buildList(section, go) {
	const order = /** @type {HTMLSelectElement} */ (el('select', { 'aria-label': 'Order of the list', id: 'order', on: {
		change: () => {
			state.order = /** @type {keyof typeof ORDERS} */ (order.value);
			localStorage.setItem('order', state.order);
			changed();
		},
	} }, Object.entries(ORDERS).map(([value, label]) => el('option', { value }, label))));
	order.value = state.order;
	const filter = /** @type {HTMLInputElement} */ (el('input', { type: 'search', id: 'filter', placeholder: 'Filter ( / )', 'aria-label': 'Filter the list', title: 'By tool, arguments, agent, user, risk or id', 'aria-keyshortcuts': '/', autocomplete: 'off', spellcheck: 'false', on: {
		input: () => apply(),
		keydown: (/** @type {KeyboardEvent} */ event) => press(event),
	} }));
	const apply = (/** @type {boolean} */ questions = state.questions) => {
		state.filter = filter.value.trim();
		state.questions = questions;
		drawList();
		if (!isNarrow() && walk.length > 0 && !walk.includes(state.selected)) go(walk[0]);
		changed(0);
	};
	const press = (/** @type {KeyboardEvent} */ event) => {
		if (event.isComposing || event.key !== 'Escape' && event.key !== 'Enter') return;
		event.stopPropagation(); // it is about the filter, and not about the call
		if (event.key === 'Enter' && walk.length === 0) return;
		if (event.key === 'Enter') go(walk[0]);
		else filter.value = '';
		filter.blur();
		if (event.key === 'Escape') apply();
		byId('main').focus({ preventScroll: true });
	};
	views.choose = (view) => {
		filter.value = view.filter;
		apply(view.questions);
	};
	listenToSwipes(rows.element, (row, action) => swiped(rows.requestsOf(row), action));
	fill(section, el('header', {}, el('h1', {}, 'Waiting ', count), order, filter, views.element), buildWindows(), rows.element, bar, buildShelf());
}

/** Whether the person at the page can decide a request, or answer it. @param {Request} request */
function isMine(request) {
	return asks(request) ? !hindrance(request, state.me) : counts('approve', request, state.me);
}

/** Draws what the store holds. */
export function drawList() {
	const waiting = pending().filter(({ id }) => !state.leaving.has(id));
	const filtered = state.filter !== '' || state.questions;
	const shown = filtered ? waiting.filter((request) => (!state.questions || asks(request)) && matches(request, state.filter)) : waiting;
	const at = now();
	const ordered = bundles(shown, state.order, { at, mine: isMine });
	walk = ordered.flatMap((bundle) => bundle.requests.map((request) => request.id));
	if (walk.includes(state.selected)) seen = { id: state.selected, ids: walk };
	count.textContent = !state.loaded ? '' : filtered ? `${walk.length} of ${waiting.length}` : String(walk.length);
	rows.place(ordered);
	rows.showEmpty(state.loaded && ordered.length === 0, waiting.length > 0);
	awaitPin(nextPin(ordered, at) - at);
	rows.select(state.requests.get(state.selected), state.loaded && !whole);
	whole = state.loaded;
	views.draw(waiting.filter(asks).length);
	drawBar();
}

/**
 * Asks for the confirmation of a swipe. Critical calls and questions are decided on their card.
 * @param {Request[]} requests of the row
 * @param {'approve'|'deny'} action
 */
function swiped(requests, action) {
	const [first] = requests;
	if (!first) return;
	if (requests.some(({ risk_level: risk }) => risk === 'critical')) return toast('A critical call is decided on its card. Open it.');
	if (action === 'approve' && requests.every(asks)) return toast('A question is answered on its card. Open it.');
	if (!requests.some((request) => counts(action, request, state.me))) return toast(plain(hindrance(first, state.me) || spent(first, state.me)));
	openBatch(action, requests, decideSeveralOf);
}

/** Draws the list again when the next request is about to end. @param {number} wait milliseconds */
function awaitPin(wait) {
	clearTimeout(pinning);
	if (wait < 86_400_000) pinning = setTimeout(() => changed(), Math.max(wait, 0) + 50);
}

/** @param {Request[]} requests @param {boolean} on */
function check(requests, on) {
	for (const request of requests) {
		if (on) state.checked.add(request.id);
		else state.checked.delete(request.id);
	}
	changed();
}

/** The bar is drawn when its words change: a press takes longer than others need to come. */
function drawBar() {
	const ticked = walk.filter((id) => state.checked.has(id)).length;
	const all = ticked === walk.length;
	const may = { approve: ticks().some((request) => counts('approve', request, state.me)), deny: ticks().some((request) => counts('deny', request, state.me)) };
	bar.hidden = ticked === 0;
	const now = JSON.stringify({ ticked, all, may });
	if (barred === now) return;
	barred = now;
	const none = state.me?.role === 'viewer' ? 'You have view-only access.' : 'None of these requests can be decided by you.';
	const props = (/** @type {boolean} */ able) => (able ? {} : { disabled: true, title: none });
	fill(bar,
		el('strong', {}, `${ticked} selected`),
		button('Approve…', () => openBatch('approve', ticks(), decideSeveralOf), { class: 'good', ...props(may.approve) }),
		button('Deny…', () => openBatch('deny', ticks(), decideSeveralOf), { class: 'bad', ...props(may.deny) }),
		!all && button('Select all', () => { for (const id of walk) state.checked.add(id); tickAll(true); }, { class: 'quiet' }),
		button('Clear', () => { state.checked.clear(); tickAll(false); }, { class: 'quiet' }));
}

/** The requests that are ticked, as the list has them. */
function ticks() {
	return walk.filter((id) => state.checked.has(id)).flatMap((id) => state.requests.get(id) ?? []);
}

/** @param {boolean} on */
function tickAll(on) {
	rows.tickAll(on);
	changed();
}
