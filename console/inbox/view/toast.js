// Short messages that go by themselves, spoken by screen readers.

import { byId, el } from './dom.js';

const LASTS = 5000;

/** Says how something went. @param {string} text @param {boolean} [failed] */
export function toast(text, failed = false) {
	const message = el('p', { class: failed ? 'toast failed' : 'toast' }, text);
	const place = byId('toasts');
	while (place.childElementCount > 2) place.firstElementChild?.remove();
	place.append(message);
	setTimeout(() => message.remove(), failed ? 2 * LASTS : LASTS);
}

/** Says something to screen readers only. @param {string} text */
export function announce(text) {
	byId('announce').textContent = text;
}
