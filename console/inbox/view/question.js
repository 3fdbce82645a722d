// Questions of a model: their options and fields, and the form with which people answer.

import { hindrance } from '../session.js';
import { state } from '../store.js';
import { headline } from '../words.js';
import { button, el, hostile } from './dom.js';
import { drawTable } from './parts.js';

/** @typedef {import('./call.js').Card} Card */
/** @typedef {import('../types.js').Request} Request */
/** @typedef {import('../types.js').Question} Question */
/** @typedef {import('../types.js').Option} Option */
/** @typedef {import('./parts.js').Folds} Folds */

/**
 * What a person has entered for one question.
 * @typedef {{selected: Set<string>, text: string, values: Map<string, string>, shown: Set<string>}} Entered
 */

/** Recommended options are first. @param {Question} question */
function ranked({ options = [] }) {
	return [...options.filter((option) => option.recommended), ...options.filter((option) => !option.recommended)];
}

/** The question of a request for its heading: that of a single one is whole. @param {Request} request */
export function questionTitle(request) {
	const questions = request.details.questions ?? [];
	if (questions.length === 1) return questions[0].question || headline(request);
	return questions.length > 1 ? `${questions.length} questions` : headline(request);
}

/** A question that has ended: its options and what else was asked. @param {Request} request @param {Question} question @param {number} i its place @param {Folds} folds */
export function drawQuestion(request, question, i, folds) {
	const [decision] = request.decisions.slice(-1);
	const selected = (decision?.responses?.[question.id ?? ''] ?? decision)?.selected ?? [];
	return el('section', { class: 'part asked' },
		request.kind === 'combined' && el('p', { class: 'prose' }, hostile(question.question || 'Values')),
		drawOptions(question, (option) => [selected.includes(option.id) && el('span', { class: 'badge chosen' }, 'selected')], (_, ...parts) => el('li', { class: 'option' }, ...parts), 'ul'),
		(question.fields ?? []).length > 0 && el('ul', {}, (question.fields ?? []).map((field) => el('li', {}, el('code', {}, hostile(field.name))))),
		drawOther(question, i, folds));
}

/** The facts of options, each a column where an option has it. @type {{name: string, of: (option: Option) => Node|string}[]} */
const FACTS = [
	{ name: 'Time', of: ({ estimated_time: time }) => (time ? hostile(time) : '') },
	{ name: 'Cost', of: ({ estimated_cost: cost }) => (cost ? hostile(cost) : '') },
	{ name: 'Risk', of: ({ risk_level: risk }) => (risk ? el('span', { class: `risk risk-${risk}` }, risk) : '') },
];

/**
 * The options as cards, whose facts are below each other.
 * @param {Question} question
 * @param {(option: Option) => import('./dom.js').Child[]} marks what else is known of an option
 * @param {(n: number, ...parts: import('./dom.js').Child[]) => HTMLElement} card draws one with its parts, by its place
 * @param {string} [tag]
 */
function drawOptions(question, marks, card, tag = 'div') {
	const options = ranked(question);
	if (options.length === 0) return false;
	const facts = FACTS.filter(({ of }) => options.some((option) => of(option)));
	return el(tag, { class: `options facts-${facts.length}` }, options.map((option, n) => card(n,
		el('span', { class: 'what' },
			el('strong', {}, hostile(option.label)), option.recommended && el('span', { class: 'badge recommended' }, 'recommended'),
			question.default === option.id && el('span', { class: 'badge', title: 'The answer if nobody answers in time.' }, 'default'), ...marks(option),
			option.description && el('span', { class: 'prose' }, hostile(option.description)),
			...(option.risks ?? []).map((risk) => el('span', { class: 'harm prose' }, 'Risk: ', hostile(risk)))),
		...facts.map(({ name, of }) => el('span', { class: 'fact' }, of(option) && [el('span', { class: 'name' }, `${name} `), of(option)])))));
}

/** What the model wrote beside the question, which changes nothing. @param {Question} question @param {number} i @param {Folds} folds */
function drawOther({ other = [] }, i, folds) {
	return other.length > 0 && el('section', { class: 'part' }, el('p', { class: 'label' }, 'Other arguments'),
		drawTable(other.map(({ name, value }) => [name, value]), folds, `other ${i}`));
}

/** The form of a pending request. @param {Card} card @param {HTMLElement[]} error */
export function drawAnswer(card, error) {
	const { request } = card;
	const questions = request.details.questions ?? [];
	const hindered = hindrance(request, state.me);
	const submit = (/** @type {Event} */ event) => {
		event.preventDefault();
		if (!card.busy && !hindered) card.decide(card, answer(card, questions));
	};
	return el('form', { class: 'answer', on: { submit } },
		questions.map((question, i) => drawFields(card, question, i)),
		questions.some((question) => (question.fields ?? []).some((field) => field.secret)) && drawSave(card), ...error,
		hindered && el('p', { class: 'why' }, hostile(hindered)),
		el('div', { class: 'buttons' },
			el('button', { type: 'submit', class: 'good', disabled: card.busy || Boolean(hindered) }, 'Answer'),
			button('Decline…', () => card.enter('deny'), { class: 'bad deny', disabled: card.busy || Boolean(hindered), 'aria-keyshortcuts': 'd' })));
}

/** @param {Card} card @param {number} i @returns {Entered} */
function entered(card, i) {
	let one = card.answers.get(i);
	if (!one) card.answers.set(i, (one = { selected: new Set(), text: '', values: new Map(), shown: new Set() }));
	return one;
}

/** @param {Card} card @param {Question} question @param {number} i */
function drawFields(card, question, i) {
	const own = entered(card, i);
	const most = question.max_selections ?? 0;
	const id = `answer-${card.request.id}-${i}`;
	const several = most > 1;
	const choose = (/** @type {Option} */ option) => (/** @type {Event} */ event) => {
		if (!several) own.selected.clear();
		if (/** @type {HTMLInputElement} */ (event.target).checked) own.selected.add(option.id);
		else own.selected.delete(option.id);
		card.draw();
	};
	const options = ranked(question);
	const choice = (/** @type {number} */ n, /** @type {import('./dom.js').Child[]} */ ...parts) => el('label', { class: 'option', for: `${id}-${n}` },
		el('input', { type: several ? 'checkbox' : 'radio', name: id, id: `${id}-${n}`, checked: own.selected.has(options[n].id), on: { change: choose(options[n]) },
			disabled: several && own.selected.size >= most && !own.selected.has(options[n].id) }), ...parts);
	const alone = card.request.kind !== 'combined'; // then the heading of the card has the question
	return el('fieldset', { class: 'asked tall' },
		el('legend', { class: alone ? 'unseen' : 'prose' }, hostile(question.question || 'Values that the agent asks for')),
		question.tool && el('p', { class: 'hint' }, 'For ', hostile(question.tool)),
		several && el('p', { class: 'hint' }, `Select up to ${most}.`), drawOptions(question, () => [], choice),
		question.allow_free_text && drawText(own, `${id}-text`, options.length > 0 ? 'Or answer in your own words' : 'Your answer'),
		(question.fields ?? []).map((field, n) => drawField(card, own, field, `${id}-field-${n}`)),
		question.default && el('p', { class: 'hint' }, 'If nobody answers in time: ', hostile(options.find(({ id: one }) => one === question.default)?.label ?? question.default)),
		drawOther(question, i, card.folds));
}

/** @param {Entered} own @param {string} id @param {string} label */
function drawText(own, id, label) {
	const text = /** @type {HTMLTextAreaElement} */ (el('textarea', { id, rows: 3, maxlength: 8000, on: { input: () => { own.text = text.value; } } }));
	text.value = own.text;
	return el('div', {}, el('label', { for: id }, label), text);
}

/** A secret is in the property of its field only, never in an attribute. @param {Card} card @param {Entered} own @param {import('../types.js').QuestionField} field @param {string} id */
function drawField(card, own, field, id) {
	const shown = !field.secret || own.shown.has(field.name);
	const input = /** @type {HTMLInputElement} */ (el('input', {
		id, type: shown ? 'text' : 'password', autocomplete: shown ? 'off' : 'new-password', spellcheck: 'false', placeholder: field.placeholder, 'aria-describedby': `${id}-about`,
		on: { input: () => { own.values.set(field.name, input.value); } },
	}));
	input.value = own.values.get(field.name) ?? field.default ?? '';
	const toggle = () => {
		if (shown) own.shown.delete(field.name);
		else own.shown.add(field.name);
		card.draw();
	};
	return el('div', { class: 'field' },
		el('label', { for: id }, hostile(field.label || field.name), field.required ? ' (required)' : '', field.label && field.label !== field.name && [' ', el('code', {}, hostile(field.name))]),
		el('div', { class: 'input-row' }, input, drawPaste(card, own, field, id),
			field.secret && button(shown ? 'Hide' : 'Show', toggle, { id: `${id}-show`, class: 'quiet small', 'aria-pressed': String(shown), 'aria-label': `Show the value of ${field.name}` })),
		el('p', { class: 'hint', id: `${id}-about` }, hostile([field.description, field.secret && 'A secret: the model gets a handle, never the value.', field.pattern && `Pattern: ${field.pattern}`].filter(Boolean).join(' '))));
}

/** Null where the browser lets no page read the clipboard: over plain HTTP, and in some browsers always. @param {Card} card @param {Entered} own @param {import('../types.js').QuestionField} field @param {string} id */
function drawPaste(card, own, field, id) {
	if (!navigator.clipboard?.readText) return null;
	const paste = async () => {
		const text = (await navigator.clipboard.readText().catch(() => '')).replace(/[\r\n]+$/, ''); // as a copied line ends
		if (text) own.values.set(field.name, text);
		card.progress(card.busy, text ? '' : 'Nothing was pasted: the clipboard has no text, or the browser does not let this page read it. Paste with the keyboard.');
	};
	return button('Paste', paste, { id: `${id}-paste`, class: 'quiet small', 'aria-label': `Paste the value of ${field.name}` });
}

/** @param {Card} card */
function drawSave(card) {
	const id = `answer-${card.request.id}-save`;
	return el('label', { class: 'choice', for: id },
		el('input', { type: 'checkbox', id, checked: card.save, on: { change: (/** @type {Event} */ event) => {
			card.save = /** @type {HTMLInputElement} */ (event.target).checked;
		} } }), 'Keep the secret for all sessions of this agent');
}

/** The decision with what was entered. @param {Card} card @param {Question[]} questions */
function answer(card, questions) {
	const responses = questions.map((question, i) => {
		const own = entered(card, i);
		const values = (question.fields ?? []).map(({ name }) => [name, own.values.get(name) ?? '']).filter(([, value]) => value);
		if (question.fields) return { values: Object.fromEntries(values) };
		return { ...(own.text.trim() ? { answer: own.text.trim() } : {}), ...(own.selected.size > 0 ? { selected: [...own.selected] } : {}) };
	});
	const action = { action: 'answer', ...(card.save ? { save: true } : {}) };
	if (card.request.kind !== 'combined') return { ...action, ...responses[0] };
	return { ...action, responses: Object.fromEntries(questions.map((question, i) => [question.id, responses[i]])) };
}
