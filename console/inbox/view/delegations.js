// Delegations: the list, and the form for one more.

import { Failure, addDelegation, listDelegations, revokeDelegation } from '../api.js';
import { exact, now } from '../clock.js';
import { state } from '../store.js';
import { plain } from '../text/visible.js';
import { button, countdown, el, elapsed, fill, hostile } from './dom.js';
import { plural } from './folds.js';
import { HOUR } from './terms.js';
import { toast } from './toast.js';

/** @typedef {import('../types.js').Delegation} Delegation */

const DAY = 24 * HOUR;
const USUAL = 7 * DAY; // what the form begins with

/** Draws the page. @param {HTMLElement} place */
export async function drawDelegations(place) {
	const list = el('ul', { class: 'entries' });
	const foot = el('div', { class: 'foot', role: 'status' }, 'Looking…');
	fill(place, el('div', { class: 'column' },
		el('div', { class: 'head' }, el('h1', {}, 'Delegations'), mayDelegate() && el('a', { class: 'button', href: '#/delegations/new' }, 'New delegation')),
		el('p', { class: 'muted' }, 'A delegate can decide what the reviewer’s groups can decide, for example while the reviewer is away.'), list, foot));
	try {
		const { items } = await listDelegations();
		fill(list, ...items.map(drawOne));
		fill(foot, el('p', { class: 'muted' }, items.length === 0 ? 'No delegations.' : plural(items.length, 'delegation')));
	} catch (error) {
		fill(foot, el('p', { class: 'error' }, hostile(error instanceof Failure ? error.message : 'The delegations could not be read.')));
	}
}

/** Reviewers and admins may delegate; without configured reviewers there is no other reviewer. */
function mayDelegate() {
	return state.me !== null && state.me.role !== 'viewer' && state.me.via !== 'local';
}

/** @param {Delegation} delegation */
function drawOne(delegation) {
	const { from, to, until, note, created_by: by, created_at: at } = delegation;
	const own = state.me?.role === 'admin' || state.me?.name === from;
	const row = el('li', { class: 'grant' },
		el('div', { class: 'terms' },
			el('p', {}, el('strong', {}, hostile(to)), ' decides for ', el('strong', {}, hostile(from))),
			el('p', { class: 'muted' }, 'until ', el('time', { datetime: until }, exact(until)), ' · ', countdown(until), ' left'),
			el('p', { class: 'muted' }, 'by ', hostile(by), ' ', elapsed(at)),
			note && el('p', { class: 'prose' }, '“', hostile(note), '”')),
		own && button('Revoke', () => void pull(delegation, row), { class: 'bad', 'aria-label': `Revoke that ${plain(to)} decides for ${plain(from)}` }));
	return row;
}

/** @param {Delegation} delegation @param {HTMLElement} row */
async function pull(delegation, row) {
	try {
		await revokeDelegation(delegation.id);
		row.remove();
		toast(`Revoked. ${plain(delegation.to)} no longer decides for ${plain(delegation.from)}.`);
	} catch (error) {
		toast(error instanceof Failure ? plain(error.message) : 'Something went wrong. Reload the page.', true);
	}
}

/** Draws the form. @param {HTMLElement} place */
export function drawNewDelegation(place) {
	const me = state.me;
	const from = nameField('delegation-from', 'From', me?.name ?? '');
	const to = nameField('delegation-to', 'Delegate', '');
	from.input.disabled = me?.role !== 'admin'; // others delegate for themselves only
	const until = /** @type {HTMLInputElement} */ (el('input', { id: 'delegation-until', type: 'datetime-local', required: true }));
	until.value = localTime(now() + USUAL);
	const note = /** @type {HTMLInputElement} */ (el('input', { id: 'delegation-note', type: 'text', autocomplete: 'off', placeholder: 'Why, for those who read it later.' }));
	const wrong = el('div', { role: 'alert' });
	const send = /** @type {HTMLButtonElement} */ (el('button', { type: 'submit', class: 'good' }, 'Delegate'));
	const submit = async (/** @type {Event} */ event) => {
		event.preventDefault();
		send.disabled = true;
		wrong.replaceChildren();
		try {
			const made = await addDelegation({ from: from.input.value.trim(), to: to.input.value.trim(), until: new Date(until.value).toISOString(), note: note.value.trim() });
			toast(`${plain(made.to)} decides for ${plain(made.from)} from now on.`);
			location.hash = '#/delegations';
		} catch (error) {
			send.disabled = false;
			fill(wrong, el('p', { class: 'error' }, hostile(error instanceof Failure ? error.message : 'Something went wrong. Reload the page and check whether the delegation exists.')));
		}
	};
	fill(place, el('div', { class: 'column' },
		el('a', { class: 'back always', href: '#/delegations' }, '‹ All delegations'), el('h1', {}, 'New delegation'),
		el('p', { class: 'muted' }, 'Both must be configured reviewers. Until then either can decide; together they count as one approval.'),
		el('article', { class: 'call' }, el('form', { class: 'grant-form', on: { submit } },
			el('div', { class: 'pair' }, from.field, to.field),
			el('div', { class: 'pair' },
				el('div', { class: 'field' }, el('label', { for: 'delegation-until' }, 'Until'), until),
				el('div', { class: 'field' }, el('label', { for: 'delegation-note' }, 'Note'), note)),
			wrong,
			el('div', { class: 'buttons' }, send, button('Cancel', () => { location.hash = '#/delegations'; }, { class: 'quiet' }))))));
}

/** @param {string} id @param {string} label @param {string} value */
function nameField(id, label, value) {
	const input = /** @type {HTMLInputElement} */ (el('input', { id, type: 'text', required: true, autocomplete: 'off', spellcheck: 'false' }));
	input.value = value;
	return { input, field: el('div', { class: 'field' }, el('label', { for: id }, label), input) };
}

/** A moment as datetime-local takes it: in the reader's own zone, to the minute. @param {number} at */
export function localTime(at) {
	const date = new Date(at);
	return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
