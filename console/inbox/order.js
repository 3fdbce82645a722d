// The order in which requests wait, and which of them belong together.

/** @typedef {import('./types.js').Request} Request */

const RISKS = ['low', 'medium', 'high', 'critical'];

/** How the list can be ordered. */
export const ORDERS = /** @type {const} */ ({
	risk: 'Needs me, then risk',
	age: 'Longest waiting first',
	expiry: 'Least time left first',
});

/** @typedef {keyof typeof ORDERS} Order */

/**
 * The pending requests of one run.
 * @typedef {Object} Bundle
 * @property {string} key
 * @property {Request[]} requests those of one question together, in the order in which they were made
 * @property {boolean} mine one of them can be decided by the person at the page
 * @property {number} rank of the riskiest of them
 * @property {number} ends when the first of them ends
 */

/** What ends within this time is at the top, in milliseconds. */
export const PINNED = 120_000;

/**
 * How the list looks to the person at the page, and when.
 * @typedef {Object} View
 * @property {number} at the time
 * @property {(request: Request) => boolean} mine whether they can decide a request
 */

/** The place of a risk among the risks. @param {string} risk */
export function riskRank(risk) {
	return RISKS.indexOf(risk);
}

/**
 * Groups requests by run and orders the groups. Those that end soon are the first, but for
 * the order by age.
 * @param {Iterable<Request>} requests
 * @param {Order} order
 * @param {View} view
 * @returns {Bundle[]}
 */
export function bundles(requests, order, { at, mine }) {
	/** @type {Map<string, Bundle>} */
	const byKey = new Map();
	for (const request of requests) {
		const key = runKey(request);
		const bundle = byKey.get(key) ?? { key, requests: [], mine: false, rank: -1, ends: Infinity };
		bundle.requests.push(request);
		bundle.mine ||= mine(request);
		bundle.rank = Math.max(bundle.rank, riskRank(request.risk_level));
		bundle.ends = Math.min(bundle.ends, Date.parse(request.expires_at));
		byKey.set(key, bundle);
	}
	const all = [...byKey.values()];
	for (const bundle of all) if (bundle.requests.length > 1) bundle.requests = questionsOf(bundle.requests).flat();
	return all.sort(comparison(order, at));
}

/** Whether a bundle is at the top because one of its requests ends soon. @param {Bundle} bundle @param {number} at */
export function isPinned(bundle, at) {
	return bundle.ends - at < PINNED;
}

/** When the next bundle is to be moved to the top; Infinity: none is. @param {Bundle[]} all @param {number} at */
export function nextPin(all, at) {
	return all.reduce((next, bundle) => (isPinned(bundle, at) ? next : Math.min(next, bundle.ends - PINNED)), Infinity);
}

/** The runs of requests, which do not change: each drawing asks for all of them. @type {WeakMap<Request, string>} */
const runs = new WeakMap();

/** The run of a request: the requests of a run are shown together. @param {Request} request */
export function runKey(request) {
	const known = runs.get(request);
	if (known !== undefined) return known;
	const { principal, session_id: session, run_id: run, turn_id: turn, id } = request;
	const key = run ? JSON.stringify([principal.tenant, principal.user, principal.agent, session, run]) : turn || id;
	runs.set(request, key);
	return key;
}

/** Requests by question, in the order of their first ones: those that the server has joined are one question. @param {Request[]} requests @returns {Request[][]} */
export function questionsOf(requests) {
	/** @type {Map<string, Request[]>} */
	const byKey = new Map();
	for (const request of [...requests].sort(byID)) {
		const key = request.together ?? request.id;
		byKey.set(key, [...(byKey.get(key) ?? []), request]);
	}
	return [...byKey.values()];
}

/** @param {Order} order @param {number} at @returns {(a: Bundle, b: Bundle) => number} */
function comparison(order, at) {
	const age = (/** @type {Bundle} */ a, /** @type {Bundle} */ b) => byID(a.requests[0], b.requests[0]);
	const time = (/** @type {Bundle} */ a, /** @type {Bundle} */ b) => a.ends - b.ends || age(a, b);
	if (order === 'age') return age;
	if (order === 'expiry') return time;
	const first = (/** @type {boolean} */ a, /** @type {boolean} */ b) => Number(b) - Number(a);
	return (a, b) => {
		const [soonA, soonB] = [isPinned(a, at), isPinned(b, at)];
		if (soonA || soonB) return first(soonA, soonB) || first(a.mine, b.mine) || time(a, b);
		return first(a.mine, b.mine) || b.rank - a.rank || time(a, b);
	};
}

/**
 * Whether a request has a text in its tool, title, arguments, agent, user, risk or ids, in
 * any letter case, as the filter of heldcall watch has it.
 * @param {Request} request
 * @param {string} text
 */
export function matches({ tool_name: tool, title, args_preview: preview, resource, principal, risk_level: risk, id, session_id: session, run_id: run }, text) {
	return [tool, title, preview, resource, principal.agent, principal.user, principal.tenant, risk, id, session, run].join('\n').toLowerCase().includes(text.toLowerCase());
}

/** Ids rise with time. @param {Request} a @param {Request} b */
function byID(a, b) {
	return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
