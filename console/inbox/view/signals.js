// Signals by principal: they pause or stop all runs of an agent, a user or a tenant,
// present and future, until they are lifted.

import { Failure, listRuns, sendSignal } from '../api.js';
import { state } from '../store.js';
import { plain } from '../text/visible.js';
import { button, el, elapsed, fill, hostile } from './dom.js';
import { toast } from './toast.js';

/** @typedef {import('../types.js').Signal} Signal */
/** @typedef {import('../types.js').Request['principal']} Principal */

const FIELDS = /** @type {[keyof Principal, string][]} */ ([['agent', 'Agent'], ['user', 'User'], ['tenant', 'Tenant']]);

const DONE = { pause_run: 'Paused', abort_run: 'Stopped', resume_run: 'Resumed' };

/** The runs that a signal is about, such as “agent coder, user ann”. @param {Principal} principal */
export function whoseRuns(principal) {
	return FIELDS.filter(([name]) => principal[name]).map(([name]) => `${name} ${principal[name]}`).join(', ');
}

/** The signals in force, each with the button that lifts it; none where there are none. @param {Signal[]} signals @param {() => void} changed */
export function drawSignals(signals, changed) {
	if (signals.length === 0) return false;
	return el('section', { class: 'section' }, el('h2', {}, 'Signals in force'),
		el('ul', { class: 'entries signals' }, signals.map((signal) => drawSignal(signal, changed))));
}

/** @param {Signal} signal @param {() => void} changed */
function drawSignal(signal, changed) {
	const runs = whoseRuns(signal.principal);
	const lift = async () => {
		try {
			await sendSignal({ principal: signal.principal, action: 'resume_run' });
			toast(`Resumed: all runs of ${plain(runs)}.`);
		} catch (error) {
			toast(error instanceof Failure ? plain(error.message) : 'Something went wrong. Reload the page.', true);
		}
		changed();
	};
	return el('li', { class: 'grant' },
		el('div', { class: 'terms' },
			el('p', {}, el('strong', { class: `end ${signal.action === 'pause_run' ? 'paused' : 'aborted'}` }, DONE[signal.action]), ' all runs of ', hostile(runs)),
			el('p', { class: 'muted' }, 'by ', hostile(signal.reviewer_id), ' ', elapsed(signal.since))),
		state.me?.role === 'admin' && button('Resume', () => void lift(), { class: 'good', 'aria-label': `Resume all runs of ${plain(runs)}` }));
}

/** Draws the form of one more signal, with names of the query filled in. @param {HTMLElement} place @param {URLSearchParams} query */
export async function drawNewSignal(place, query) {
	const fields = FIELDS.map(([name, label]) => nameField(name, label, query.get(name) ?? ''));
	const wrong = el('div', { role: 'alert' });
	const send = /** @type {HTMLButtonElement} */ (el('button', { type: 'submit', class: 'bad' }, 'Pause'));
	let action = /** @type {Signal['action']} */ ('pause_run');
	const choice = (/** @type {Signal['action']} */ value, /** @type {string} */ name, /** @type {string} */ about) => el('label', { class: 'choice' },
		el('input', { type: 'radio', name: 'signal-action', checked: action === value, on: { change: () => { action = value; send.textContent = name; } } }), `${name}: ${about}`);
	const submit = async (/** @type {Event} */ event) => {
		event.preventDefault();
		send.disabled = true;
		wrong.replaceChildren();
		const [agent, user, tenant] = fields.map(({ input }) => input.value.trim());
		try {
			const made = await sendSignal({ principal: { tenant, user, agent }, action });
			toast(`${DONE[made.action]}: all runs of ${plain(whoseRuns(made.principal))}.`);
			location.hash = '#/runs';
		} catch (error) {
			send.disabled = false;
			fill(wrong, el('p', { class: 'error' }, hostile(error instanceof Failure ? error.message : 'Something went wrong. Reload the page and check which signals are in force.')));
		}
	};
	fill(place, el('div', { class: 'column' },
		el('a', { class: 'back always', href: '#/runs' }, '‹ All runs'), el('h1', {}, 'Pause or stop runs'),
		el('p', { class: 'muted' }, 'Applies to all runs of an agent, a user or a tenant, present and future, until you resume them. Several names together: only the runs that have all of them.'),
		el('article', { class: 'call' }, el('form', { class: 'grant-form', on: { submit } },
			el('fieldset', { class: 'tall' }, el('legend', {}, 'Signal'), choice('pause_run', 'Pause', 'calls wait until the runs are resumed'),
				choice('abort_run', 'Stop', 'pending requests are cancelled, model calls of the agents fail')),
			fields.map(({ field }) => field), wrong,
			el('div', { class: 'buttons' }, send, button('Cancel', () => { location.hash = '#/runs'; }, { class: 'quiet' }))))));
	const { items } = await listRuns().catch(() => ({ items: [] })); // without suggestions the form is complete
	for (const { name, known } of fields) known.append(...[...new Set(items.map((run) => run.principal[name]).filter(Boolean))].map((value) => el('option', { value })));
}

/** @param {keyof Principal} name @param {string} label @param {string} value */
function nameField(name, label, value) {
	const id = `signal-${name}`;
	const known = el('datalist', { id: `${id}-known` });
	const input = /** @type {HTMLInputElement} */ (el('input', { id, type: 'text', list: `${id}-known`, autocomplete: 'off', spellcheck: 'false', placeholder: 'any' }));
	input.value = value;
	return { name, known, input, field: el('div', { class: 'field' }, el('label', { for: id }, label), input, known) };
}
