// The console's HTTP API.

import { parse, write } from './text/json.js';

/** @typedef {import('./types.js').Request} Request */
/** @typedef {import('./types.js').Problem} Problem */

/** An answer that is an error, or none at all. */
export class Failure extends Error {
	/** @param {string} message @param {Problem|null} problem null: there was no answer */
	constructor(message, problem) {
		super(message);
		this.name = 'Failure';
		this.problem = problem;
	}

	/** What the API calls the problem; '' if there was no answer. */
	get code() {
		return this.problem?.code ?? '';
	}
}

/**
 * How far the server's clock is ahead of this one, in milliseconds. Less than
 * the resolution of a Date header is taken for none.
 */
export const clock = { ahead: 0 };

/** @type {() => void} */
let signedOut = () => {};

/** Calls a function when the session has ended. @param {() => void} listener */
export function onSignedOut(listener) {
	signedOut = listener;
}

const KEY = 'session_key';

/**
 * The header that a session needs beside its cookie. Other ports of this host
 * get the cookie from the browser; what this origin keeps they do not.
 * @returns {Record<string, string>}
 */
export function credentials() {
	const key = localStorage.getItem(KEY);
	return key ? { 'X-Heldcall-Session-Key': key } : {};
}

/**
 * Asks the API and returns what it answers.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<any>}
 */
async function ask(method, path, body) {
	const session = localStorage.getItem(KEY);
	/** @type {RequestInit} */
	const options = { method, headers: { Accept: 'application/json', ...credentials() }, cache: 'no-store' };
	if (body !== undefined) {
		options.headers = { ...options.headers, 'Content-Type': 'application/json' };
		options.body = write(body);
	}
	let response;
	let text;
	try {
		response = await fetch(path, options);
		text = await response.text();
	} catch {
		throw new Failure('Can’t reach heldcall. Is it running?', null);
	}
	readClock(response);
	const content = decode(text);
	if (!response.ok) {
		if (response.status === 401 && session === localStorage.getItem(KEY)) signedOut(); // else another session has begun meanwhile
		const problem = /** @type {Problem} */ (content ?? { status: response.status, code: '', detail: '' });
		throw new Failure(problem.detail || `heldcall answered with status ${response.status}.`, problem);
	}
	return content;
}

/** @param {string} text */
function decode(text) {
	try {
		return parse(text);
	} catch {
		return null;
	}
}

/** @param {Response} response */
function readClock(response) {
	const date = Date.parse(response.headers.get('Date') ?? '');
	if (Number.isNaN(date)) return;
	const ahead = date - Date.now();
	clock.ahead = Math.abs(ahead) < 2000 ? 0 : ahead;
}

/**
 * A page of requests, newest first.
 * @param {Record<string, string>} filter
 * @returns {Promise<{items: Request[], next_cursor: string}>}
 */
export function listRequests(filter) {
	const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ''));
	return ask('GET', `/api/v1/requests?${query}`);
}

/** Every pending request. @returns {Promise<Request[]>} */
export async function listPending() {
	const all = [];
	let cursor = '';
	do {
		const page = await listRequests({ status: 'pending', limit: '500', cursor });
		all.push(...page.items);
		cursor = page.next_cursor;
	} while (cursor);
	return all;
}

/** @param {string} id @returns {Promise<Request>} */
export function getRequest(id) {
	return ask('GET', `/api/v1/requests/${encodeURIComponent(id)}`);
}

/**
 * What a person decided.
 * @typedef {{action: string, note?: string, confirm?: string, assertion?: unknown, answer?: string, selected?: string[], values?: Record<string, string>, responses?: import('./types.js').Decision['responses'], modified_args?: unknown, window?: string, patterns?: string[], template?: string, scope?: string, grant_expires_at?: string}} Choice
 */

/** @param {string} id @param {Choice} choice @returns {Promise<Request>} the request after the decision */
export function decide(id, choice) {
	return ask('POST', `/api/v1/requests/${encodeURIComponent(id)}/decision`, choice);
}

/**
 * Decides several requests, each on its own, in the order given.
 * @param {string[]} ids
 * @param {Choice} choice
 * @returns {Promise<{status: number, request?: Request, problem?: Problem}[]>}
 */
export async function decideSeveral(ids, choice) {
	const outcomes = [];
	for (let from = 0; from < ids.length; from += 100) {
		const decisions = ids.slice(from, from + 100).map((id) => ({ request_id: id, ...choice }));
		outcomes.push(...(await ask('POST', '/api/v1/decisions', { decisions })).items);
	}
	return outcomes;
}

/** The person at the page. @returns {Promise<import('./types.js').Me>} */
export function getMe() {
	return ask('GET', '/api/v1/me');
}

/** How a browser can sign in. @returns {Promise<{methods: string[]}>} */
export function getSignIn() {
	return ask('GET', '/api/v1/session');
}

/** Gives a token for a session. @param {string} token @returns {Promise<import('./types.js').Me>} */
export async function signIn(token) {
	return enter(await ask('POST', '/api/v1/session', { token }));
}

/** Begins to sign in at the provider. @returns {Promise<{url: string, secret: string}>} where to go, and what to bring back */
export function beginOIDC() {
	return ask('POST', '/api/v1/session/oidc', {});
}

/** Gives what the provider returned for a session. @param {{code: string, state: string, secret: string}} returned @returns {Promise<import('./types.js').Me>} */
export async function finishOIDC(returned) {
	return enter(await ask('POST', '/api/v1/session/oidc/code', returned));
}

/** @param {import('./types.js').Me & {key: string}} answer @returns {import('./types.js').Me} */
function enter({ key, ...me }) {
	localStorage.setItem(KEY, key);
	return me;
}

/** Ends the session. */
export async function signOut() {
	await ask('DELETE', '/api/v1/session');
	localStorage.removeItem(KEY);
}

/** The runs that have not ended and those that ended last, the most recently active first. @returns {Promise<{items: import('./types.js').Run[]}>} */
export function listRuns() {
	return ask('GET', '/api/v1/runs');
}

/** One of these runs, or null. @param {string} id @returns {Promise<import('./types.js').Run|null>} */
export async function getRun(id) {
	try {
		return await ask('GET', `/api/v1/runs/${encodeURIComponent(id)}`);
	} catch (error) {
		if (error instanceof Failure && error.code === 'not_found') return null;
		throw error;
	}
}

/** @param {string} id @param {'pause_run'|'resume_run'|'abort_run'} action @returns {Promise<import('./types.js').Run>} the run after the signal */
export function steer(id, action) {
	return ask('POST', `/api/v1/runs/${encodeURIComponent(id)}/signal`, { action });
}

/** Makes a folder a part of the workspace of a run. @param {string} id @param {string} folder @returns {Promise<import('./types.js').Grant>} */
export function addFolder(id, folder) {
	return ask('POST', `/api/v1/runs/${encodeURIComponent(id)}/workspace`, { folder });
}

/** The signals by principal that are in force. @returns {Promise<{items: import('./types.js').Signal[]}>} */
export function listSignals() {
	return ask('GET', '/api/v1/signals');
}

/** Pauses, stops or resumes all runs of a principal. @param {Pick<import('./types.js').Signal, 'principal'|'action'>} signal @returns {Promise<import('./types.js').Signal>} */
export function sendSignal(signal) {
	return ask('POST', '/api/v1/signals', signal);
}

/** A page of the grants in force, newest first. @param {string} cursor @returns {Promise<{items: import('./types.js').Grant[], next_cursor: string}>} */
export function listGrants(cursor) {
	return ask('GET', `/api/v1/grants?limit=100${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`);
}

/** Grants by hand. @param {Record<string, unknown>} grant @returns {Promise<import('./types.js').Grant>} */
export function addGrant(grant) {
	return ask('POST', '/api/v1/grants', grant);
}

/** Ends a grant. @param {string} id */
export function revokeGrant(id) {
	return ask('DELETE', `/api/v1/grants/${encodeURIComponent(id)}`);
}

/** What a grant would have decided of recent calls. @param {Record<string, unknown>} grant @returns {Promise<import('./types.js').GrantPreview>} */
export function previewGrant(grant) {
	return ask('POST', '/api/v1/grants/preview', grant);
}

/** The suggested patterns of a request, and what each would have covered. @param {string} id @returns {Promise<{items: import('./types.js').Suggestion[]}>} */
export function listSuggestions(id) {
	return ask('GET', `/api/v1/requests/${encodeURIComponent(id)}/suggestions`);
}

/** Rules that the decisions of people suggest. @returns {Promise<import('./types.js').Proposals>} */
export function listProposals() {
	return ask('GET', '/api/v1/policy/proposals');
}

/** The grants that the configuration keeps ready. @returns {Promise<{items: import('./types.js').GrantTemplate[]}>} */
export function listTemplates() {
	return ask('GET', '/api/v1/grant-templates');
}

/** The delegations in force, the latest first. @returns {Promise<{items: import('./types.js').Delegation[]}>} */
export function listDelegations() {
	return ask('GET', '/api/v1/delegations');
}

/** Lets one reviewer decide in the place of another. @param {{from: string, to: string, until: string, note: string}} delegation @returns {Promise<import('./types.js').Delegation>} */
export function addDelegation(delegation) {
	return ask('POST', '/api/v1/delegations', delegation);
}

/** Ends a delegation. @param {string} id */
export function revokeDelegation(id) {
	return ask('DELETE', `/api/v1/delegations/${encodeURIComponent(id)}`);
}

/** What a browser subscribes to notifications with. @returns {Promise<{public_key: string}>} */
export function getPush() {
	return ask('GET', '/api/v1/push');
}

/** Subscribes a browser to notifications. @param {unknown} subscription @returns {Promise<{id: string}>} */
export function subscribe(subscription) {
	return ask('POST', '/api/v1/push', subscription);
}

/** Ends a subscription. @param {string} id */
export function unsubscribe(id) {
	return ask('DELETE', `/api/v1/push/${encodeURIComponent(id)}`);
}

/** The passkeys of the person at the page. @returns {Promise<import('./types.js').Passkeys>} */
export function listPasskeys() {
	return ask('GET', '/api/v1/passkeys');
}

/** What a browser creates a passkey with. @param {string} name @returns {Promise<{publicKey: any}>} */
export function newPasskey(name) {
	return ask('POST', '/api/v1/passkeys/options', { name });
}

/** Registers a passkey. @param {{name: string, credential: unknown, assertion?: unknown}} made @returns {Promise<import('./types.js').Passkey>} */
export function addPasskey(made) {
	return ask('POST', '/api/v1/passkeys', made);
}

/** What a passkey confirms a change of passkeys with. @param {{add: unknown}|{revoke: string}} change @returns {Promise<{publicKey: any}>} */
export function challengePasskeys(change) {
	return ask('POST', '/api/v1/passkeys/challenge', change);
}

/** What a passkey confirms an approval with. @param {string} id @param {Choice} choice @returns {Promise<{publicKey: any}>} */
export function challengeApproval(id, choice) {
	return ask('POST', `/api/v1/requests/${encodeURIComponent(id)}/challenge`, choice);
}

/** Revokes a passkey. @param {string} id @param {unknown} assertion */
export function revokePasskey(id, assertion) {
	return ask('POST', `/api/v1/passkeys/${encodeURIComponent(id)}/revoke`, { assertion });
}
