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
 * The calls of one answer of the model: they are judged together.
 * @typedef {Object} Turn
 * @property {string} key
 * @property {Request[]} requests in the order the model wrote them
 * @property {number} rank of the riskiest of them
 * @property {number} ends when the first of them ends
 */

/** The place of a risk among the risks. @param {string} risk */
export function riskRank(risk) {
	return RISKS.indexOf(risk);
}

/**
 * Groups requests by turn and orders the turns.
 * @param {Iterable<Request>} requests
 * @param {Order} order
 * @returns {Turn[]}
 */
export function turns(requests, order) {
	/** @type {Map<string, Turn>} */
	const byKey = new Map();
	for (const request of requests) {
		const key = turnKey(request);
		const turn = byKey.get(key) ?? { key, requests: [], rank: -1, ends: Infinity };
		turn.requests.push(request);
		turn.rank = Math.max(turn.rank, riskRank(request.risk_level));
		if (order === 'expiry') turn.ends = Math.min(turn.ends, Date.parse(request.expires_at));
		byKey.set(key, turn);
	}
	const all = [...byKey.values()];
	for (const turn of all) if (turn.requests.length > 1) turn.requests.sort(byID);
	return all.sort(comparison(order));
}

/** Which turn a request belongs to. @param {Request} request */
export function turnKey(request) {
	return request.turn_id || request.id;
}

/** @param {Order} order @returns {(a: Turn, b: Turn) => number} */
function comparison(order) {
	const age = (/** @type {Turn} */ a, /** @type {Turn} */ b) => byID(a.requests[0], b.requests[0]);
	if (order === 'age') return age;
	if (order === 'expiry') return (a, b) => a.ends - b.ends || age(a, b);
	return (a, b) => b.rank - a.rank || age(a, b);
}

/** Ids rise with time. @param {Request} a @param {Request} b */
function byID(a, b) {
	return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
