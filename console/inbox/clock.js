// Times in words, by the server's clock.

import { clock } from './api.js';

/** Now, by the server's clock. */
export function now() {
	return Date.now() + clock.ahead;
}

/** How much time is left, as 4:05 or 2 h 10 min. @param {number} milliseconds */
export function left(milliseconds) {
	const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
	if (seconds >= 86_400) return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
	if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
	return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** How long ago something was. @param {number} milliseconds */
export function ago(milliseconds) {
	const seconds = Math.max(0, Math.floor(milliseconds / 1000));
	if (seconds < 5) return 'just now';
	if (seconds < 60) return `${seconds} s ago`;
	if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
	if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
	return `${Math.floor(seconds / 86_400)} d ago`;
}

/** A date and time of day, in the reader's own zone. @param {string} time */
export function exact(time) {
	return new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

/** Under this much time a request is about to end. */
const SOON = 60_000;

/**
 * Brings the times that can be seen up to date: elements with data-until count
 * down, those with data-since count up. Blocks of rows that are out of sight are
 * not laid out, and need no time.
 */
export function tick() {
	const at = now();
	for (const part of document.querySelectorAll('.chunk, main, dialog')) {
		const within = part.firstElementChild;
		if (!within || within.checkVisibility?.({ contentVisibilityAuto: true }) === false) continue;
		for (const element of /** @type {NodeListOf<HTMLElement>} */ (part.querySelectorAll('[data-until], [data-since]'))) bring(element, at);
	}
}

/** @param {HTMLElement} element @param {number} at */
function bring(element, at) {
	if (element.dataset.since) return write(element, ago(at - Number(element.dataset.since)));
	const rest = Number(element.dataset.until) - at;
	write(element, left(rest));
	element.classList.toggle('soon', rest < SOON);
}

/** @param {HTMLElement} element @param {string} text */
function write(element, text) {
	if (element.textContent !== text) element.textContent = text;
}
