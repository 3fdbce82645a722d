// The parts of a call, drawn: scripts, texts, differences, tables. A long part
// is folded; folds that are closed are counted.

import { LIMITS, fold, foldItems } from '../text/fold.js';
import { show } from '../text/json.js';
import { tokens } from '../text/shell.js';
import { button, el, hostile } from './dom.js';

/** @typedef {import('../present.js').Part} Part */
/** @typedef {import('../text/diff.js').DiffLine} DiffLine */

/**
 * Which folds of a call were opened, and which are closed as it is drawn.
 */
export class Folds {
	/** @type {Set<string>} */
	opened = new Set();
	/** @type {Set<string>} */
	closed = new Set();

	/** @param {() => void} redraw draws the call again after a fold was opened */
	constructor(redraw) {
		this.redraw = redraw;
	}

	/** Reports whether a fold is closed, and remembers it as one that is drawn so. @param {string} key */
	isClosed(key) {
		if (this.opened.has(key)) return false;
		this.closed.add(key);
		return true;
	}

	/** @param {string} key */
	open(key) {
		this.opened.add(key);
		this.redraw();
	}

	openAll() {
		for (const key of this.closed) this.opened.add(key);
		this.redraw();
	}
}

/** @param {Folds} folds @param {string} key @param {string} what */
function unfolder(folds, key, what) {
	return el('div', { class: 'unfold' }, el('span', {}, `${what} not shown`), button('Show all of it', () => folds.open(key), { 'data-unfold': key }));
}

/** @param {number} n @param {string} one */
export function plural(n, one) {
	return `${n.toLocaleString('en')} ${one}${n === 1 ? '' : 's'}`;
}

/**
 * Draws one part.
 * @param {Part} part
 * @param {string} key identifies the part's fold in the call
 * @param {Folds} folds
 */
export function drawPart(part, key, folds) {
	const drawn = part.type === 'diff' ? drawDiff(part.lines ?? [], key, folds) : drawText(part.text ?? '', key, folds, part.type === 'script');
	return el('section', { class: 'part' }, el('p', { class: 'label' }, hostile(part.label)), drawn);
}

/**
 * A text of its own.
 * @param {string} text
 * @param {string} key
 * @param {Folds} folds
 * @param {boolean} [script]
 */
export function drawText(text, key, folds, script = false) {
	const folded = fold(text);
	const closed = folded.rest !== '' && folds.isClosed(key);
	const shown = closed ? folded.head : text;
	const pre = el('pre', { tabindex: '0' }, script ? coloured(shown) : text === '' ? el('span', { class: 'muted' }, 'empty') : hostile(shown));
	const what = `${plural(folded.lines, 'line')}, ${plural(folded.characters, 'character')}`;
	return el('div', { class: `block ${script ? 'script' : ''}` }, pre, closed && unfolder(folds, key, what));
}

/** @param {string} script */
function coloured(script) {
	return tokens(script).map((token) => (token.kind ? el('span', { class: `tok-${token.kind}` }, hostile(token.text)) : hostile(token.text)));
}

/**
 * Lines taken out and put in.
 * @param {DiffLine[]} lines
 * @param {string} key
 * @param {Folds} folds
 */
export function drawDiff(lines, key, folds) {
	const most = shownLines(lines);
	const closed = most < lines.length && folds.isClosed(key);
	const rows = (closed ? lines.slice(0, most) : lines).map(drawLine);
	const table = el('table', { class: 'diff' }, el('tbody', {}, rows));
	return el('div', { class: 'block' },
		lines.length === 0 ? el('pre', { class: 'muted' }, 'nothing changes') : table,
		closed && unfolder(folds, key, plural(lines.length - most, 'line')));
}

/** How many lines of a difference are within the limits. @param {DiffLine[]} lines */
function shownLines(lines) {
	let characters = 0;
	const long = lines.findIndex((line) => (characters += line.text.length) > LIMITS.characters * 2);
	return Math.min(foldItems(lines.length, LIMITS.lines), long < 0 ? lines.length : long);
}

const SIGNS = { '-': ['out', '−', 'removed: '], '+': ['in', '+', 'added: '], ' ': ['', '', ''], '@': ['at', '', ''] };

/** @param {DiffLine} line */
function drawLine(line) {
	const [style, sign, spoken] = SIGNS[line.sign];
	const [from, to] = line.changed ?? [0, 0];
	const text = to > from
		? [hostile(line.text.slice(0, from)), el('span', { class: 'changed' }, hostile(line.text.slice(from, to))), hostile(line.text.slice(to))]
		: [hostile(line.text)];
	return el('tr', { class: style },
		el('td', { class: 'sign', 'aria-hidden': 'true' }, sign),
		el('td', {}, spoken && el('span', { class: 'unseen' }, spoken), text));
}

/**
 * Arguments by name.
 * @param {[string, unknown][]} pairs
 * @param {Folds} folds
 * @param {string} [key]
 */
export function drawTable(pairs, folds, key = 'rows') {
	if (pairs.length === 0) return null;
	const most = foldItems(pairs.length, LIMITS.lines);
	const closed = most < pairs.length && folds.isClosed(key);
	const rows = (closed ? pairs.slice(0, most) : pairs).map(([name, value]) => el('tr', {},
		el('th', { scope: 'row' }, hostile(name)),
		el('td', {}, drawCell(show(value), `${key} ${name}`, folds))));
	return el('div', { class: 'block' },
		el('table', { class: 'arguments' }, el('tbody', {}, rows)),
		closed && unfolder(folds, key, plural(pairs.length - most, 'argument')));
}

/** @param {string} text @param {string} key @param {Folds} folds */
function drawCell(text, key, folds) {
	const folded = fold(text);
	const closed = folded.rest !== '' && folds.isClosed(key);
	return [
		el('pre', {}, text === '' ? el('span', { class: 'muted' }, 'empty') : hostile(closed ? folded.head : text)),
		closed && unfolder(folds, key, plural(folded.characters, 'character')),
	];
}
