// The keyboard: one letter for each thing that is done often.

import { alone, hindrance, spent } from './session.js';
import { state } from './store.js';
import { inOrder, placeInList } from './view/list.js';
import { currentCard, isTooSoon } from './view/detail.js';
import { button, el } from './view/dom.js';
import { announce } from './view/toast.js';

const KEYS = /** @type {[string[], string][]} */ ([
	[['j', '↓'], 'Next request'],
	[['k', '↑'], 'Previous request'],
	[['Backspace'], 'Back to the request before'],
	[['a'], 'Approve; collapsed sections are expanded first'],
	[['d'], 'Deny, with a note to the model'],
	[['e'], 'Edit the arguments'],
	[['r'], 'Remember: allow or deny such calls from now on'],
	[['/'], 'Filter the list; Enter opens its first, Esc shows all'],
	[['Enter'], 'Send the note; Shift+Enter breaks the line'],
	[['Esc'], 'Leave the note or the editor; undo a decision that is not sent yet'],
	[['?'], 'This list'],
]);

/**
 * Listens to the keyboard.
 * @param {(id: string) => void} go looks at a request
 * @param {() => boolean} back looks at the request before
 */
export function listen(go, back) {
	document.addEventListener('keydown', (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
		const writing = event.target instanceof Element && event.target.closest('input:not([type="checkbox"]), textarea, select');
		if (event.key === 'Escape') return leave();
		if (writing || event.repeat && event.key !== 'j' && event.key !== 'k') return;
		if (press(event.key, go, back)) event.preventDefault();
	});
}

/** @param {string} key @param {(id: string) => void} go @param {() => boolean} back */
function press(key, go, back) {
	if (key === 'j' || key === 'ArrowDown' && onRow()) return step(1, go);
	if (key === 'k' || key === 'ArrowUp' && onRow()) return step(-1, go);
	if (key === '/') return focusFilter();
	if (key === '?') return openHelp();
	if (key === 'Backspace') return back();
	return 'ader'.includes(key) && actOn(key);
}

/** What a key does with the selected call. @param {string} key */
function actOn(key) {
	const card = currentCard();
	if (!card || card.busy || card.delay || card.mode !== 'read' || card.request.status !== 'pending' || hindrance(card.request, state.me)) return false;
	if (isTooSoon()) return true;
	if (key === 'd') return card.enter('deny'), true;
	if (card.request.details.questions) return key === 'a' && focusAnswer(card);
	if (spent(card.request, state.me) || card.request.details.abridged) return false;
	if (key === 'a') return approve(card);
	if (key === 'r' && card.request.allow_remember && alone(card.request, state.me)) return card.enter('remember'), true;
	if (key === 'e' && !card.request.details.fixed && alone(card.request, state.me)) return card.enter('edit'), true;
	return false;
}

function focusFilter() {
	const filter = document.getElementById('filter');
	if (!filter?.checkVisibility()) return false;
	filter.focus();
	return true;
}

function onRow() {
	return document.activeElement?.closest('.row') !== null || document.activeElement === document.body;
}

/** @param {import('./view/call.js').Card} card */
function approve(card) {
	if (card.folds.closed.size > 0) {
		card.folds.openAll();
		card.element.focus();
		announce('What was folded is shown now. Press a again to approve.');
	} else {
		card.decide(card, { action: 'approve' });
	}
	return true;
}

/** @param {import('./view/call.js').Card} card */
function focusAnswer(card) {
	/** @type {HTMLElement|null} */ (card.element.querySelector('form input, form textarea'))?.focus();
	return true;
}

/** @param {number} by @param {(id: string) => void} go */
function step(by, go) {
	const ids = inOrder();
	if (ids.length === 0) return false;
	const selected = ids.indexOf(state.selected);
	const at = selected >= 0 ? selected + by : ids.indexOf(placeInList()) + Math.min(by, 0);
	go(ids[Math.min(Math.max(at, 0), ids.length - 1)]);
	requestAnimationFrame(() => setTimeout(() => currentCard()?.element.scrollIntoView({ block: 'nearest' }), 20));
	return true;
}

function leave() {
	const card = currentCard();
	if (card?.delay) card.delay.undo();
	else if (card && card.mode !== 'read' && !card.busy) card.enter('read');
	else if (state.leaving.size > 0) [...state.leaving.values()].at(-1)?.undo();
	else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}

/** Opens the list of keys. */
export function openHelp() {
	const dialog = /** @type {HTMLDialogElement} */ (el('dialog', { 'aria-labelledby': 'help-title', on: { close: () => dialog.remove() } },
		el('div', {},
			el('header', {}, el('h2', { id: 'help-title' }, 'Keyboard'), button('Close', () => dialog.close(), { class: 'quiet' })),
			el('div', { class: 'scroll', tabindex: '0' }, el('dl', { class: 'keys' }, KEYS.flatMap(([keys, does]) => [
				el('dt', {}, keys.map((key) => el('kbd', {}, key))), el('dd', {}, does),
			]))))));
	document.body.append(dialog);
	dialog.showModal();
	return true;
}
