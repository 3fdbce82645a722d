// The selected request: the calls of its run, the rule that requires approval, and
// the agent that makes them.

import { Failure, getRequest } from '../api.js';
import { done, named, send } from '../decide.js';
import { runKey } from '../order.js';
import { confirmApproval, whyNot } from '../passkeys.js';
import { readWhole } from '../live.js';
import { present } from '../present.js';
import { asks, waits } from '../session.js';
import { changed, put, select, state } from '../store.js';
import { delay, isDelayed, isUnsigned, isUntyped, undoesAll } from '../undo.js';
import { asksFor, isResult, wordsFor } from '../words.js';
import { Card } from './call.js';
import { button, countdown, el, elapsed, fill, hostile } from './dom.js';
import { drawLed } from './led.js';
import { Questions, several } from './questions.js';
import { shelve, unshelve } from './shelf.js';
import { announce, offerUndo, toast } from './toast.js';

/** @typedef {import('../types.js').Request} Request */
/** @typedef {import('../api.js').Choice} Choice */

/** @type {Map<string, Card>} */
const cards = new Map();
const questions = new Questions(() => { layOut(headed); heading(headed); });
let shownTurn = '';
/** @type {HTMLElement} */
let place;
/** @type {() => void} */
let advance;
let guarding = 0;
/** What the heading was drawn of. @type {Request[]} */
let headed = [];

const GUARD = 400; // milliseconds after another call has come under the keys in which a press does nothing

/**
 * Builds the detail in its place. next is called when the selected request was
 * decided, to move on from it.
 * @param {HTMLElement} main
 * @param {() => void} next
 */
export function buildDetail(main, next) {
	place = main;
	advance = next;
}

/** The card of the selected request. */
export function currentCard() {
	return cards.get(state.selected);
}

/** Draws the selected request of the store. */
export function drawDetail() {
	const selected = state.requests.get(state.selected);
	if (!selected) return drawNothing();
	const turn = [...state.requests.values()].filter((request) => runKey(request) === runKey(selected)).sort((a, b) => (a.id < b.id ? -1 : 1));
	const another = shownTurn !== runKey(selected);
	if (another) {
		undoAll();
		cards.clear();
		questions.begin();
		shownTurn = runKey(selected);
		place.scrollTop = 0;
		place.replaceChildren();
	}
	const added = turn.filter((request) => !cards.has(request.id));
	const gone = [...cards.keys()].filter((id) => !turn.some((request) => request.id === id));
	for (const id of gone) {
		cards.get(id)?.delay?.undo();
		cards.delete(id);
	}
	let moves = added.length + gone.length > 0 && !another;
	for (const request of turn) {
		const card = cards.get(request.id);
		moves ||= card?.request.status === 'pending' && (request.status !== 'pending' || isRead(card.request, request));
		if (request.details.abridged) readWhole(request.id);
		if (card) card.update(request);
		else cards.set(request.id, newCard(request));
	}
	if (moves) guard();
	questions.take(turn);
	if (added.length + gone.length > 0) layOut(turn);
	if (added.length + gone.length > 0 || turn.length !== headed.length || turn.some((request, i) => request !== headed[i])) heading(turn);
	for (const [id, card] of cards) card.mark(turn.length > 1 && id === state.selected);
}

/** The card of a request; one whose decision is about to be sent takes no other. @param {Request} request */
function newCard(request) {
	const card = new Card(request, decideOne);
	if (state.leaving.has(request.id)) card.progress(true);
	return card;
}

/** Whether an abridged call is now known whole. @param {Request} before @param {Request} now */
function isRead(before, now) {
	return Boolean(before.details.abridged) && !now.details.abridged;
}

function drawNothing() {
	undoAll();
	cards.clear();
	shownTurn = '';
	if (state.selected) return;
	const message = !state.loaded ? (state.connection === 'lost' ? 'Can’t reach heldcall.' : 'Connecting…') : [...state.requests.keys()].some((id) => !state.leaving.has(id)) ? 'Choose a request on the left.' : '';
	if (message) return fill(place, el('div', { class: 'empty' }, el('p', {}, message)));
	fill(place, el('div', { class: 'empty' }, el('h2', {}, 'Nothing to review'), el('p', {}, 'Calls allowed by policy run without asking.')));
}

/** The cards in order, with all that the calls share. @param {Request[]} turn */
function layOut(turn) {
	const [request] = turn;
	fill(place, el('div', { class: turn.length === 1 ? 'column single' : 'column' },
		el('a', { class: 'back', href: '#/' }, '‹ All requests'),
		el('header', { class: 'ask', id: 'ask' }),
		el('div', { class: 'calls' }, questions.layOut(({ id }) => cards.get(id)?.element)),
		drawLed(turn.at(-1) ?? request), ...[...new Map(turn.map((each) => [each.turn_id, each])).values()].map(said), tools(turn), facts(request)));
}

/** The heading changes as calls of the turn are decided. @param {Request[]} turn */
function heading(turn) {
	const ask = place.querySelector('#ask');
	if (!ask) return;
	headed = turn;
	const [first] = turn;
	const open = turn.filter((request) => request.status === 'pending');
	const words = wordsFor(open[0] ?? first);
	const asking = open.length > 0 && open.every(asks);
	fill(ask,
		el('h1', {}, wants(turn)),
		el('p', { class: 'facts' },
			first.principal.user && el('span', {}, 'for ', el('strong', {}, hostile(first.principal.user))),
			first.model && el('span', {}, hostile(first.model)),
			el('span', {}, elapsed(first.created_at)),
			first.agent && el('span', { class: `agent ${first.agent.state}` }, `Agent ${first.agent.state} `, elapsed(first.agent.since)),
			open.length > 0 && (open[0].on_timeout === 'approve'
				? el('span', {}, `${words.automatic} in `, countdown(open[0].expires_at))
				: el('span', {}, 'Expires in ', countdown(open[0].expires_at), asking ? '' : ` (${words.willNot})`)),
			...open.slice(0, 1).map((request) => whoDecides(request))),
		new Set(open.map(({ id, together }) => together ?? id)).size > 1 && el('div', { class: 'all' }, several('deny', open, turn)));
	questions.head();
}

/** What people are asked. Results come before the calls of their turn. @param {Request[]} turn */
function wants(turn) {
	if (turn.every(asks)) return [hostile(turn[0].principal.agent || 'An agent'), turn.length > 1 ? ` asks ${turn.length} times` : ` ${asksFor(turn[0])}`];
	const calls = turn.filter((request) => !isResult(request));
	const [{ principal, tool_name: tool }] = turn;
	const named = el('code', {}, hostile(tool || 'a tool without a name'));
	if (calls.length === 0) return turn.length > 1 ? `May the model read ${turn.length} results?` : ['May the model read the result of ', named, '?'];
	const does = calls.length > 1 ? `make ${calls.length} calls` : present(calls[0]).does;
	return [hostile(principal.agent || 'An agent'), ` wants to ${does || 'call '}`, !does && el('code', {}, hostile(calls[0].tool_name || 'a tool without a name'))];
}

/** The groups that decide, and those that the request escalates to. @param {Request} request @returns {HTMLElement|false} */
function whoDecides(request) {
	if (!request.demands) return groupsOf(request.reviewers, request.details.escalation);
	return el('span', {}, ...request.demands.flatMap(({ reviewers, escalation }, i) => [i > 0 && ' and ', groupsOf(reviewers, waits(request, i) ? escalation : undefined, i > 0 ? '' : undefined)]));
}

/** @param {string[]} reviewers @param {import('../types.js').Details['escalation']} escalation @param {string} [before] @returns {HTMLElement|false} */
function groupsOf(reviewers, escalation, before = 'Approvers: ') {
	const groups = reviewers.length > 0 && el('span', {}, before, el('strong', {}, hostile(reviewers.join(' or '))));
	if (!escalation) return groups;
	const others = hostile(escalation.to.join(' and '));
	return el('span', { class: 'escalation' }, groups, groups && ', ',
		...(escalation.escalated_at ? ['escalated to ', others, ' ', elapsed(escalation.escalated_at)] : ['also ', others, ' in ', countdown(escalation.at)]));
}

/** What the tools of the calls do; nothing for questions. @param {Request[]} turn */
function tools(turn) {
	const all = new Map(turn.filter((request) => !asks(request) && request.tool.description).map((request) => [request.tool_name, request.tool.description ?? '']));
	return all.size > 0 && el('section', { class: 'section' }, el('h3', {}, all.size === 1 ? 'Tool description (from the agent)' : 'Tool descriptions (from the agent)'),
		[...all].map(([name, description]) => el('p', { class: 'prose' }, all.size > 1 && el('code', {}, hostile(name), ' '), clipped(description))));
}

/** The messages before the call, and those before it in the process that had made it. @param {Request} request */
function said(request) {
	const { restarted } = request.details;
	return [...messages(request.context, ''), ...(restarted ? [
		el('section', { class: 'section' }, el('h3', {}, 'Before the agent was started again'),
			el('p', { class: 'facts' }, el('span', {}, 'asked ', elapsed(restarted.created_at)), el('span', {}, 'in ', el('a', { href: `#/requests/${encodeURIComponent(restarted.request_id)}` }, hostile(restarted.request_id))))),
		...messages(restarted.context, ' then'),
	] : [])];
}

/** The messages of a context. @param {Request['context']} context @param {string} when */
function messages({ last_user_message: user, assistant_text: assistant }, when) {
	return [
		user && el('section', { class: 'section' }, el('h3', {}, `User’s message${when}`), el('div', { class: 'said user prose' }, clipped(user))),
		assistant && el('section', { class: 'section' }, el('h3', {}, `Model’s message${when}`), el('div', { class: 'said prose' }, clipped(assistant))),
	].filter(Boolean);
}

const CLIP = 700;

/** A long text that is no part of the call: its beginning, and a button for the rest. @param {string} text */
function clipped(text) {
	if (text.length <= CLIP * 1.2) return el('span', {}, hostile(text));
	const whole = el('span', {}, hostile(text.slice(0, CLIP)), '… ', button('Show more', () => fill(whole, hostile(text)), { class: 'link' }));
	return whole;
}

/** @param {Request} request */
function facts(request) {
	/** @type {[string, string|Node][]} */
	const pairs = [
		['Agent', request.principal.agent], ['User', request.principal.user], ['Tenant', request.principal.tenant],
		['Model', request.model], ['Subagent', request.details.subagent ?? ''], ['Session', request.session_id],
		['Run', el('a', { href: `#/runs/${encodeURIComponent(request.run_id)}` }, hostile(request.run_id))],
		['Request', request.id], ['Call', request.tool_call_id],
	];
	return el('section', { class: 'section' }, el('h3', {}, 'Requested by'),
		el('dl', { class: 'pairs' }, pairs.filter(([, value]) => value).map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, typeof value === 'string' ? hostile(value) : value)))));
}

/** @param {Card} card @param {Choice} choice */
async function decideOne(card, choice) {
	if (card.busy || card.delay || isTooSoon()) return;
	if (isUntyped(card.request, choice)) {
		card.confirming = choice;
		return card.enter('confirm');
	}
	if (isUnsigned(card.request, choice)) {
		const assertion = await signed(card, choice);
		return assertion && decideOne(card, { ...choice, assertion });
	}
	if (isDelayed([card.request], choice)) {
		if (!await isSent(card)) return;
	} else if (undoesAll()) {
		return decideLater(card, choice);
	}
	card.progress(true);
	try {
		const { id } = card.request;
		const ended = await send(card.request, choice);
		card.progress(false);
		if (ended) moveOn(id);
	} catch (error) {
		card.progress(false, error instanceof Failure ? error.message : 'Something went wrong. Reload the page and check whether the request is still pending.');
	}
}

/** Moves on at once, and sends the decision some seconds later unless it is undone. @param {Card} card @param {Choice} choice */
async function decideLater(card, choice) {
	const { request } = card;
	const [id, what] = [request.id, `${done(choice)} in five seconds: ${named(request)}`];
	const wait = delay();
	state.leaving.set(id, wait);
	card.progress(true);
	shelve({ id, how: done(choice), what: named(request), undo: wait.undo });
	const offer = offerUndo(what, wait.undo);
	moveOn(id);
	const sends = await wait.sends;
	offer.remove();
	state.leaving.delete(id);
	unshelve(id);
	changed(0);
	cards.get(id)?.progress(false);
	if (!sends) {
		toast(`Not sent: ${named(request)}`);
		location.hash = `#/requests/${id}`;
		return;
	}
	try {
		await send(request, choice);
	} catch (error) {
		toast(`${named(request)}: ${error instanceof Failure ? error.message : 'Something went wrong. Reload the page.'}`, true);
	}
}

/** The assertion of a passkey for an approval, null if there is none. @param {Card} card @param {Choice} choice */
async function signed(card, choice) {
	card.progress(true);
	try {
		const assertion = await confirmApproval(card.request, choice);
		card.progress(false);
		return assertion;
	} catch (error) {
		card.progress(false, whyNot(error));
		return null;
	}
}

/** Whether the approval of a critical call is sent: nobody undoes it, nor leaves the request. @param {Card} card */
async function isSent(card) {
	card.delay = delay();
	card.draw();
	card.element.querySelector('button')?.blur();
	/** @type {HTMLElement|null} */ (card.element.querySelector('#undo'))?.focus({ preventScroll: true });
	announce('Approving in five seconds. Press Escape to undo.');
	const sends = await card.delay.sends;
	card.delay = null;
	card.draw();
	if (!sends && card.request.status === 'pending') toast('The approval was not sent.');
	if (!sends && card.element.isConnected) card.element.focus({ preventScroll: true });
	return sends;
}

/** Undoes what is about to be sent, as for requests that are not shown any more. */
export function undoAll() {
	for (const card of cards.values()) card.delay?.undo();
}

/** @param {string} id */
function moveOn(id) {
	if (state.selected !== id) return;
	guard();
	advance();
}

/** For a moment nothing is decided: another call is where one was, or the buttons are not where they were. */
export function guard() {
	place.dataset.moved = 'true';
	clearTimeout(guarding);
	guarding = setTimeout(() => { delete place.dataset.moved; }, GUARD);
}

/** Whether a press comes too soon after a change to be about what is shown now; it says so. */
export function isTooSoon() {
	if (place.dataset.moved) toast('This has just changed. Look at it, then press again.');
	return Boolean(place.dataset.moved);
}

/**
 * Selects a request. One that is not pending is read first.
 * @param {string} id
 */
export async function show(id) {
	if (id !== state.selected) cards.get(state.selected)?.delay?.undo();
	select(id);
	if (!id || state.requests.has(id)) return;
	fill(place, el('div', { class: 'empty' }, el('p', {}, 'Loading the request…')));
	try {
		put([await getRequest(id)]);
	} catch (error) {
		if (state.selected !== id || state.requests.has(id)) return;
		fill(place, el('div', { class: 'empty' }, el('h2', {}, 'Request not found'),
			el('p', {}, hostile(error instanceof Failure ? error.message : 'It could not be read.')), el('p', {}, el('a', { href: '#/' }, 'All requests'))));
	}
}
