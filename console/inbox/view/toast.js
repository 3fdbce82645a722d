// Short messages that disappear after some seconds and are read by screen readers.

import { button, byId, el } from './dom.js';

const LASTS = 5000;

/** Shows the outcome of an action. @param {string} text @param {boolean} [failed] */
export function toast(text, failed = false) {
	const message = put(el('p', { class: failed ? 'toast failed' : 'toast' }, text));
	setTimeout(() => message.remove(), failed ? 2 * LASTS : LASTS);
}

/** Shows what is about to happen, and a button to undo it, until it is removed. @param {string} text @param {() => void} undo @returns {HTMLElement} */
export function offerUndo(text, undo) {
	return put(el('p', { class: 'toast' }, text, button('Undo', undo, { key: 'Esc' })));
}

/** @param {HTMLElement} message */
function put(message) {
	const place = byId('toasts');
	while (place.childElementCount > 2) place.firstElementChild?.remove();
	place.append(message);
	return message;
}

/** Shows a text to screen readers only. @param {string} text */
export function announce(text) {
	byId('announce').textContent = text;
}
