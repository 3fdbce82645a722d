// What was just decided on this page, the latest first: how, or what undoes it while it is not sent.

import { setUndoesAll, undoesAll } from '../undo.js';
import { button, el, elapsed, fill } from './dom.js';

const MOST = 5;

/**
 * A decision on the shelf.
 * @typedef {Object} Shelved
 * @property {string} id of the request
 * @property {string} how in a word, such as approved
 * @property {string} what the call, in a few words
 * @property {string} [at] when it was decided
 * @property {() => void} [undo] none: it was sent
 */

/** @type {Shelved[]} */
let shelved = [];
/** @type {HTMLElement} */
let entries;
/** @type {HTMLElement} */
let title;
/** @type {HTMLDetailsElement} */
let shelf;

/** Builds the shelf, with the setting whether everything can be undone. */
export function buildShelf() {
	const all = /** @type {HTMLInputElement} */ (el('input', { type: 'checkbox', checked: undoesAll(), on: { change: () => setUndoesAll(all.checked) } }));
	[entries, title] = [el('ul', {}), el('summary', {})];
	shelf = /** @type {HTMLDetailsElement} */ (el('details', { class: 'shelf', on: { toggle: draw } }, title, entries, el('label', {}, all, 'Send each decision after five seconds, with Undo')));
	draw();
	return shelf;
}

/** Puts a decision on the shelf, in the place of an earlier one on the same request. @param {Shelved} decision */
export function shelve(decision) {
	shelved = [decision, ...shelved.filter(({ id }) => id !== decision.id)].slice(0, MOST);
	draw();
}

/** Takes a decision off that was not sent. @param {string} id */
export function unshelve(id) {
	shelved = shelved.filter((decision) => decision.id !== id);
	draw();
}

function draw() {
	fill(title, shelved.length > 0 ? `Just decided (${shelved.length})` : 'Just decided');
	fill(entries, ...(shelf.open ? shelved : []).map(({ id, how, what, at, undo }) => el('li', {},
		el('a', { href: `#/requests/${id}` }, el('strong', {}, how), ' ', what),
		undo ? button('Undo', undo, { class: 'undo', 'aria-label': `Undo: ${what}` }) : at && elapsed(at))));
}
