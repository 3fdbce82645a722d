// The editor of a call's arguments: a field for each, or all of them as JSON,
// and what would change before it is sent. The server checks the result against
// the tool's own schema.

import { diffLines } from '../text/diff.js';
import { isObject, parse, write } from '../text/json.js';
import { wordsFor } from '../words.js';
import { button, el, hostile } from './dom.js';
import { drawDiff } from './diff.js';
import { Folds } from './folds.js';

/** @typedef {import('./call.js').Card} Card */
/** @typedef {import('../types.js').Request} Request */

/**
 * Arguments as they are being edited. Where fields is null, they are edited as
 * one JSON text.
 * @typedef {Object} Draft
 * @property {{name: string, isText: boolean, text: string}[]|null} fields
 * @property {string} json
 */

/**
 * The draft that changes nothing.
 * @param {Request} request
 * @returns {Draft}
 */
export function draftOf(request) {
	const args = request.arguments;
	if (request.details.free_text) return { fields: [{ name: '', isText: true, text: String(args) }], json: '' };
	if (!isObject(args)) return { fields: null, json: String(args) };
	const fields = Object.entries(args).map(([name, value]) => ({
		name, isText: typeof value === 'string', text: typeof value === 'string' ? value : write(value, 2),
	}));
	return { fields, json: write(args, 2) };
}

/**
 * The arguments of a draft. It throws an error with a text for people if the draft
 * is not JSON.
 * @param {Draft} draft
 * @returns {any}
 */
export function argumentsOf(draft) {
	if (!draft.fields) return parseField(draft.json, 'The arguments are');
	if (draft.fields.length === 1 && draft.fields[0].name === '') return draft.fields[0].text;
	return Object.fromEntries(draft.fields.map((field) => [field.name, field.isText ? field.text : parseField(field.text, `“${field.name}” is`)]));
}

/** @param {string} text @param {string} what */
function parseField(text, what) {
	try {
		return parse(text);
	} catch (error) {
		throw new Error(`${what} not JSON: ${error instanceof Error ? error.message : error}`);
	}
}

/**
 * Draws the editor of a card that is being edited.
 * @param {Card} card
 * @param {HTMLElement[]} error
 */
export function drawEditor(card, error) {
	card.draft ??= draftOf(card.request);
	const changes = el('div', { class: 'part' });
	const send = /** @type {HTMLButtonElement} */ (el('button', { type: 'submit', class: 'good' }, 'Approve with changes'));
	const review = () => {
		for (const message of error) message.remove(); // it was about another text
		reviewDraft(card, changes, send);
	};
	const form = el('form', { on: { submit: (/** @type {Event} */ event) => submit(event, card) } },
		card.draft.fields ? drawFields(card, card.draft.fields, review) : drawJSON(card, card.draft, review),
		changes, ...error,
		el('div', { class: 'buttons' }, send,
			button('Cancel', () => { card.draft = null; card.enter('read'); }, { class: 'quiet' }),
			switcher(card)),
		el('p', { class: 'hint' }, wordsFor(card.request).editHint));
	reviewDraft(card, changes, send);
	return form;
}

/** @param {Event} event @param {Card} card */
function submit(event, card) {
	event.preventDefault();
	if (card.busy || !card.draft) return;
	try {
		card.decide(card, { action: 'modify_args', modified_args: argumentsOf(card.draft) });
	} catch (error) {
		card.progress(false, error instanceof Error ? error.message : String(error));
	}
}

/** @param {Card} card @param {{name: string, isText: boolean, text: string}[]} fields @param {() => void} review */
function drawFields(card, fields, review) {
	const schema = card.request.tool.parameters?.properties ?? {};
	return fields.map((field, i) => {
		const id = `field-${card.request.id}-${i}`;
		const about = isObject(schema[field.name]) ? schema[field.name].description : '';
		return el('div', { class: 'field' },
			el('label', { for: id }, el('code', {}, hostile(field.name || 'input')), !field.isText && el('span', { class: 'about' }, ' as JSON')),
			typeof about === 'string' && about !== '' && el('span', { class: 'about' }, hostile(about)),
			area(id, field.text, (text) => { field.text = text; review(); }));
	});
}

/** @param {Card} card @param {Draft} draft @param {() => void} review */
function drawJSON(card, draft, review) {
	const id = `json-${card.request.id}`;
	return el('div', { class: 'field' },
		el('label', { for: id }, 'Arguments as JSON'),
		area(id, draft.json, (text) => { draft.json = text; review(); }));
}

/** @param {string} id @param {string} text @param {(text: string) => void} change */
function area(id, text, change) {
	const rows = Math.min(16, Math.max(2, text.split('\n').length + 1));
	const element = /** @type {HTMLTextAreaElement} */ (el('textarea', {
		id, rows, class: 'code', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', on: { input: () => change(element.value) },
	}));
	element.value = text;
	return element;
}

/** From fields to JSON and back, with what was edited so far. @param {Card} card */
function switcher(card) {
	if (card.request.details.free_text || !card.draft) return null;
	const { draft } = card;
	return button(draft.fields ? 'Edit as JSON' : 'Edit as fields', () => {
		try {
			const args = argumentsOf(draft);
			card.draft = draft.fields ? { fields: null, json: write(args, 2) } : draftOf({ ...card.request, arguments: args });
			card.enter('edit');
		} catch (error) {
			card.progress(false, error instanceof Error ? error.message : String(error));
		}
	}, { class: 'quiet' });
}

/** Shows what the draft would change, and lets it be sent only if it changes something. @param {Card} card @param {HTMLElement} changes @param {HTMLButtonElement} send */
function reviewDraft(card, changes, send) {
	if (!card.draft) return;
	let after;
	try {
		after = argumentsOf(card.draft);
	} catch (error) {
		send.disabled = true;
		changes.replaceChildren(el('p', { class: 'error' }, hostile(error instanceof Error ? error.message : String(error))));
		return;
	}
	const before = card.request.arguments;
	const same = write(before) === write(after);
	send.disabled = same || card.busy;
	const lines = diffLines(...readable(before, after)).filter((line) => line.sign !== ' ' || line.text.trim() !== '');
	const folds = new Folds(() => {});
	folds.opened.add('changes');
	changes.replaceChildren(
		el('p', { class: 'label' }, same ? 'Nothing is changed yet.' : 'What changes'),
		.../** @type {Node[]} */ (same ? [] : [drawDiff(lines, 'changes', folds)]));
}

/** Both sides with line breaks in texts as line breaks. @param {any} before @param {any} after @returns {[string, string]} */
function readable(before, after) {
	const lay = (/** @type {any} */ args) => (isObject(args)
		? Object.entries(args).map(([name, value]) => `${name}: ${typeof value === 'string' ? value : write(value, 2)}`).join('\n')
		: typeof args === 'string' ? args : write(args, 2));
	return [lay(before), lay(after)];
}
