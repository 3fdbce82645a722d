// Keeps the store current: the list is read when the connection is made, and the
// event stream names the requests to read again. A connection that is silent for
// too long, as after a laptop's sleep, is closed and opened again.

import { Failure, credentials, getMe, getRequest, listPending, listRequests } from './api.js';
import { EventReader } from './sse.js';
import { changed, drop, put, replacePending, state } from './store.js';
import { parse } from './text/json.js';

/** @typedef {import('./types.js').Request} Request */

const SILENCE = 40_000; // the server sends a comment every 15 s
const RETRY = { least: 500, most: 10_000 };
const SETTLE = 2_000; // after it the list is read once more: requests may have come while the stream began
const RECHECK = 120_000; // the list is read again this often, whatever the stream reports
const AGAIN = 1_000; // a request that could not be read, or is about to change, is read again
const FEW = 3; // so many requests are read one by one, more as a list
const SPARE = 5; // additional length of a list, for requests that came meanwhile

const DELEGATIONS = new Set(['delegation_created', 'delegation_revoked']);
const AFTERWARDS = new Set(['turn_detached', 'turn_reattached', 'call_released', 'call_not_released', 'call_result']); // the stream has no request after those of one that has ended
const REQUEST = 'request'; // the present state of a request, after each event about it

let lastEventID = '';
let retry = RETRY.least;
/** @type {AbortController|null} */
let connection = null;
/** @type {Set<string>} */
const wanted = new Set();
let reading = false;
/** @type {Set<string>} */
const loading = new Set(); // requests that are read whole
/** @type {((request: Request) => void)[]} */
const arrivals = [];

/** Calls a function for each request that begins to wait from now on. @param {(request: Request) => void} listener */
export function onArrival(listener) {
	arrivals.push(listener);
}

/** @type {(() => void)[]} */
const runChanges = [];

/** Calls a function when a run was paused, resumed or stopped, or has ended. @param {() => void} listener */
export function onRunChange(listener) {
	runChanges.push(listener);
}

/** Connects, and keeps connected as long as the page is open. */
export function start() {
	setInterval(watchSilence, 1000);
	setInterval(() => void reload().catch(() => {}), RECHECK);
	window.addEventListener('online', reconnect);
	document.addEventListener('visibilitychange', () => {
		if (!document.hidden && Date.now() - state.heard > 20_000) reconnect();
	});
	void keepConnected();
}

/** Closes the connection; the next one begins at once. */
export function reconnect() {
	retry = 0;
	connection?.abort();
}

function watchSilence() {
	if (state.connection === 'live' && Date.now() - state.heard > SILENCE) reconnect();
	if (state.connection === 'lost') changed(); // the banner counts
}

async function keepConnected() {
	for (;;) {
		while (!state.me) await pause(200);
		connection = new AbortController();
		try {
			await follow(connection.signal);
		} catch {
			// The next attempt reports the reason.
		}
		state.connection = 'lost';
		changed();
		await pause(retry);
		retry = Math.min(Math.max(retry * 2, RETRY.least), RETRY.most);
	}
}

/** @param {number} milliseconds */
function pause(milliseconds) {
	return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Follows the event stream until it ends. @param {AbortSignal} signal */
async function follow(signal) {
	const headers = { ...credentials(), ...(lastEventID ? { 'Last-Event-ID': lastEventID } : {}) };
	const response = await fetch('/api/v1/events?requests=true', { headers, signal, cache: 'no-store' });
	await reload(); // where the stream was refused, this fails with the reason
	if (!response.ok || !response.body) throw new Failure('The event stream was refused.', null);
	state.connection = 'live';
	retry = RETRY.least;
	const settled = setTimeout(() => void reload().catch(() => {}), SETTLE);
	const reader = new EventReader();
	const stream = response.body.getReader();
	const decoder = new TextDecoder();
	try {
		for (;;) {
			const { value, done } = await stream.read();
			if (done) return;
			state.heard = Date.now();
			for (const event of reader.push(decoder.decode(value, { stream: true }))) take(event);
		}
	} finally {
		clearTimeout(settled);
	}
}

/** @param {import('./sse.js').ServerEvent} event */
function take(event) {
	if (event.id) lastEventID = event.id;
	if (DELEGATIONS.has(event.name)) void readMe();
	if (event.name.startsWith('run_')) for (const listener of runChanges) listener();
	if (AFTERWARDS.has(event.name)) readAfterwards(parse(event.data).request_id);
	if (event.name === REQUEST) takeOver([parse(event.data)]);
}

/** Reads an ended request that is shown once more, when its release or its result is recorded. @param {string} id */
function readAfterwards(id) {
	const known = state.requests.get(id);
	if (known ? known.status !== 'pending' : id === state.selected) setTimeout(() => want(id), AGAIN);
}

/** Reads the rights of the person at the page again. */
async function readMe() {
	const me = await getMe().catch(() => null);
	if (!me || !state.me) return; // signed out meanwhile
	state.me = me;
	changed();
}

/** Reads an abridged request whole, unless that is under way. @param {string} id */
export function readWhole(id) {
	if (loading.has(id)) return;
	loading.add(id);
	want(id);
}

/** @param {string} id */
function want(id) {
	wanted.add(id);
	void readWanted();
}

/**
 * Reads the requests that events named. Those named meanwhile are read together
 * afterwards.
 */
async function readWanted() {
	if (reading) return;
	reading = true;
	while (wanted.size > 0) {
		const ids = [...wanted];
		wanted.clear();
		const missing = ids.length > FEW ? await readNewest(ids) : ids;
		await Promise.all(missing.map(read));
	}
	reading = false;
}

/** Reads many requests with one question, and returns those that it did not find, or found abridged. @param {string[]} ids */
async function readNewest(ids) {
	const named = new Set(ids);
	try {
		const page = await listRequests({ limit: String(Math.min(ids.length + SPARE, 500)) });
		const found = page.items.filter((request) => !request.details.abridged && named.delete(request.id));
		takeOver(found);
	} catch {
		// Each is read by itself, and if need be again.
	}
	return [...named];
}

/** @param {string} id */
async function read(id) {
	try {
		takeOver([await getRequest(id)]);
	} catch (error) {
		if (!(error instanceof Failure && error.code === 'not_found')) return void setTimeout(() => want(id), AGAIN);
		drop([id]);
	}
	loading.delete(id);
}

/** @param {Request[]} requests */
function takeOver(requests) {
	const fresh = requests.filter((request) => request.status === 'pending' && !state.requests.has(request.id));
	put(requests);
	for (const request of fresh) for (const listener of arrivals) listener(request);
}

/** Reads the whole list. */
async function reload() {
	const began = Date.now();
	const gone = replacePending(await listPending());
	state.heard = Math.max(state.heard, began);
	for (const id of gone) wanted.add(id);
	void readWanted();
	changed();
}
