// The only state that the pages share. Code that changes it calls changed(), which
// notifies the listeners once for many changes.

import { write } from './text/json.js';

/** @typedef {import('./types.js').Request} Request */
/** @typedef {import('./order.js').Order} Order */

/**
 * @typedef {Object} State
 * @property {Map<string, Request>} requests pending ones, and those that ended while they were looked at
 * @property {boolean} loaded the list was read once
 * @property {'connecting'|'live'|'lost'} connection
 * @property {number} heard when something last came from the server, in this clock's milliseconds
 * @property {string} selected the id of the request that is looked at, or ''
 * @property {Map<string, import('./undo.js').Delay>} leaving decisions that are about to be sent, by the ids of requests that are not in the list meanwhile
 * @property {Set<string>} checked ids that were ticked in the list
 * @property {Order} order
 * @property {string} filter of the list; '' shows all
 * @property {boolean} questions whether the list shows questions only
 * @property {import('./types.js').Me|null} me who is at the page; null while that is not known
 */

/** @type {State} */
export const state = {
	requests: new Map(),
	loaded: false,
	connection: 'connecting',
	heard: Date.now(),
	selected: '',
	leaving: new Map(),
	checked: new Set(),
	order: 'risk',
	filter: '',
	questions: false,
	me: null,
};

/** @type {Set<() => void>} */
const listeners = new Set();
let timer = 0;
let due = 0;

const LEAST = 8; // milliseconds between two drawings
const MOST = 100;
const SHARE = 4; // so many times as long as a drawing took, layout included, the page is left to the person at it
let rest = LEAST;

/** Calls a function after every change. @param {() => void} listener */
export function subscribe(listener) {
	listeners.add(listener);
}

/**
 * Notifies the listeners soon of a change. Where drawing takes long, changes are
 * collected, except those that the person at the page made.
 * @param {number} [wait] milliseconds
 */
export function changed(wait = rest) {
	const at = performance.now() + wait;
	if (timer && due <= at) return;
	clearTimeout(timer);
	due = at;
	timer = setTimeout(tell, wait);
}

function tell() {
	timer = 0;
	const began = performance.now();
	for (const listener of listeners) listener();
	settle(performance.now() - began);
}

/**
 * Sets the time until the next drawing by how long this one takes; what the
 * browser does after the script is a part of it, where it does it at all.
 * @param {number} script milliseconds
 */
function settle(script) {
	const set = (/** @type {number} */ took) => { rest = Math.min(Math.max(took * SHARE, LEAST), MOST); };
	set(script);
	if (document.hidden) return;
	requestAnimationFrame(() => {
		const frame = performance.now();
		setTimeout(() => set(script + performance.now() - frame));
	});
}

/** The pending requests. @returns {Request[]} */
export function pending() {
	return [...state.requests.values()].filter((request) => request.status === 'pending');
}

/**
 * Stores requests in their present state. A request that has ended is kept only
 * while its turn is shown.
 * @param {Request[]} requests
 */
export function put(requests) {
	const shown = state.requests.get(state.selected);
	for (const given of requests) {
		const known = state.requests.get(given.id);
		const request = known ? restored(given, known) : given;
		if (known && (write(known) === write(request) || (known.status !== 'pending' && request.status === 'pending'))) continue; // no news, or older
		if (request.status !== 'pending') state.checked.delete(request.id);
		const looked = request.id === state.selected || (shown && shown.turn_id !== '' && shown.turn_id === request.turn_id);
		if (request.status === 'pending' || known || looked) state.requests.set(request.id, request);
		if (request.status !== 'pending' && !looked) state.requests.delete(request.id);
	}
	changed();
}

/**
 * An abridged request with the call that is known whole, as approvals.Request.Restored
 * has it. It is still abridged where the arguments of an edit are not known.
 * @param {Request} request
 * @param {Request} whole an earlier state of it
 * @returns {Request}
 */
export function restored(request, whole) {
	if (!request.details.abridged || whole.details.abridged) return request;
	const { abridged, commands, raw_arguments: raw, ...details } = request.details;
	const decisions = request.decisions.map((decision, i) => whole.decisions[i] ?? decision);
	const unread = decisions.some((decision) => decision.action === 'modify_args' && decision.modified_args === undefined);
	return {
		...request, arguments: whole.arguments, resource: whole.resource, tool: whole.tool, decisions,
		details: { ...whole.details, ...details, ...(unread && { abridged: true }) },
	};
}

/**
 * Stores the whole list of pending requests. Returns the ids of requests that
 * were pending before and are not in the list: they have ended.
 * @param {Request[]} requests
 * @returns {string[]}
 */
export function replacePending(requests) {
	const listed = new Set(requests.map((request) => request.id));
	const gone = pending().filter((request) => !listed.has(request.id)).map((request) => request.id);
	state.loaded = true;
	put(requests);
	return gone;
}

/** Forgets requests. @param {string[]} ids */
export function drop(ids) {
	for (const id of ids) {
		state.requests.delete(id);
		state.checked.delete(id);
	}
	changed();
}

/** Selects another request, and forgets the ended requests of the turn before. @param {string} id */
export function select(id) {
	if (state.selected === id) return;
	state.selected = id;
	const turn = state.requests.get(id)?.turn_id;
	for (const [other, request] of state.requests) {
		if (request.status !== 'pending' && other !== id && (!turn || request.turn_id !== turn)) state.requests.delete(other);
	}
	changed(0);
}

/** Forgets everything, as when the person at the page has been signed out; what they have not sent is not sent. */
export function forget() {
	for (const { undo } of state.leaving.values()) undo();
	state.me = null;
	state.loaded = false;
	state.requests.clear();
	state.checked.clear();
}
