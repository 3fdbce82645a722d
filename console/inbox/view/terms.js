// The parts of every form of a grant: its duration, its fields, and the preview of
// the calls that it would have covered.

import { Failure, previewGrant } from '../api.js';
import { exact, left, now } from '../clock.js';
import { show, write } from '../text/json.js';
import { plain } from '../text/visible.js';
import { el, fill, hostile } from './dom.js';
import { plural } from './folds.js';

export const HOUR = 3_600_000;
const DELAY = 300; // after the last change, before the preview is asked for
const SHOWN = 20; // calls of a preview

const LASTS = /** @type {[string, number][]} */ ([
	['1 hour', HOUR], ['8 hours', 8 * HOUR], ['1 day', 24 * HOUR], ['7 days', 168 * HOUR], ['30 days', 720 * HOUR], ['until it is revoked', 0],
]);

/** How long a grant may last, a template's time among it. @param {number} lasts @returns {[string, string][]} */
export function lastsOf(lasts) {
	const all = LASTS.some(([, usual]) => usual === lasts) ? LASTS : [/** @type {[string, number]} */ ([left(lasts), lasts]), ...LASTS];
	return all.map(([words, time]) => [String(time), words]);
}

const UNITS = new Map([['h', HOUR], ['m', 60_000], ['s', 1000], ['ms', 1]]);

/** Milliseconds of a duration as the configuration has it: 1h30m0s. @param {string} text */
export function durationOf(text) {
	return [...text.matchAll(/([\d.]+)(h|ms|m|s)/g)].reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS.get(unit) ?? 0), 0);
}

/** When what lasts so long ends, as the API takes it. @param {number} lasts milliseconds, 0: never */
export function expiryOf(lasts) {
	return lasts ? new Date(now() + lasts).toISOString() : undefined;
}

/** The patterns of a text that has one a line. @param {string} text */
export function patternsIn(text) {
	return [...new Set(text.split('\n').map((line) => line.trim()).filter(Boolean))];
}

/** A text of several lines. @param {string} id @param {string} name @param {string} value @param {string} placeholder @param {(value: string) => void} change */
export function textField(id, name, value, placeholder, change) {
	const area = /** @type {HTMLTextAreaElement} */ (el('textarea', { id, rows: 2, class: 'code', spellcheck: 'false', placeholder, on: { input: () => change(area.value) } }));
	area.value = value;
	return el('div', { class: 'field' }, el('label', { for: id }, name), area);
}

/** One of several options. @param {string} id @param {string} name @param {[string, string][]} options @param {string} value @param {(value: string) => void} change */
export function choiceField(id, name, options, value, change) {
	const select = /** @type {HTMLSelectElement} */ (el('select', { id, on: { change: () => change(select.value) } },
		options.map(([key, words]) => el('option', { value: key }, plain(words)))));
	select.value = value;
	return el('div', { class: 'field' }, el('label', { for: id }, name), select);
}

/** Allow or deny. @param {string} name distinguishes this pair from others on the page @param {string} chosen @param {(effect: 'allow'|'deny') => void} change */
export function effectField(name, chosen, change) {
	const one = (/** @type {'allow'|'deny'} */ effect) => el('label', { class: 'choice' },
		el('input', { type: 'radio', name, checked: chosen === effect, on: { change: () => change(effect) } }), effect);
	return el('fieldset', {}, el('legend', {}, 'From now on'), one('allow'), one('deny'));
}

/** The place that shows what a grant would have covered, soon after it was asked to. */
export class Preview {
	element = el('div', { class: 'part', role: 'status' });
	#waiting = 0;
	#asked = 0;

	/** @param {() => Record<string, unknown>|null} grant the question to the API; null: it has no pattern yet */
	constructor(grant) {
		this.grant = grant;
	}

	update() {
		clearTimeout(this.#waiting);
		this.#waiting = setTimeout(() => void this.#read(), DELAY);
	}

	async #read() {
		const asked = ++this.#asked;
		const grant = this.grant();
		const drawn = grant ? await this.#ask(grant) : [el('p', { class: 'hint' }, 'Choose or type a pattern.')];
		if (asked === this.#asked) fill(this.element, ...drawn);
	}

	/** @param {Record<string, unknown>} grant */
	async #ask(grant) {
		try {
			return drawCovered(await previewGrant(grant));
		} catch (error) {
			return [el('p', { class: 'error' }, hostile(error instanceof Failure ? error.message : 'The preview could not be read.'))];
		}
	}
}

/** @param {import('../types.js').GrantPreview} seen */
function drawCovered(seen) {
	const of = `${seen.covered} of the last ${plural(seen.calls, 'call')}${seen.since ? `, since ${exact(seen.since)}` : ''}`;
	const rows = seen.items.slice(0, SHOWN).map((call) => el('tr', {},
		el('td', {}, el('code', {}, hostile(call.tool_name)), ' ', el('span', { class: 'preview' }, hostile(shorten(call.arguments)))),
		el('td', {}, hostile(call.principal.agent)), el('td', {}, call.then)));
	return [
		el('p', { class: 'label' }, `It would have covered ${of}.`),
		rows.length > 0 && el('div', { class: 'block' }, el('table', { class: 'covered' }, el('tbody', {}, rows))),
		seen.items.length > SHOWN && el('p', { class: 'hint' }, `and ${seen.covered - SHOWN} more`),
	];
}

/** @param {any} args */
function shorten(args) {
	const values = typeof args === 'object' && args !== null ? Object.values(args).map(show).join(' · ') : show(args);
	return values.length > 160 ? `${values.slice(0, 160)}…` : values || write(args);
}
