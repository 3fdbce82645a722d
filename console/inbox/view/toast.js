// Short messages that disappear after some seconds and are read by screen readers.

import { byId, el } from './dom.js';

const LASTS = 5000;

/** Shows the outcome of an action. @param {string} text @param {boolean} [failed] */
export function toast(text, failed = false) {
	const message = el('p', { class: failed ? 'toast failed' : 'toast' }, text);
	const place = byId('toasts');
	while (place.childElementCount > 2) place.firstElementChild?.remove();
	place.append(message);
	setTimeout(() => message.remove(), failed ? 2 * LASTS : LASTS);
}

/** Shows a text to screen readers only. @param {string} text */
export function announce(text) {
	byId('announce').textContent = text;
}
