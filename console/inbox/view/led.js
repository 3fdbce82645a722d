// What led to a call: the last steps of its run, as the conversation of the agent has them.

import { el, hostile } from './dom.js';

/** @typedef {import('../types.js').Request} Request */
/** @typedef {import('../types.js').Step} Step */

/** The last steps before a request, with their results; nothing where none is known. @param {Request} request */
export function drawLed({ context: { steps = [] }, run_id: run }) {
	return steps.length > 0 && el('section', { class: 'section led' }, el('h3', {}, 'What led here'),
		el('ol', { class: 'steps' }, steps.map((step) => el('li', {}, drawStep(step)))),
		el('p', {}, el('a', { href: `#/runs/${encodeURIComponent(run)}` }, 'The whole run')));
}

/** A step on one line, and the beginning of its result below it. @param {Step} step */
export function drawStep({ tool_name: tool, preview, result, waits }) {
	return el('div', { class: waits ? 'step waits' : 'step' },
		el('p', { class: 'what' }, el('code', {}, hostile(tool || 'a call without a name')), ' ', el('span', { class: 'preview' }, hostile(preview))),
		waits ? el('p', { class: 'returned muted' }, 'In the same answer: the agent gets it without approval.') : result && el('p', { class: 'returned muted' }, hostile(result)));
}

/**
 * The steps that requests have and that are no requests, by the request before which they were made, each once.
 * @param {Request[]} requests of a run, oldest first
 * @returns {Map<Request, Step[]>}
 */
export function stepsBetween(requests) {
	const known = new Set(requests.map((request) => request.tool_call_id));
	return new Map(requests.map((request) => [request, (request.context.steps ?? []).filter(({ tool_call_id: id }) => {
		if (!id || known.has(id)) return false;
		known.add(id);
		return true;
	})]));
}
