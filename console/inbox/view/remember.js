// Deciding for good: patterns, whose calls they cover, until when, and which of
// the recent calls they would have covered.

import { Failure, listTemplates, previewGrant } from '../api.js';
import { exact, left, now } from '../clock.js';
import { show, write } from '../text/json.js';
import { plain } from '../text/visible.js';
import { button, el, fill, hostile } from './dom.js';
import { plural } from './parts.js';

/** @typedef {import('./call.js').Card} Card */
/** @typedef {import('../types.js').Request} Request */

const HOUR = 3_600_000;
const DELAY = 300; // after the last change, before the preview is asked for

export const LASTS = /** @type {[string, number][]} */ ([
	['1 hour', HOUR], ['8 hours', 8 * HOUR], ['1 day', 24 * HOUR], ['7 days', 168 * HOUR], ['30 days', 720 * HOUR], ['until it is revoked', 0],
]);

/**
 * What is being remembered.
 * @typedef {Object} Memory
 * @property {'allow'|'deny'} effect
 * @property {Set<string>} chosen of the suggested patterns
 * @property {string} typed one pattern a line
 * @property {string} scope
 * @property {number} lasts milliseconds, 0: until it is revoked
 * @property {string} note
 * @property {string} template name of the one that it is, unchanged; ''
 * @property {import('../types.js').GrantTemplate[]|null} ready the templates, once they are read
 */

/** The scopes of a request in words, narrowest first. @param {Request} request @returns {[string, string][]} */
export function scopesOf({ principal, session_id: session, remember_scopes: possible = [] }) {
	const user = principal.user || 'nobody known';
	const all = /** @type {[string, string][]} */ ([
		['session', `this conversation (${session})`],
		['agent', `${principal.agent || 'this agent'} when it acts for ${user}`],
		['user', `every agent that acts for ${user}`],
		['tenant', `everybody in ${principal.tenant}`],
	]);
	return all.filter(([scope]) => (possible.length === 0 || possible.includes(scope)) && (scope !== 'session' || session));
}

/** @param {Request} request @returns {Memory} */
export function memoryOf(request) {
	return { effect: 'allow', chosen: new Set(request.suggested_patterns.slice(0, 1)), typed: '', scope: scopesOf(request)[0]?.[0] ?? 'user', lasts: 8 * HOUR, note: '', template: '', ready: null };
}

/** The patterns that are chosen or typed. @param {Memory} memory */
export function patternsOf(memory) {
	return [...new Set([...memory.chosen, ...memory.typed.split('\n').map((line) => line.trim()).filter(Boolean)])];
}

/** @param {Memory} memory */
function expiry(memory) {
	return memory.lasts ? new Date(now() + memory.lasts).toISOString() : undefined;
}

const UNITS = new Map([['h', HOUR], ['m', 60_000], ['s', 1000], ['ms', 1]]);

/** Milliseconds of a duration as the configuration has it: 1h30m0s. @param {string} text */
export function durationOf(text) {
	return [...text.matchAll(/([\d.]+)(h|ms|m|s)/g)].reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS.get(unit) ?? 0), 0);
}

/** Takes over a template. @param {Memory} memory @param {import('../types.js').GrantTemplate} template */
export function apply(memory, template) {
	memory.template = template.name;
	memory.effect = template.effect;
	memory.chosen.clear();
	memory.typed = template.patterns.join('\n');
	memory.scope = template.scope;
	memory.lasts = durationOf(template.expires);
}

/** What the API is to remember. A template brings its patterns itself. @param {Memory} memory */
export function wanted(memory) {
	return memory.template ? { template: memory.template, scope: memory.scope } : { patterns: patternsOf(memory), scope: memory.scope };
}

/**
 * Draws the form of a card whose decision is to be remembered.
 * @param {Card} card
 * @param {HTMLElement[]} error
 */
export function drawMemory(card, error) {
	const { request } = card;
	const memory = (card.memory ??= memoryOf(request));
	const preview = el('div', { class: 'part', role: 'status' });
	const send = /** @type {HTMLButtonElement} */ (el('button', { type: 'submit' }));
	let waiting = 0;
	const review = () => {
		label(card, memory, send);
		clearTimeout(waiting);
		waiting = setTimeout(() => void drawPreview(request, memory, preview), DELAY);
	};
	const edited = () => {
		memory.template = '';
		for (const told of error) told.remove();
		review();
	};
	const submit = (/** @type {Event} */ event) => {
		event.preventDefault();
		if (card.busy) return;
		card.decide(card, {
			action: memory.effect === 'allow' ? 'allow_always' : 'deny_always', ...wanted(memory),
			...(expiry(memory) ? { grant_expires_at: expiry(memory) } : {}), ...(memory.note.trim() ? { note: memory.note.trim() } : {}),
		});
	};
	const form = el('form', { on: { submit } }, drawFields(request, memory, edited), drawTemplates(card, memory), preview, ...error,
		card.folds.closed.size > 0 && el('p', { class: 'hint' }, 'Parts of this call are not shown. ', button('Show everything', () => card.folds.openAll(), { class: 'link' })),
		el('div', { class: 'buttons' }, send, button('Cancel', () => card.enter('read'), { class: 'quiet' })),
		el('p', { class: 'hint' }, 'Rules judge first: what a deny rule forbids no grant allows. Grants can be revoked at any time.'));
	review();
	return form;
}

/** @param {Card} card @param {Memory} memory @param {HTMLButtonElement} send */
function label(card, memory, send) {
	const allow = memory.effect === 'allow';
	send.className = allow ? 'good' : 'bad';
	send.textContent = allow ? 'Approve, and from now on' : 'Deny, and from now on';
	send.disabled = card.busy || patternsOf(memory).length === 0 || (allow && card.folds.closed.size > 0);
}

/** @param {Request} request @param {Memory} memory @param {() => void} edited */
function drawFields(request, memory, edited) {
	const id = request.id;
	const effect = (/** @type {Memory['effect']} */ value, /** @type {string} */ text) => el('label', { class: 'choice' },
		el('input', { type: 'radio', name: `effect-${id}`, checked: memory.effect === value, on: { change: () => { memory.effect = value; edited(); } } }), text);
	const patterns = request.suggested_patterns.map((pattern) => el('label', { class: 'choice' },
		el('input', { type: 'checkbox', checked: memory.chosen.has(pattern), on: { change: (/** @type {Event} */ event) => {
			if (/** @type {HTMLInputElement} */ (event.target).checked) memory.chosen.add(pattern);
			else memory.chosen.delete(pattern);
			edited();
		} } }), el('code', {}, hostile(pattern))));
	const typed = text(`typed-${id}`, 'Other patterns, one a line', memory.typed, 'bash(npm run *)', (value) => { memory.typed = value; edited(); });
	const note = text(`why-${id}`, 'Note', memory.note, '', (value) => { memory.note = value; });
	return [
		el('fieldset', {}, el('legend', {}, 'From now on'), effect('allow', 'allow'), effect('deny', 'deny')),
		el('fieldset', { class: 'tall' }, el('legend', {}, 'Calls like'), patterns, typed),
		el('div', { class: 'pair' },
			choice(`scope-${id}`, 'Whose calls', scopesOf(request), memory.scope, (value) => { memory.scope = value; edited(); }),
			choice(`lasts-${id}`, 'For how long', lastsOf(memory), String(memory.lasts), (value) => { memory.lasts = Number(value); edited(); })),
		note,
	];
}

/** How long it may last, a template's time among it. @param {Memory} memory @returns {[string, string][]} */
function lastsOf({ lasts }) {
	const all = LASTS.some(([, usual]) => usual === lasts) ? LASTS : [/** @type {[string, number]} */ ([left(lasts), lasts]), ...LASTS];
	return all.map(([words, time]) => [String(time), words]);
}

/** @param {string} id @param {string} name @param {string} value @param {string} placeholder @param {(value: string) => void} change */
function text(id, name, value, placeholder, change) {
	const area = /** @type {HTMLTextAreaElement} */ (el('textarea', { id, rows: 2, class: 'code', spellcheck: 'false', placeholder, on: { input: () => change(area.value) } }));
	area.value = value;
	return el('div', { class: 'field' }, el('label', { for: id }, name), area);
}

/** @param {string} id @param {string} name @param {[string, string][]} options @param {string} value @param {(value: string) => void} change */
function choice(id, name, options, value, change) {
	const select = /** @type {HTMLSelectElement} */ (el('select', { id, on: { change: () => change(select.value) } },
		options.map(([key, words]) => el('option', { value: key }, plain(words)))));
	select.value = value;
	return el('div', { class: 'field' }, el('label', { for: id }, name), select);
}

/** The grants that the configuration keeps ready fill in the form. @param {Card} card @param {Memory} memory */
function drawTemplates(card, memory) {
	const { request } = card;
	const place = el('div', { class: 'templates' });
	const permitted = new Set(scopesOf(request).map(([scope]) => scope));
	const draw = (/** @type {import('../types.js').GrantTemplate[]} */ ready) => {
		if (ready.length === 0) return;
		fill(place, el('span', { class: 'hint' }, 'Ready-made: '), ...ready.map((template, i) => (permitted.has(template.scope)
			? button(template.title, () => { apply(memory, template); card.progress(false); },
				{ class: 'quiet', id: `template-${request.id}-${i}`, 'aria-pressed': String(memory.template === template.name) })
			: el('span', { class: 'hint' }, `${template.title}: not for this call, whose rule does not permit the scope “${template.scope}”.`))));
	};
	if (memory.ready) draw(memory.ready);
	else void listTemplates().then(({ items }) => draw(memory.ready = items), () => {}); // without them the form is complete
	return place;
}

/** @param {Request} request @param {Memory} memory @param {HTMLElement} place */
async function drawPreview(request, memory, place) {
	const patterns = patternsOf(memory);
	if (patterns.length === 0) return fill(place, el('p', { class: 'hint' }, 'Choose or type a pattern.'));
	try {
		const seen = await previewGrant({ effect: memory.effect, ...wanted(memory), principal: request.principal, session_id: request.session_id, expires_at: expiry(memory) });
		const of = `${seen.covered} of the last ${plural(seen.calls, 'call')}${seen.since ? `, since ${exact(seen.since)}` : ''}`;
		fill(place, el('p', { class: 'label' }, `It would have covered ${of}.`),
			seen.items.length > 0 && el('div', { class: 'block' }, el('table', { class: 'covered' }, el('tbody', {}, seen.items.slice(0, 20).map((call) => el('tr', {},
				el('td', {}, el('code', {}, hostile(call.tool_name)), ' ', el('span', { class: 'preview' }, hostile(shorten(call.arguments)))),
				el('td', {}, hostile(call.principal.agent)), el('td', {}, call.then)))))),
			seen.items.length > 20 && el('p', { class: 'hint' }, `and ${seen.covered - 20} more`));
	} catch (error) {
		fill(place, el('p', { class: 'error' }, hostile(error instanceof Failure ? error.message : 'The preview could not be read.')));
	}
}

/** @param {any} args */
function shorten(args) {
	const values = typeof args === 'object' && args !== null ? Object.values(args).map(show).join(' · ') : show(args);
	return values.length > 160 ? `${values.slice(0, 160)}…` : values || write(args);
}
