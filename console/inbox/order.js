// The order in which requests wait, and which of them belong together.

/** @typedef {import('./types.js').Request} Request */

const RISKS = ['low', 'medium', 'high', 'critical'];

/** How the list can be ordered. */
export const ORDERS = /** @type {const} */ ({
	risk: 'Highest risk first',
	age: 'Longest waiting first',
	expiry: 'Least time left first',
});

/** @typedef {keyof typeof ORDERS} Order */

/**
 * What waits of one run.
 * @typedef {Object} Bundle
 * @property {string} key
 * @property {Request[]} requests in the order in which they were made
 * @property {number} rank of the riskiest of them
 * @property {number} ends when the first of them ends
 */

/** The place of a risk among the risks. @param {string} risk */
export function riskRank(risk) {
	return RISKS.indexOf(risk);
}

/**
 * Groups requests by run and orders the groups.
 * @param {Iterable<Request>} requests
 * @param {Order} order
 * @returns {Bundle[]}
 */
export function bundles(requests, order) {
	/** @type {Map<string, Bundle>} */
	const byKey = new Map();
	for (const request of requests) {
		const key = runKey(request);
		const bundle = byKey.get(key) ?? { key, requests: [], rank: -1, ends: Infinity };
		bundle.requests.push(request);
		bundle.rank = Math.max(bundle.rank, riskRank(request.risk_level));
		if (order === 'expiry') bundle.ends = Math.min(bundle.ends, Date.parse(request.expires_at));
		byKey.set(key, bundle);
	}
	const all = [...byKey.values()];
	for (const bundle of all) if (bundle.requests.length > 1) bundle.requests.sort(byID);
	return all.sort(comparison(order));
}

/** Which run a request belongs to: what waits of one run is shown and decided together. @param {Request} request */
export function runKey({ principal, session_id: session, run_id: run, turn_id: turn, id }) {
	return run ? JSON.stringify([principal.tenant, principal.user, principal.agent, session, run]) : turn || id;
}

/** @param {Order} order @returns {(a: Bundle, b: Bundle) => number} */
function comparison(order) {
	const age = (/** @type {Bundle} */ a, /** @type {Bundle} */ b) => byID(a.requests[0], b.requests[0]);
	if (order === 'age') return age;
	if (order === 'expiry') return (a, b) => a.ends - b.ends || age(a, b);
	return (a, b) => b.rank - a.rank || age(a, b);
}

/** Ids rise with time. @param {Request} a @param {Request} b */
function byID(a, b) {
	return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
