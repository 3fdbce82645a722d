// What precedes a decision: a confirmation where a rule asks for it, and some seconds until
// which it can be undone, for approvals of critical calls and, where the person at the page
// wants it, for all decisions. A page that is left meanwhile sends nothing.

import { now } from './clock.js';

/** @typedef {import('./types.js').Request} Request */
/** @typedef {import('./api.js').Choice} Choice */

export const UNDO = 5_000; // milliseconds

/**
 * A decision that is about to be sent.
 * @typedef {Object} Delay
 * @property {number} until when it is sent, by the server's clock
 * @property {() => void} undo
 * @property {Promise<boolean>} sends false: it was undone
 */

const APPROVALS = new Set(['approve', 'modify_args', 'allow_always']);

/** Whether a decision waits in its place for some seconds, until which it can be undone. @param {Request[]} requests @param {Choice} choice */
export function isDelayed(requests, choice) {
	return APPROVALS.has(choice.action) && requests.some((request) => request.risk_level === 'critical');
}

const ALL = 'undo_all';

/** Whether every decision can be undone for some seconds. */
export const undoesAll = () => localStorage.getItem(ALL) === 'on';

/** @param {boolean} on */
export function setUndoesAll(on) {
	if (on) localStorage.setItem(ALL, 'on');
	else localStorage.removeItem(ALL);
}

/** Whether an approval lacks the text that the request asks to type. @param {Request} request @param {Choice} choice */
export function isUntyped(request, choice) {
	return Boolean(request.details.confirm) && APPROVALS.has(choice.action) && choice.confirm === undefined;
}

/** Whether an approval lacks the passkey that the request asks for. @param {Request} request @param {Choice} choice */
export function isUnsigned(request, choice) {
	return Boolean(request.details.passkey) && APPROVALS.has(choice.action) && choice.assertion === undefined;
}

/** Whether an approval lacks either, so that it is decided alone. @param {Request} request @param {Choice} choice */
export function isUnconfirmed(request, choice) {
	return isUntyped(request, choice) || isUnsigned(request, choice);
}

/** Waits before a decision is sent. @returns {Delay} */
export function delay() {
	let settle = (/** @type {boolean} */ _sends) => {};
	const sends = /** @type {Promise<boolean>} */ (new Promise((resolve) => { settle = resolve; }));
	const timer = setTimeout(() => settle(true), UNDO);
	const undo = () => {
		clearTimeout(timer);
		settle(false);
	};
	window.addEventListener('pagehide', undo, { once: true }); // else a page that the browser restores would send it
	return { until: now() + UNDO, undo, sends };
}
