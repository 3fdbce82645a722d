// The passkeys of the person at the page, and the form for one more.

import { Failure, listPasskeys } from '../api.js';
import { hindrance, register, revoke, whyNot } from '../passkeys.js';
import { plain } from '../text/visible.js';
import { button, el, elapsed, fill, hostile } from './dom.js';
import { plural } from './folds.js';
import { toast } from './toast.js';

const ADDRESS = '#/passkeys';

/** Draws the page. @param {HTMLElement} place */
export async function drawPasskeys(place) {
	const list = el('ul', { class: 'entries' });
	const foot = el('div', { class: 'foot', role: 'status' }, 'Looking…');
	const form = el('div', {});
	fill(place, el('div', { class: 'column' },
		el('div', { class: 'head' }, el('h1', {}, 'Passkeys')),
		el('p', { class: 'muted' }, 'Some rules ask for your passkey when you approve a call. Your first passkey is registered as it is; each one after it, and each revocation, is confirmed with one that you have.'),
		list, foot, form));
	try {
		const passkeys = await listPasskeys();
		fill(list, ...passkeys.items.map((one) => drawOne(one, place)));
		fill(foot, el('p', { class: 'muted' }, passkeys.items.length === 0 ? 'No passkeys.' : plural(passkeys.items.length, 'passkey')));
		const why = hindrance(passkeys, ADDRESS);
		if (!why) return fill(form, drawForm(place));
		const there = location.origin !== passkeys.origin && !passkeys.unusable;
		fill(form, el('p', { role: 'note' }, hostile(why)), there && button(`Open ${passkeys.origin}`, () => location.assign(`${passkeys.origin}/${ADDRESS}`)));
	} catch (error) {
		fill(foot, el('p', { class: 'error' }, hostile(error instanceof Failure ? error.message : 'The passkeys could not be read.')));
	}
}

/** @param {import('../types.js').Passkey} passkey @param {HTMLElement} place */
function drawOne({ id, name, created_at: at, last_used_at: used }, place) {
	return el('li', { class: 'grant' },
		el('div', { class: 'terms' },
			el('p', {}, el('strong', {}, hostile(name))),
			el('p', { class: 'muted' }, 'registered ', elapsed(at), used ? ' · used ' : ' · never used', used && elapsed(used))),
		button('Revoke', () => void pull(id, name, place), { class: 'bad', 'aria-label': `Revoke ${plain(name)}` }));
}

/** @param {string} id @param {string} name @param {HTMLElement} place */
async function pull(id, name, place) {
	try {
		await revoke(id);
		toast(`Revoked: ${plain(name)}.`);
		if (location.hash === ADDRESS) void drawPasskeys(place);
	} catch (error) {
		toast(plain(whyNot(error)), true);
	}
}

/** @param {HTMLElement} place */
function drawForm(place) {
	const name = /** @type {HTMLInputElement} */ (el('input', { id: 'passkey-name', type: 'text', required: true, maxlength: 64, autocomplete: 'off', placeholder: 'Such as that of this device' }));
	const wrong = el('div', { role: 'alert' });
	const send = /** @type {HTMLButtonElement} */ (el('button', { type: 'submit', class: 'good' }, 'Register a passkey'));
	const submit = async (/** @type {Event} */ event) => {
		event.preventDefault();
		send.disabled = true;
		fill(wrong);
		try {
			const made = await register(name.value.trim());
			toast(`Registered: ${plain(made.name)}.`);
			if (location.hash === ADDRESS) void drawPasskeys(place);
		} catch (error) {
			send.disabled = false;
			fill(wrong, el('p', { class: 'error' }, hostile(whyNot(error))));
		}
	};
	return el('article', { class: 'call' }, el('form', { class: 'grant-form', on: { submit } },
		el('div', { class: 'field' }, el('label', { for: 'passkey-name' }, 'Name'), name),
		wrong,
		el('div', { class: 'buttons' }, send)));
}
