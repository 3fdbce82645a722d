// One call of a request: its arguments, and its buttons or its outcome.

import { Failure, addFolder } from '../api.js';
import { hiddenIn, notRun, present, ruleTitle } from '../present.js';
import { causesOf, effectParts, targetsText } from '../effects.js';
import { TIMEOUT, afterApproval, byWhom } from '../decide.js';
import { write } from '../text/json.js';
import { button, countdown, el, elapsed, hostile, riskBadge } from './dom.js';
import { LOADING, alone, approvalsOf, asks, hindrance, spent } from '../session.js';
import { state } from '../store.js';
import { plain } from '../text/visible.js';
import { isResult, wordsFor } from '../words.js';
import { drawConfirm } from './confirm.js';
import { drawView } from './diff.js';
import { drawEditor } from './edit.js';
import { drawAnswer, drawQuestion, questionTitle } from './question.js';
import { drawPast } from './past.js';
import { drawMemory } from './remember.js';
import { Folds, plural } from './folds.js';
import { drawFile, drawFlags, drawPart, drawTable, drawText } from './parts.js';
import { toast } from './toast.js';

/** @typedef {import('../types.js').Request} Request */
/** @typedef {import('../api.js').Choice} Choice */

/**
 * The state of a call while it is shown: it survives when the call is drawn again.
 */
export class Card {
	mode = /** @type {'read'|'deny'|'edit'|'answer'|'remember'|'confirm'} */ ('read');
	raw = false;
	/** Whether the menu of the other answers is open. */
	menu = false;
	busy = false;
	/** An approval that is about to be sent. @type {import('../undo.js').Delay|null} */
	delay = null;
	/** The approval that is to be confirmed. @type {Choice|null} */
	confirming = null;
	note = '';
	error = '';
	/** @type {import('./edit.js').Draft|null} */
	draft = null;
	/** @type {import('./remember.js').Memory|null} */
	memory = null;
	/** What can be opened below the call, made once. @type {HTMLElement[]|null} */
	past = null;
	/** What is entered, by the place of the question. @type {Map<number, import('./question.js').Entered>} */
	answers = new Map();
	/** Whether secrets are kept for all sessions. */
	save = false;
	/** The button that gets the focus back once it is enabled again. @type {Element|null} */
	waiting = null;

	/**
	 * @param {Request} request
	 * @param {(card: Card, choice: Choice) => void} decide
	 */
	constructor(request, decide) {
		this.request = request;
		this.decide = decide;
		this.current = false;
		this.reader = state.me;
		this.folds = new Folds(() => this.draw());
		this.element = el('article', { class: 'call', id: `call-${request.id}`, tabindex: '-1' });
		this.draw();
	}

	/** Shows the present state of the request. @param {Request} request */
	update(request) {
		if (request === this.request && state.me === this.reader) return;
		if (request.status !== this.request.status) this.past = null;
		this.request = request;
		if (request.status !== 'pending') {
			this.delay?.undo();
			this.mode = 'read';
			this.answers.clear();
		}
		this.draw();
	}

	/** @param {boolean} current */
	mark(current) {
		this.current = current;
		this.element.classList.toggle('current', current);
	}

	/** @param {Card['mode']} mode */
	enter(mode) {
		this.mode = mode;
		this.error = '';
		this.draw();
		const first = mode === 'read' ? this.element : this.element.querySelector('form textarea, form input');
		/** @type {HTMLElement|null} */ (first)?.focus();
	}

	/** Shows that a decision is on its way, or why it failed. @param {boolean} busy @param {string} [error] */
	progress(busy, error = '') {
		this.busy = busy;
		this.error = error;
		this.draw();
		if (error && this.element.contains(document.activeElement)) document.activeElement?.scrollIntoView({ block: 'nearest' }); // the error moves the buttons down
	}

	draw() {
		const active = this.element.contains(document.activeElement) ? document.activeElement : null;
		const focus = active === this.element ? this.waiting : active;
		this.waiting = null;
		this.reader = state.me;
		this.folds.closed.clear();
		this.element.replaceChildren(drawHeading(this), ...drawBody(this), ...drawEnd(this), ...drawFurther(this));
		this.element.setAttribute('aria-label', asks(this.request) ? `Question: ${plain(questionTitle(this.request))}` : `${isResult(this.request) ? 'Result' : 'Call'} of ${this.request.tool_name}`);
		if (focus) this.refocus(focus);
	}

	/** The focus stays where it was, or with the call. @param {Element} before */
	refocus(before) {
		const now = before.id ? document.getElementById(before.id) : this.ends().find((one) => one.textContent === before.textContent);
		const disabled = now instanceof HTMLButtonElement && now.disabled; // as while a decision is on its way
		if (disabled) this.waiting = before;
		(disabled || !now ? this.element : now).focus({ preventScroll: true });
		if (before instanceof HTMLTextAreaElement && now instanceof HTMLTextAreaElement) now.setSelectionRange(before.selectionStart, before.selectionEnd);
	}

	/** The buttons below the call. @returns {HTMLButtonElement[]} */
	ends() {
		return [...this.element.querySelectorAll(':is(form, .actions) button')].filter((one) => one instanceof HTMLButtonElement);
	}
}

/** @param {Card} card */
function drawHeading({ request }) {
	if (asks(request)) return el('header', { class: 'asked' }, el('h2', { class: 'prose' }, hostile(questionTitle(request))));
	const title = isResult(request) ? 'Result of' : ruleTitle(request);
	return el('header', {},
		el('h2', {}, title && el('span', { class: 'title' }, hostile(title)), title && ' ', el('code', {}, hostile(request.tool_name || 'a call without a name'))),
		riskBadge(request.risk_level));
}

/** What the call does, in one line. @param {Request} request */
export function drawEffects({ effects }) {
	const parts = effectParts(effects);
	if (parts.length === 0) return false;
	return el('p', { class: 'effects' }, parts.flatMap((part, i) => [
		i > 0 && el('span', { class: 'dot' }, ' · '),
		el('span', { class: part.grave ? 'effect grave' : 'effect' }, hostile(part.text + targetsText(part)), part.final && ' ', part.final && el('span', { class: 'final' }, 'cannot be undone')),
	]));
}

/** Why people are asked. @param {Request} request */
function drawReason({ reason, rule }) {
	return el('p', { class: 'because' }, el('strong', {}, 'Why this needs approval: '), hostile(reason || 'A policy rule requires approval.'), ' ', el('span', { class: 'muted' }, '(', hostile(rule), ')'));
}

/** What follows for a call whose agent does not wait, with the texts of approvals.AgentNote. @param {Request} request */
function drawAgent(request) {
	const { agent, status } = request;
	if (!agent || agent.state === 'attached' || request.details.result) return false;
	const pending = agent.state === 'detached'
		? 'The agent has disconnected. An approved call is released when the agent reconnects.'
		: 'The agent goes on without the call. After an approval it may make the call once.';
	const ended = agent.state === 'detached' ? 'The agent gets the decision when it reconnects.' : 'The agent goes on without the call.';
	return el('p', { class: 'agent-state' }, status === 'pending' ? pending : afterApproval(request) || ended);
}

/** The body of a question: what is to be known before it is answered, or how it was asked. @param {Card} card @returns {HTMLElement[]} */
function drawQuestionBody({ request, folds }) {
	const questions = request.status === 'pending' ? [] : (request.details.questions ?? []).map((question, i) => drawQuestion(request, question, i, folds));
	const parts = [drawAgent(request), drawFlags(flagsOf(request)), ...questions].filter((part) => part !== false);
	return parts.length > 0 ? [el('div', { class: 'body' }, parts)] : [];
}

/** The warnings about a request. @param {Request} request */
function flagsOf(request) {
	const flags = [...(request.details.flags ?? [])];
	const unseen = hiddenIn(request.arguments);
	if (unseen > 0) flags.push(`${plural(unseen, 'hidden or look-alike character')}, marked below.`);
	return flags;
}

/** @param {Card} card @returns {HTMLElement[]} */
function drawBody(card) {
	const { request, folds } = card;
	if (request.details.questions) return drawQuestionBody(card);
	if (request.details.abridged) return [el('div', { class: 'body' }, drawEffects(request), el('p', { class: 'muted', id: `loading-${request.id}`, role: 'status' }, LOADING), drawPreview(request))];
	const { lead, note, parts, matters, rest } = present(request);
	const words = wordsFor(request);
	folds.causes = causesOf(request, matters);
	return [el('div', { class: 'body' },
		drawEffects(request),
		drawAgent(request),
		words.effects && el('p', { class: 'prose' }, hostile(request.description), el('br'), words.effects),
		drawFlags(flagsOf(request)),
		card.raw
			? drawRaw(request, folds)
			: [...drawFile(lead, note, parts, folds), ...parts.map((part, i) => drawPart(part, `part ${i}`, folds)), drawCommands(request, parts[0]?.text), drawRest(parts.length > 0, rest, folds)],
		drawReason(request),
		el('div', {}, drawRawButton(card), !card.raw && drawView(parts, folds)))];
}

/** @param {Card} card */
function drawRawButton(card) {
	const read = asks(card.request) ? 'Hide the raw JSON' : isResult(card.request) ? 'Read as text' : 'Read as a call';
	return button(card.raw ? read : 'Raw JSON', () => {
		card.raw = !card.raw;
		card.draw();
	}, { class: 'quiet small', 'aria-pressed': String(card.raw) });
}

/** What can be opened below the buttons, where nothing covers it. @param {Card} card */
function drawFurther(card) {
	if (card.request.details.questions) return [el('div', { class: 'further asked' }, drawRawButton(card), card.raw && drawRaw(card.request, card.folds))];
	const past = card.past ??= drawPast(card.request);
	return past.length > 0 ? [el('div', { class: 'further' }, past)] : [];
}

/** The preview of an abridged request. @param {Request} request */
export function drawPreview(request) {
	return el('section', { class: 'part' }, el('p', { class: 'label' }, 'Preview'), el('p', { class: 'preview' }, plain(request.args_preview || request.resource)));
}

/** @param {boolean} beside @param {[string, unknown][]} rest @param {Folds} folds */
function drawRest(beside, rest, folds) {
	if (rest.length === 0) return beside ? null : el('p', { class: 'muted' }, 'The call has no arguments.');
	return el('section', { class: 'part' }, el('p', { class: 'label' }, beside ? 'Other arguments' : 'Arguments'), drawTable(rest, folds));
}

/** @param {Request} request @param {Folds} folds */
function drawRaw(request, folds) {
	const written = request.details.raw_arguments;
	return [
		el('section', { class: 'part' }, el('p', { class: 'label' }, `${wordsFor(request).subject} as JSON`), drawText(write(request.arguments, 2), 'raw', folds)),
		written && el('section', { class: 'part' }, el('p', { class: 'label' }, 'The text that the model wrote'), drawText(written, 'written', folds)),
	];
}

/** The commands that policy found, unless the script is just that one. @param {Request} request @param {string} [script] */
function drawCommands(request, script) {
	const commands = request.details.commands ?? [];
	if (commands.length === 0 || (commands.length === 1 && commands[0] === script)) return null;
	return el('section', { class: 'part commands' },
		el('p', { class: 'label' }, commands.length === 1 ? 'Runs one command' : `Runs ${commands.length} commands`),
		el('ol', {}, commands.map((command) => el('li', {}, hostile(command)))));
}

/** The buttons, a form, or the outcome. @param {Card} card @returns {HTMLElement[]} */
function drawEnd(card) {
	if (card.request.status !== 'pending') return [drawOutcome(card.request), ...drawResult(card)];
	if (card.delay) return [drawDelay(card.delay)];
	const error = card.error ? [el('p', { class: 'error', role: 'alert' }, hostile(card.error))] : [];
	if (card.mode === 'deny') return [drawDenial(card, error)];
	if (card.mode === 'edit') return [drawEditor(card, error)];
	if (card.mode === 'answer') return [drawWords(card, error)];
	if (card.mode === 'confirm') return [drawConfirm(card, error)];
	if (card.mode === 'remember') return [drawMemory(card, error)];
	if (card.request.details.questions) return [drawAnswer(card, error)];
	return [...votes(card.request), ...error, drawButtons(card)];
}

/** The approval that is about to be sent. @param {import('../undo.js').Delay} delay */
function drawDelay(delay) {
	return el('div', { class: 'actions delay', role: 'group', 'aria-label': 'Approval about to be sent' },
		el('p', {}, 'Approving this critical call in ', countdown(new Date(delay.until).toISOString())),
		button('Undo', delay.undo, { class: 'undo', key: 'Esc', id: 'undo' }));
}

/** The approvals so far, where several are needed. @param {Request} request */
function votes(request) {
	if (request.demands) return request.demands.map((demand, i) => tally(demand.required_approvals, approvalsOf(request, i), ` of ${demand.reviewers.join(' or ')}`, ` (${demand.rule})`));
	if (request.required_approvals <= 1) return [];
	return [tally(request.required_approvals, request.decisions)];
}

/** @param {number} required @param {import('../types.js').Decision[]} given @param {string} [groups] @param {string} [rule] */
function tally(required, given, groups = '', rule = '') {
	const names = given.map(byWhom).join(', ');
	return el('p', { class: 'votes' }, el('strong', {}, `${given.length} of ${required} approvals`), groups && hostile(groups), names && hostile(`: ${names}`), rule && hostile(rule));
}

/** @param {Card} card */
function drawButtons(card) {
	const folded = card.folds.closed.size;
	const hindered = hindrance(card.request, state.me);
	const useless = hindered || spent(card.request, state.me);
	const byOne = alone(card.request, state.me);
	const unready = useless || (card.request.details.abridged ? LOADING : '');
	const id = `${useless ? 'why-not' : 'loading'}-${card.request.id}`;
	const press = (/** @type {string} */ key, /** @type {string} */ not) => ({ key, disabled: card.busy || not !== '', 'aria-keyshortcuts': key, 'aria-describedby': not ? id : null, title: not ? plain(not) : null });
	const why = !useless && folded > 0 && el('span', { class: 'why' },
		`${plural(folded, 'section')} collapsed. Expand to approve: `,
		button('Expand everything', () => card.folds.openAll(), { class: 'link' }));
	return el('div', { class: 'actions' },
		useless && el('p', { class: 'why', id }, hostile(useless)),
		button(card.request.details.passkey ? 'Approve with passkey' : 'Approve', () => card.decide(card, { action: 'approve' }), { class: 'good approve', ...press('a', unready), ...(folded > 0 ? { disabled: true } : {}) }),
		why,
		button('Deny…', () => card.enter('deny'), { class: 'bad deny', ...press('d', hindered) }),
		byOne && drawMenu(card, { disabled: card.busy || unready !== '', 'aria-describedby': unready ? id : null }, folded > 0));
}

/**
 * The other answers to a call: buttons for those that the server states as possible, a line with the reason for the rest.
 * @param {Card} card @param {Record<string, any>} state of its buttons @param {boolean} isFolded whether a part of the call is not shown
 */
function drawMenu(card, state, isFolded) {
	const { actions } = card.request;
	if (!actions) return false;
	const forever = actions.always.reason ? actions.never : actions.always;
	/** @type {[string, {reason: string}, () => void, Record<string, any>][]} */
	const entries = [
		['Edit…', actions.edit, () => card.enter('edit'), { class: 'edit', 'aria-keyshortcuts': 'e' }],
		['Answer in words…', actions.answer, () => card.enter('answer'), { class: 'words' }],
		[actions.always.reason && !actions.never.reason ? 'Always deny…' : 'Always allow…', forever, () => card.enter('remember'), { class: 'always', 'aria-keyshortcuts': 'r' }],
		['Approve, trust 15 min', actions.window, () => card.decide(card, { action: 'approve', window: '15m' }),
			{ class: 'window', title: 'Also opens a trust window: for 15 minutes, calls of this run pass that only read and write in the workspace.', ...(isFolded ? { disabled: true } : {}) }],
	];
	const { folder } = card.request.details;
	if (folder) {
		entries.push([`Add ${plain(folder)} to this run`, { reason: '' }, () => void extend(card, folder),
			{ class: 'folder', title: 'Makes this repository a part of the run’s workspace for 24 hours. The rules decide about its files as about the others: this call passes.' }]);
	}
	const menu = /** @type {HTMLDetailsElement} */ (el('details', { class: 'more', open: card.menu, on: { toggle: () => { card.menu = menu.open; } } },
		el('summary', { id: `more-${card.request.id}` }, 'More'),
		el('div', { class: 'entries' }, entries.map(([name, { reason }, press, more]) => (reason
			? el('p', { class: 'off' }, el('strong', {}, name.replace('…', '')), ' ', hostile(reason))
			: button(name, press, { ...state, ...more, ...(more.disabled || state.disabled ? { disabled: true } : {}) }))))));
	return menu;
}

/** Adds a folder to the workspace of the card's run. heldcall then approves the pending calls that the rules allow with it. @param {Card} card @param {string} folder */
async function extend(card, folder) {
	card.progress(true);
	try {
		await addFolder(card.request.run_id, folder);
		toast(`Added to the workspace of the run: ${plain(folder)}.`);
		card.progress(false);
	} catch (error) {
		card.progress(false, error instanceof Failure ? error.message : 'Something went wrong. Reload the page.');
	}
}

/** The form in which a call is answered in words. @param {Card} card @param {HTMLElement[]} error */
function drawWords(card, error) {
	const id = `words-${card.request.id}`;
	const words = /** @type {HTMLTextAreaElement} */ (el('textarea', { id, rows: 3, maxlength: 4000, on: { input: () => { card.note = words.value; } } }));
	words.value = card.note;
	const submit = (/** @type {Event} */ event) => {
		event.preventDefault();
		if (card.busy) return;
		if (card.note.trim()) card.decide(card, { action: 'answer', answer: card.note.trim() });
		else card.progress(false, 'Write the answer first.');
	};
	return el('form', { on: { submit } },
		el('label', { for: id }, 'Answer in place of the call, which does not run (sent to the model) '), words, ...error,
		el('div', { class: 'buttons' },
			el('button', { type: 'submit', class: 'good', disabled: card.busy }, 'Answer'),
			button('Cancel', () => card.enter('read'), { class: 'quiet' })));
}

/** @param {Card} card @param {HTMLElement[]} error */
function drawDenial(card, error) {
	const id = `note-${card.request.id}`;
	const note = /** @type {HTMLTextAreaElement} */ (el('textarea', { id, rows: 3, maxlength: 4000, placeholder: 'Say what to do instead.', on: {
		input: () => { card.note = note.value; },
		keydown: (/** @type {KeyboardEvent} */ event) => { if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) submit(event); },
	} }));
	note.value = card.note;
	const submit = (/** @type {Event} */ event) => {
		event.preventDefault();
		if (!card.busy) card.decide(card, card.note.trim() ? { action: 'deny', note: card.note.trim() } : { action: 'deny' });
	};
	return el('form', { on: { submit } },
		el('label', { for: id }, 'Reason (sent to the model) '), note, ...error,
		el('div', { class: 'buttons' },
			el('button', { type: 'submit', class: 'bad', disabled: card.busy }, 'Deny'),
			button('Cancel', () => card.enter('read'), { class: 'quiet' })));
}

const ENDS = {
	approved: 'Approved', denied: 'Denied', answered: 'Answered', expired: 'Expired', cancelled: 'Cancelled', pending: '',
};

/** Reasons of a cancellation, with the texts of approvals.CancelReasons. @type {Record<string, string>} */
const WHY_CANCELLED = {
	agent_gone: 'its agent has gone',
	agent_restarted: 'its agent was started again, and another request asks about the call',
	run_aborted: 'its run was stopped',
	not_recorded: 'it or another call of its turn could not be recorded',
	internal_error: 'internal error (see the log)',
};

/** The release of the call and its result. @param {Card} card */
function drawResult({ request, folds }) {
	const result = request.details.result;
	if (!result) return [];
	const released = el('p', {}, 'Released to the agent ', elapsed(result.released_at), !result.received_at && ', no result yet');
	if (!result.received_at) return [el('section', { class: 'result' }, released)];
	return [el('section', { class: result.error ? 'result failed' : 'result' }, released,
		el('p', { class: 'label' }, el('strong', {}, result.error ? 'Failed' : 'Result'), ' (reported by the agent ', elapsed(result.received_at), ')'),
		drawText(result.preview ?? '', 'result', folds),
		result.truncated && el('p', { class: 'muted' }, 'The rest of the result is not recorded.'),
		result.next_text && el('p', { class: 'label' }, 'Model’s next message'),
		result.next_text && el('div', { class: 'said prose' }, hostile(result.next_text)))];
}

/** How a request ended, and by whom. @param {Request} request */
function drawOutcome(request) {
	const decision = request.decisions.at(-1);
	const edited = decision?.action === 'modify_args';
	const why = request.details.cancel_reason;
	const automatic = decision?.reviewer_id === TIMEOUT;
	return el('div', { class: `outcome ${request.status}` },
		el('strong', {}, automatic ? wordsFor(request).ran : edited ? 'Approved with changes' : ENDS[request.status]),
		decision && !automatic && el('span', {}, ' by ', hostile(byWhom(decision)), ' '),
		decision?.passkey && el('span', {}, 'with a passkey '),
		decision?.window && el('span', {}, `and a trust window of ${plain(decision.window)} `),
		decision?.patterns && el('span', {}, 'and from now on: ', decision.patterns.map((pattern) => [el('code', {}, hostile(pattern)), ' ']).flat()),
		request.details.ended_at && elapsed(request.details.ended_at),
		notRun(request) && el('p', { class: 'note not-run' }, hostile(notRun(request))),
		why && el('span', {}, hostile(WHY_CANCELLED[why] ?? why.replaceAll('_', ' '))),
		decision?.action === 'answer' && el('div', { class: 'note' }, drawText(write({ answer: decision.answer, selected: decision.selected, values: decision.values, responses: decision.responses }, 2), 'answer', new Folds(() => {}))),
		decision?.note && el('p', { class: 'note' }, '“', hostile(decision.note), '”'),
		decision?.modified_args !== undefined && el('div', { class: 'note' }, drawText(write(decision.modified_args, 2), 'edited', new Folds(() => {}))));
}
