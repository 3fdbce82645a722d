// The parts of a call, drawn: scripts, texts, differences, tables. A long part
// is folded; folds that are closed are counted. What made policy ask is highlighted.

import { causeSpans } from '../effects.js';
import { colours } from '../text/colour.js';
import { amountText } from '../text/amount.js';
import { LIMITS, fold, foldItems } from '../text/fold.js';
import { isObject, show } from '../text/json.js';
import { countHidden, plain } from '../text/visible.js';
import { drawCounts, drawDiff, drawWritten } from './diff.js';
import { button, el, hostile } from './dom.js';
import { plural, unfolder } from './folds.js';

/** @typedef {import('../present.js').Part} Part */
/** @typedef {import('./folds.js').Folds} Folds */

/**
 * Draws one part.
 * @param {Part} part
 * @param {string} key identifies the part's fold in the call
 * @param {Folds} folds
 */
export function drawPart(part, key, folds) {
	if (part.type === 'file') return drawWritten(part, key, folds, part.lines ? null : drawText(part.text ?? '', key, folds, part.language));
	const label = part.type === 'diff' ? [hostile(part.label), ' ', drawCounts(part.lines ?? [])] : [hostile(part.label)];
	return el('section', { class: 'part' }, part.label && el('p', { class: 'label' }, ...label), DRAW[part.type](part, key, folds));
}

/** @type {Record<Exclude<Part['type'], 'file'>, (part: Part, key: string, folds: Folds) => HTMLElement|null>} */
const DRAW = {
	script: (part, key, folds) => drawText(part.text ?? '', key, folds, 'shell', true),
	text: (part, key, folds) => drawText(part.text ?? '', key, folds, part.language),
	diff: (part, key, folds) => drawDiff(part.lines ?? [], key, folds),
	fields: (part, key, folds) => drawTable(part.pairs ?? [], folds, key),
	headers: (part, key, folds) => drawTable(part.pairs ?? [], folds, key, drawHeader),
};

/**
 * A text of its own.
 * @param {string} text
 * @param {string} key
 * @param {Folds} folds
 * @param {import('../text/colour.js').Language} [language]
 * @param {boolean} [script]
 */
export function drawText(text, key, folds, language = '', script = false) {
	const folded = fold(text);
	const closed = folded.rest !== '' && folds.isClosed(key);
	const shown = closed ? folded.head : text;
	const pre = el('pre', { tabindex: '0' }, text === '' && !script ? el('span', { class: 'muted' }, 'empty') : hostile(shown, [...colours(shown, language), ...causeSpans(shown, folds.causes)]));
	const what = `${plural(folded.lines, 'line')}, ${plural(folded.characters, 'character')}`;
	return el('div', { class: `block ${script ? 'script' : ''}` }, pre, closed && unfolder(folds, key, what));
}

/** The file that a call changes, unless a part has it at its head. @param {[string, unknown][]} lead @param {string} note @param {Part[]} parts @param {Folds} folds */
export function drawFile(lead, note, parts, folds) {
	return lead.filter(([, path]) => !parts.some((part) => part.type === 'file' && part.path === path)).map(([name, path]) => el('p', { class: 'file' },
		el('span', { class: 'label' }, hostile(name)), ' ', el('code', {}, hostile(show(path), causeSpans(show(path), folds.causes))), note && el('span', { class: 'badge' }, note)));
}

/**
 * Arguments by name.
 * @param {[string, unknown][]} pairs
 * @param {Folds} folds
 * @param {string} [key]
 * @param {typeof drawHeader} [draw] draws a value
 */
export function drawTable(pairs, folds, key = 'rows', draw = drawCell) {
	if (pairs.length === 0) return null;
	const most = foldItems(pairs.length, LIMITS.lines);
	const closed = most < pairs.length && folds.isClosed(key);
	const rows = (closed ? pairs.slice(0, most) : pairs).map(([name, value]) => el('tr', {},
		el('th', { scope: 'row' }, hostile(name)),
		el('td', {}, draw(value, `${key} ${name}`, folds, name, moneyOf(name, pairs)))));
	return el('div', { class: 'block' },
		el('table', { class: 'arguments' }, el('tbody', {}, rows)),
		closed && unfolder(folds, key, plural(pairs.length - most, 'argument')));
}

/** An amount that has its currency beside it, with both; '' for others. @param {string} name @param {[string, unknown][]} pairs */
function moneyOf(name, pairs) {
	const of = new Map(pairs);
	return name === 'amount' ? amountText(of.get('amount'), of.get('currency')) : '';
}

/** @param {unknown} value @param {string} key @param {Folds} folds @param {string} _name @param {string} money */
function drawCell(value, key, folds, _name, money) {
	const text = show(value);
	const folded = fold(text);
	if (folded.rest === '' && isNested(value)) return drawTree(value, folds);
	const closed = folded.rest !== '' && folds.isClosed(key);
	const shown = closed ? folded.head : text;
	return [
		el('pre', {}, text === '' ? el('span', { class: 'muted' }, 'empty') : hostile(shown, causeSpans(shown, folds.causes)), beside(value, money)),
		closed && unfolder(folds, key, plural(folded.characters, 'character')),
	];
}

const SECRET_HEADER = /authorization|cookie|token|secret|api-?key/i;
const MASKABLE = 4096; // letters; a longer value is no secret

/** The value of a header: a secret is masked until it is asked for, unless something in it cannot be seen anyway. @param {unknown} value @param {string} key @param {Folds} folds @param {string} name @param {string} money */
function drawHeader(value, key, folds, name, money) {
	const mask = `mask ${key}`;
	if (!SECRET_HEADER.test(name) || typeof value !== 'string' || value.length > MASKABLE || countHidden(value) > 0 || value === '' || folds.opened.has(mask)) return drawCell(value, key, folds, name, money);
	const [scheme = ''] = /^(?:basic|bearer|digest|token) /i.exec(value) ?? [];
	return [el('pre', {}, `${scheme}••••••••  `, button('Show', () => folds.open(mask), { class: 'link', 'aria-label': `Show ${plain(name)}` }))];
}

/** An amount with its currency, or a large number with its digits in groups, beside the value as the model wrote it. @param {unknown} value @param {string} money */
function beside(value, money) {
	const isLarge = typeof value === 'number' && Math.abs(value) >= 10_000;
	const text = money || (isLarge && value.toLocaleString('en', { maximumFractionDigits: 20 }));
	return text && el('span', { class: 'muted' }, ` = ${text}`);
}

/** @param {unknown} value */
function isNested(value) {
	return (isObject(value) && Object.keys(value).length > 0) || (Array.isArray(value) && value.length > 0);
}

const DEEPEST = 6; // level of a tree that is drawn as one; what is below is JSON

/** An object or a list as a tree. @param {any} value @param {Folds} folds @param {number} [level] @returns {HTMLElement} */
function drawTree(value, folds, level = 0) {
	const isList = Array.isArray(value);
	const pairs = isList ? value.map((/** @type {unknown} */ item, /** @type {number} */ i) => /** @type {[string, unknown]} */ ([String(i + 1), item])) : Object.entries(value);
	return el('ul', { class: 'tree' }, pairs.map(([name, item]) => el('li', {},
		el('span', { class: isList ? 'place' : 'name' }, hostile(name)), ' ',
		isNested(item) && level < DEEPEST ? drawTree(item, folds, level + 1) : drawLeaf(item, folds), beside(isNested(item) ? '' : item, moneyOf(name, isList ? [] : pairs)))));
}

/** A value as JSON has it, so that a text is not taken for a number; its line breaks are line breaks. @param {unknown} value @param {Folds} folds */
function drawLeaf(value, folds) {
	const isText = typeof value === 'string';
	const text = show(value);
	return el('span', { class: isText ? 'leaf tok-string' : 'leaf tok-variable' }, isText && '“', hostile(text, causeSpans(text, folds.causes)), isText && '”');
}

/**
 * The warnings about a call, a line for each fact. The rules that may match because of it are folded below it.
 * @param {string[]} flags
 */
export function drawFlags(flags) {
	return flags.length > 0 && el('ul', { class: 'flags', 'aria-label': 'Warnings' }, flags.map((flag) => {
		const [fact, ...rules] = flag.split('\n');
		if (rules.length === 0) return el('li', {}, el('span', {}, hostile(fact)));
		return el('li', {}, el('details', {}, el('summary', {}, hostile(fact)), el('ul', {}, rules.map((rule) => el('li', {}, hostile(rule))))));
	}));
}
