// A run: one task of one agent, its requests, and the buttons to pause and stop it.

import { Failure, getRun, listRequests, listRuns, listSignals, steer } from '../api.js';
import { exact, now } from '../clock.js';
import { state } from '../store.js';
import { plain } from '../text/visible.js';
import { button, el, elapsed, fill, hostile, refill, whenReleased } from './dom.js';
import { drawEntry } from './history.js';
import { drawStep, stepsBetween } from './led.js';
import { plural } from './folds.js';
import { drawSignals } from './signals.js';
import { toast } from './toast.js';

/** @typedef {import('../types.js').Request} Request */
/** @typedef {import('../types.js').Run} Run */

const RECENT = 500; // the newest requests, whose runs are listed

const STATES = { running: 'Running', idle: 'Idle', paused: 'Paused', aborted: 'Stopped', ended: 'Ended' };
const IDLE = 60_000; // ms after an answer without calls
const AGAIN = 20_000; // ms until a page of runs is read again

/** What a run is shown as: idle a minute after an answer without calls, while nothing of it waits. @param {Run} run @returns {keyof typeof STATES} */
export function shownState({ state: is, answered_at: answered }, at = now()) {
	return is === 'running' && answered && at - Date.parse(answered) >= IDLE ? 'idle' : is;
}

let drawings = 0;

/**
 * Reads what a page shows, then draws it, unless another drawing has begun or another page
 * is open.
 * @template T
 * @param {HTMLElement} place
 * @param {Promise<T>} reading
 * @param {(read: T) => HTMLElement} draw
 * @param {() => void} again draws the page again some time later: that a run is idle is no event
 */
async function drawRead(place, reading, draw, again) {
	const [mine, here] = [++drawings, location.hash];
	if (!place.hasChildNodes()) fill(place, el('div', { class: 'column' }, el('p', { class: 'muted', role: 'status' }, 'Looking…')));
	/** @type {HTMLElement} */
	let drawn;
	try {
		drawn = draw(await reading);
	} catch (error) {
		drawn = el('div', { class: 'column' }, el('p', { class: 'error' }, hostile(error instanceof Failure ? error.message : 'The runs could not be read.')));
	}
	await whenReleased();
	if (mine !== drawings || here !== location.hash) return;
	refill(place, drawn);
	setTimeout(() => { if (mine === drawings && here === location.hash && place.isConnected) again(); }, AGAIN);
}

/** Draws the list of runs. @param {HTMLElement} place */
export function drawRuns(place) {
	return drawRead(place, Promise.all([listRuns(), listSignals(), listRequests({ limit: String(RECENT) })]), ([{ items: known }, { items: signals }, { items: requests }]) => {
		const runs = runsOf(requests, known);
		return el('div', { class: 'column' },
			el('div', { class: 'head' }, el('h1', {}, 'Runs'), state.me?.role === 'admin' && el('a', { class: 'button', href: '#/signals/new' }, 'Pause or stop runs')),
			el('p', { class: 'muted' }, 'A run is one task of one agent. It can be paused, or stopped as a whole.'),
			drawSignals(signals, () => void drawRuns(place)),
			el('ol', { class: 'entries' }, runs.map(drawRunEntry)),
			el('p', { class: 'muted', role: 'status' }, runs.length === 0 ? 'No runs yet.' : `${plural(runs.length, 'run')}: all that have not ended, and the last that have.`));
	}, () => void drawRuns(place));
}

/**
 * @typedef {Object} Summary
 * @property {string} id
 * @property {keyof typeof STATES} state
 * @property {string} who
 * @property {string} task the user's first message, if it is known
 * @property {number} requests
 * @property {number} waiting
 * @property {string} outcome of its latest call, '' if it is not known
 * @property {string} last time of the latest request or signal
 */

/**
 * The runs of requests and those that the API lists, the latest first. A run that the API
 * does not list has ended.
 * @param {Request[]} requests newest first
 * @param {Run[]} known
 * @returns {Summary[]}
 */
export function runsOf(requests, known) {
	/** @type {Map<string, Summary>} */
	const runs = new Map();
	const who = (/** @type {Request['principal']} */ principal) => [principal.agent, principal.user].filter(Boolean).join(' · ');
	for (const run of known) {
		const last = run.active_at && run.active_at > run.updated_at ? run.active_at : run.updated_at;
		runs.set(run.id, { id: run.id, state: shownState(run), who: who(run.principal), task: '', requests: 0, waiting: 0, outcome: run.last_outcome ?? '', last });
	}
	for (const request of requests) {
		const run = runs.get(request.run_id) ?? { id: request.run_id, state: 'ended', who: '', task: '', requests: 0, waiting: 0, outcome: '', last: request.created_at };
		run.who ||= who(request.principal);
		run.task = request.context.last_user_message || run.task;
		run.requests++;
		if (request.status === 'pending') run.waiting++;
		if (request.status === 'pending' && (run.state === 'ended' || run.state === 'idle')) run.state = 'running';
		if (request.created_at > run.last) run.last = request.created_at;
		runs.set(run.id, run);
	}
	return [...runs.values()].sort((a, b) => (a.last < b.last ? 1 : -1));
}

/** @param {Summary} run */
function drawRunEntry(run) {
	return el('li', {}, el('a', { class: 'entry', href: `#/runs/${encodeURIComponent(run.id)}` },
		el('span', { class: 'what' }, plain(run.task).slice(0, 200) || plain(run.id)),
		el('span', { class: 'how' }, el('strong', { class: `end ${run.state}` }, STATES[run.state]), ` ${plural(run.requests, 'request')}`, run.waiting > 0 && `, ${run.waiting} waiting`, lastCall(run.outcome)),
		el('span', { class: 'when' }, el('span', {}, plain(run.who)), elapsed(run.last))));
}

/** The outcome of the latest call, such as denied_by_person, in words. @param {string|undefined} outcome */
function lastCall(outcome) {
	return outcome && ` · last call: ${outcome.replaceAll('_', ' ')}`;
}

/** Draws one run. @param {HTMLElement} place @param {string} id */
export function drawRun(place, id) {
	return drawRead(place, Promise.all([getRun(id), requestsOf(id)]), ([run, requests]) => drawStory(place, id, run, requests), () => void drawRun(place, id));
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
	const waiting = requests.some((request) => request.status === 'pending');
	const is = run && !(waiting && shownState(run) === 'idle') ? shownState(run) : waiting ? 'running' : 'ended';
	const between = stepsBetween(requests);
	const first = requests[0];
	const principal = first?.principal ?? run?.principal;
	const signals = run?.signals ?? [];
	return el('div', { class: 'column' },
		el('a', { class: 'back always', href: '#/runs' }, '‹ All runs'),
		el('h1', {}, 'Run ', el('code', {}, hostile(id))),
		el('p', { class: 'facts' },
			el('strong', { class: `end ${is}` }, STATES[is]), signals.length === 0 && (is === 'paused' || is === 'aborted') && run?.reviewer_id && el('span', {}, ' by ', hostile(run.reviewer_id)),
			principal && el('span', {}, hostile([principal.agent, principal.user].filter(Boolean).join(' for '))),
			run && el('span', {}, 'since ', el('time', { datetime: sinceOf(run, is) }, exact(sinceOf(run, is)))),
			run?.last_outcome && el('span', {}, `last call: ${run.last_outcome.replaceAll('_', ' ')}`)),
		drawSignals(signals, () => void drawRun(place, id)),
		drawBrakes(place, id, run?.state ?? is, signals),
		principal && state.me?.role === 'admin' && el('p', {}, el('a', { href: `#/signals/new?${widest(principal)}` }, 'Pause or stop all runs of this agent, user or tenant')),
		el('ol', { class: 'story' }, chapters(requests).map((chapter) => drawChapter(chapter, between))),
		requests.length === 0 && el('p', { class: 'muted' }, 'No calls in this run needed approval.'));
}

/** Since when a run is as it is shown. @param {Run} run @param {string} is */
const sinceOf = (run, is) => (is === 'idle' && run.answered_at ? run.answered_at : run.updated_at);

/** The first name of a principal that is known, as a query. @param {Request['principal']} principal */
function widest(principal) {
	const name = /** @type {const} */ (['agent', 'user', 'tenant']).find((each) => principal[each]) ?? 'agent';
	return new URLSearchParams({ [name]: principal[name] });
}

/** @param {HTMLElement} place @param {string} id @param {string} is its state @param {import('../types.js').Signal[]} signals that apply to the run */
function drawBrakes(place, id, is, signals) {
	if (signals.some(({ action }) => action === 'abort_run')) return null; // the signal is lifted instead
	if (is === 'aborted') return el('p', { class: 'muted' }, 'This run is stopped. Model calls of its agent fail.');
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
		is === 'paused' && signals.length > 0 ? null : is === 'paused' ? button('Resume', () => void pull('resume_run'), { class: 'good' }) : button('Pause', () => void pull('pause_run')),
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

/**
 * A chapter as a timeline: what the model has said, the steps that ran without a request, and the requests with their results.
 * @param {{said: string, requests: Request[]}} chapter
 * @param {Map<Request, import('../types.js').Step[]>} between
 */
function drawChapter({ said, requests }, between) {
	let before = '';
	return el('li', {},
		said && el('div', { class: 'said user prose' }, hostile(said)),
		el('ol', { class: 'entries timeline' }, requests.flatMap((request) => {
			const text = request.context.assistant_text ?? '';
			const isNew = text !== '' && text !== before;
			before = text;
			const steps = (between.get(request) ?? []).map((step) => el('li', { class: 'passed' }, drawStep(step)));
			const { preview } = request.details.result ?? {};
			return [...steps, isNew && el('li', { class: 'said prose' }, hostile(text)), drawEntry(request),
				preview && el('li', { class: 'passed' }, el('p', { class: 'returned muted' }, hostile(shortened(preview))))].filter(Boolean);
		})));
}

const SHORT = 240; // characters of a result

/** @param {string} text */
function shortened(text) {
	return text.length > SHORT ? `${text.slice(0, SHORT)}…` : text;
}
