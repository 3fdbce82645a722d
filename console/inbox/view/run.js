// A run: one task of one agent, its requests, and the buttons to pause and stop it.

import { Failure, getRun, listRequests, listRuns, steer } from '../api.js';
import { exact } from '../clock.js';
import { state } from '../store.js';
import { plain } from '../text/visible.js';
import { button, el, elapsed, fill, hostile } from './dom.js';
import { drawEntry } from './history.js';
import { plural } from './parts.js';
import { toast } from './toast.js';

/** @typedef {import('../types.js').Request} Request */
/** @typedef {import('../types.js').Run} Run */

const RECENT = 500; // the newest requests, whose runs are listed

const STATES = { running: 'Running', paused: 'Paused', aborted: 'Stopped' };

/** Draws the list of runs. @param {HTMLElement} place */
export async function drawRuns(place) {
	const results = el('ol', { class: 'entries' });
	const foot = el('p', { class: 'muted', role: 'status' }, 'Looking…');
	fill(place, el('div', { class: 'column' }, el('h1', {}, 'Runs'),
		el('p', { class: 'muted' }, 'A run is one task of one agent. It can be paused, or stopped as a whole.'), results, foot));
	try {
		const [{ items: steered }, { items: requests }] = await Promise.all([listRuns(), listRequests({ limit: String(RECENT) })]);
		const runs = runsOf(requests, steered);
		results.replaceChildren(...runs.map(drawRunEntry));
		foot.textContent = runs.length === 0 ? 'No runs yet.' : `${plural(runs.length, 'run')}: those of the last ${RECENT} requests, and all that were paused, resumed or stopped.`;
	} catch (error) {
		fill(foot, hostile(error instanceof Failure ? error.message : 'The runs could not be read.'));
	}
}

/**
 * @typedef {Object} Summary
 * @property {string} id
 * @property {Run['state']} state
 * @property {string} who
 * @property {string} task the user's first message, if it is known
 * @property {number} requests
 * @property {number} waiting
 * @property {string} last time of the latest request or signal
 */

/**
 * The runs of requests and those that were steered, the latest first.
 * @param {Request[]} requests newest first
 * @param {Run[]} steered
 * @returns {Summary[]}
 */
export function runsOf(requests, steered) {
	/** @type {Map<string, Summary>} */
	const runs = new Map();
	const who = (/** @type {Request['principal']} */ principal) => [principal.agent, principal.user].filter(Boolean).join(' · ');
	for (const run of steered) {
		runs.set(run.id, { id: run.id, state: run.state, who: who(run.principal), task: '', requests: 0, waiting: 0, last: run.updated_at });
	}
	for (const request of requests) {
		const run = runs.get(request.run_id) ?? { id: request.run_id, state: 'running', who: '', task: '', requests: 0, waiting: 0, last: request.created_at };
		run.who ||= who(request.principal);
		run.task = request.context.last_user_message || run.task;
		run.requests++;
		if (request.status === 'pending') run.waiting++;
		if (request.created_at > run.last) run.last = request.created_at;
		runs.set(run.id, run);
	}
	return [...runs.values()].sort((a, b) => (a.last < b.last ? 1 : -1));
}

/** @param {Summary} run */
function drawRunEntry(run) {
	return el('li', {}, el('a', { class: 'entry', href: `#/runs/${encodeURIComponent(run.id)}` },
		el('span', { class: 'what' }, plain(run.task).slice(0, 200) || plain(run.id)),
		el('span', { class: 'how' }, el('strong', { class: `end ${run.state}` }, STATES[run.state]), ` ${plural(run.requests, 'request')}`, run.waiting > 0 && `, ${run.waiting} waiting`),
		el('span', { class: 'when' }, el('span', {}, plain(run.who)), elapsed(run.last))));
}

/** Draws one run. @param {HTMLElement} place @param {string} id */
export async function drawRun(place, id) {
	try {
		const [run, requests] = await Promise.all([getRun(id), requestsOf(id)]);
		drawStory(place, id, run, requests);
	} catch (error) {
		fill(place, el('div', { class: 'column' }, el('p', { class: 'error' }, hostile(error instanceof Failure ? error.message : 'The run could not be read.'))));
	}
}

/** Every request of a run, oldest first. @param {string} id */
async function requestsOf(id) {
	/** @type {Request[]} */
	const all = [];
	let cursor = '';
	do {
		const page = await listRequests({ run_id: id, limit: '500', cursor });
		all.push(...page.items);
		cursor = page.next_cursor;
	} while (cursor);
	return all.reverse();
}

/** @param {HTMLElement} place @param {string} id @param {Run|null} run @param {Request[]} requests */
function drawStory(place, id, run, requests) {
	const now = run?.state ?? 'running';
	const first = requests[0];
	const principal = first?.principal ?? run?.principal;
	fill(place, el('div', { class: 'column' },
		el('a', { class: 'back always', href: '#/runs' }, '‹ All runs'),
		el('h1', {}, 'Run ', el('code', {}, hostile(id))),
		el('p', { class: 'facts' },
			el('strong', { class: `end ${now}` }, STATES[now]), run?.reviewer_id && el('span', {}, ' by ', hostile(run.reviewer_id)),
			principal && el('span', {}, hostile([principal.agent, principal.user].filter(Boolean).join(' for '))),
			first && el('span', {}, `since ${exact(first.created_at)}`)),
		drawBrakes(place, id, now),
		el('ol', { class: 'story' }, chapters(requests).map(drawChapter)),
		requests.length === 0 && el('p', { class: 'muted' }, 'No calls in this run needed approval.')));
}

/** @param {HTMLElement} place @param {string} id @param {Run['state']} now */
function drawBrakes(place, id, now) {
	if (now === 'aborted') return el('p', { class: 'muted' }, 'This run is stopped. Model calls of its agent fail.');
	if (state.me?.role !== 'admin') return null;
	const pull = async (/** @type {'pause_run'|'resume_run'|'abort_run'} */ action) => {
		try {
			const run = await steer(id, action);
			toast(`The run is ${STATES[run.state].toLowerCase()}.`);
		} catch (error) {
			toast(error instanceof Failure ? plain(error.message) : 'Something went wrong. Reload the page.', true);
		}
		await drawRun(place, id);
	};
	return el('div', { class: 'brakes' },
		now === 'paused' ? button('Resume', () => void pull('resume_run'), { class: 'good' }) : button('Pause', () => void pull('pause_run')),
		button('Stop the run…', () => confirmStop(() => void pull('abort_run')), { class: 'bad' }));
}

/** @param {() => void} stop */
function confirmStop(stop) {
	const dialog = /** @type {HTMLDialogElement} */ (el('dialog', { 'aria-labelledby': 'stop-title', class: 'small', on: { close: () => dialog.remove() } },
		el('div', {},
			el('header', {}, el('h2', { id: 'stop-title' }, 'Stop this run?')),
			el('p', { class: 'scroll' }, 'Cancels its pending requests and blocks further model calls. This can’t be undone.'),
			el('footer', {}, button('Stop the run', () => { dialog.close(); stop(); }, { class: 'bad' }), button('Cancel', () => dialog.close(), { class: 'quiet' })))));
	document.body.append(dialog);
	dialog.showModal();
}

/**
 * The requests by the user's message before them.
 * @param {Request[]} requests oldest first
 * @returns {{said: string, requests: Request[]}[]}
 */
export function chapters(requests) {
	/** @type {{said: string, requests: Request[]}[]} */
	const all = [];
	for (const request of requests) {
		const said = request.context.last_user_message ?? '';
		const last = all.at(-1);
		if (last && last.said === said) last.requests.push(request);
		else all.push({ said, requests: [request] });
	}
	return all;
}

/** @param {{said: string, requests: Request[]}} chapter */
function drawChapter({ said, requests }) {
	let before = '';
	return el('li', {},
		said && el('div', { class: 'said user prose' }, hostile(said)),
		el('ol', { class: 'entries' }, requests.map((request) => {
			const text = request.context.assistant_text ?? '';
			const isNew = text !== '' && text !== before;
			before = text;
			return isNew ? [el('li', { class: 'said prose' }, hostile(text)), drawEntry(request)] : [drawEntry(request)];
		}).flat()));
}
