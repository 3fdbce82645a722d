// One decision on several requests. Each is shown in full before they can be
// approved, as when they are decided one by one. Critical calls are approved by themselves.

import { Failure, getRequest } from '../api.js';
import { causesOf } from '../effects.js';
import { present, ruleTitle } from '../present.js';
import { LOADING, asks, counts } from '../session.js';
import { state } from '../store.js';
import { isDelayed, isUnconfirmed } from '../undo.js';
import { headline } from '../words.js';
import { drawEffects, drawPreview } from './call.js';
import { button, el, fill, hostile, riskBadge } from './dom.js';
import { Folds, plural } from './folds.js';
import { drawFile, drawFlags, drawPart, drawTable } from './parts.js';

/** @typedef {import('../types.js').Request} Request */
/** @typedef {import('../api.js').Choice} Choice */

const AT_ONCE = 100; // calls of one dialog

/**
 * Opens the dialog, for those that the person at the page may decide so.
 * @param {'approve'|'deny'} action
 * @param {Request[]} requests
 * @param {(requests: Request[], choice: Choice) => void} decide
 */
export function openBatch(action, requests, decide) {
	const able = requests.filter((request) => counts(action, request, state.me) && !isUnconfirmed(request, { action }));
	const own = able.filter((request) => !isDelayed([request], { action }));
	const some = own.slice(0, AT_ONCE);
	const critical = able.length - own.length;
	const typed = requests.filter((request) => isUnconfirmed(request, { action })).length;
	const questions = action === 'approve' ? requests.filter(asks).length : 0;
	const others = requests.length - own.length - questions - typed - critical;
	const note = /** @type {HTMLTextAreaElement} */ (el('textarea', { id: 'batch-note', rows: 2, maxlength: 4000, placeholder: 'Say what to do instead.' }));
	const send = /** @type {HTMLButtonElement} */ (el('button', { type: 'submit', class: action === 'approve' ? 'good' : 'bad' },
		`${action === 'approve' ? 'Approve' : 'Deny'} ${plural(some.length, 'call')}`));
	const why = el('span', { class: 'why', role: 'status' });
	/** @type {Folds[]} */
	const all = [];
	const review = () => {
		const folded = all.reduce((n, folds) => n + folds.closed.size, 0);
		const unread = some.filter((request) => request.details.abridged).length;
		send.disabled = some.length === 0 || (action === 'approve' && (folded > 0 || unread > 0));
		fill(why,
			action === 'approve' && unread > 0 && `${plural(unread, 'call')} not loaded yet. `,
			...(action === 'approve' && folded > 0 ? [`${plural(folded, 'section')} collapsed. `, button('Expand everything', () => { for (const folds of all) folds.openAll(); }, { class: 'link' }), ' '] : []),
			some.length < own.length && `The first ${AT_ONCE} of ${own.length}. `,
			questions > 0 && `${plural(questions, 'question')} left out: answer ${questions === 1 ? 'it' : 'them'} one by one. `,
			typed > 0 && `${plural(typed, 'call')} left out: approve ${typed === 1 ? 'it' : 'them'} one by one, with the target typed or with your passkey. `,
			critical > 0 && `${plural(critical, 'critical call')} left out: approve ${critical === 1 ? 'it by itself' : 'each by itself'}. `,
			others > 0 && `${plural(others, 'call')} left out: ${others === 1 ? 'it waits' : 'they wait'} for other reviewers.`);
	};
	const calls = some.map((request) => drawCall(request, action, all, review));
	const dialog = /** @type {HTMLDialogElement} */ (el('dialog', { 'aria-labelledby': 'batch-title', on: { close: () => dialog.remove() } }));
	const submit = (/** @type {Event} */ event) => {
		event.preventDefault();
		dialog.close();
		decide(some, action === 'deny' && note.value.trim() ? { action, note: note.value.trim() } : { action });
	};
	dialog.append(el('form', { on: { submit } },
		el('header', {}, el('h2', { id: 'batch-title' }, `${action === 'approve' ? 'Approve' : 'Deny'} ${plural(some.length, 'call')}?`),
			button('Close', () => dialog.close(), { class: 'quiet' })),
		el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'The calls' }, calls.map((call) => call.element)),
		action === 'deny' && el('div', { class: 'field scroll' }, el('label', { for: 'batch-note' }, 'Reason (sent to the model)'), note),
		el('footer', {}, why, button('Cancel', () => dialog.close(), { class: 'quiet' }), send)));
	document.body.append(dialog);
	review();
	dialog.showModal();
	if (action === 'approve') void readWhole(some, calls, dialog, review);
}

/**
 * Reads those of the requests whole that are abridged, one after the other, for as long as the dialog is open.
 * @param {Request[]} some
 * @param {ReturnType<typeof drawCall>[]} calls one for each of them
 * @param {HTMLDialogElement} dialog
 * @param {() => void} review
 */
async function readWhole(some, calls, dialog, review) {
	for (const [i, { id, details }] of some.entries()) {
		if (!details.abridged) continue;
		try {
			const whole = await getRequest(id);
			if (!dialog.open) return;
			some[i] = whole;
			calls[i].show(whole);
		} catch (error) {
			calls[i].fail(error instanceof Failure ? error.message : 'The call could not be read.');
		}
		review();
	}
}

/** @param {Request} request @param {'approve'|'deny'} action @param {Folds[]} all @param {() => void} review */
function drawCall(request, action, all, review) {
	const body = el('div', { class: 'body' });
	const folds = new Folds(() => { draw(); review(); });
	const draw = () => {
		folds.closed.clear();
		if (request.details.abridged) return fill(body, action === 'approve' && el('p', { class: 'muted', role: 'status' }, LOADING), drawPreview(request));
		const { lead, note, parts, matters, rest } = present(request);
		folds.causes = causesOf(request, matters);
		const flags = request.details.flags ?? [];
		body.replaceChildren(.../** @type {Node[]} */ ([
			drawEffects(request),
			drawFlags(flags),
			...drawFile(lead, note, parts, folds),
			...parts.map((part, i) => drawPart(part, `part ${i}`, folds)),
			drawTable(rest, folds),
		].filter(Boolean)));
	};
	draw();
	all.push(folds);
	const who = [request.principal.agent, request.principal.user].filter(Boolean).join(' for ');
	return {
		element: el('article', { class: 'call' },
			el('header', {}, el('h2', {}, ...(headline(request) ? [hostile(headline(request))] : [el('code', {}, hostile(request.tool_name)), ' ', hostile(ruleTitle(request))]), ' ', el('span', { class: 'muted' }, hostile(who))), riskBadge(request.risk_level)), body),
		/** Draws the request as it was read whole. @param {Request} whole */
		show(whole) {
			request = whole;
			draw();
		},
		/** @param {string} why */
		fail(why) { fill(body, el('p', { class: 'error', role: 'alert' }, hostile(why)), drawPreview(request)); },
	};
}
