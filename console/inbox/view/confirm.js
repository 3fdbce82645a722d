// The confirmation that a rule asks for: the reviewer types the target of the call.

import { button, el, hostile } from './dom.js';

/** @typedef {import('./call.js').Card} Card */

/** Draws the form of a card whose approval has to be confirmed. @param {Card} card @param {HTMLElement[]} error */
export function drawConfirm(card, error) {
	const { id, details: { confirm: target = '' } } = card.request;
	const typed = /** @type {HTMLInputElement} */ (el('input', { type: 'text', id: `confirm-${id}`, class: 'code', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', on: { input: () => review() } }));
	const send = /** @type {HTMLButtonElement} */ (el('button', { type: 'submit', class: 'good' }, 'Approve'));
	const review = () => { send.disabled = card.busy || typed.value.trim() !== target; };
	const submit = (/** @type {Event} */ event) => {
		event.preventDefault();
		if (card.busy || !card.confirming) return;
		const choice = { ...card.confirming, confirm: typed.value.trim() };
		card.enter('read');
		card.decide(card, choice);
	};
	review();
	return el('form', { on: { submit } },
		el('label', { for: `confirm-${id}` }, 'Type ', el('code', {}, hostile(target)), ' to approve'), typed, ...error,
		el('div', { class: 'buttons' }, send, button('Cancel', () => card.enter('read'), { class: 'quiet' })));
}
