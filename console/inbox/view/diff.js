// Differences as in a review: a file with its head, the lines taken out and put in, one
// below the other or side by side.

import { causeSpans } from '../effects.js';
import { colours } from '../text/colour.js';
import { tally } from '../text/diff.js';
import { LIMITS, foldItems } from '../text/fold.js';
import { button, el, hostile, isNarrow } from './dom.js';
import { plural, unfolder } from './folds.js';

/** @typedef {import('../present.js').Part} Part */
/** @typedef {import('../text/colour.js').Language} Language */
/** @typedef {import('../text/diff.js').DiffLine} DiffLine */
/** @typedef {import('../text/spans.js').Span} Span */
/** @typedef {import('./folds.js').Folds} Folds */

const VIEW = 'diff'; // the name of the setting
const CHUNK = 200; // lines of one table: tables that are out of sight are not laid out

/** Whether differences are shown side by side. There is no room for it on a phone. */
const isSplit = () => !isNarrow() && localStorage.getItem(VIEW) === 'split';

/**
 * The file that a call writes, with a head that stays while it is closed.
 * @param {Part} part
 * @param {string} key identifies the file's fold in the call
 * @param {Folds} folds
 * @param {HTMLElement|null} text drawn where the part has no lines
 */
export function drawWritten({ path = '', status, hint, label, lines, language }, key, folds, text) {
	const details = /** @type {HTMLDetailsElement} */ (el('details', { class: 'part written', open: !folds.collapsed.has(key), on: { toggle: () => {
		if (details.open) folds.collapsed.delete(key);
		else folds.collapsed.add(key);
	} } },
	el('summary', {},
		path ? el('code', {}, hostile(path, causeSpans(path, folds.causes))) : el('span', { class: 'label' }, hostile(label)),
		status && el('span', { class: status === 'new file' ? 'badge' : 'badge grave' }, hostile(status)),
		lines && lines.length > 0 && drawCounts(lines)),
	!lines && el('p', { class: 'label' }, hostile(label)),
	lines?.length === 0 ? el('p', { class: 'hint' }, status === 'deleted' ? 'The whole file is removed.' : status === 'new file' ? 'The file is empty.' : 'No line changes.')
		: lines ? drawDiff(lines, key, folds, { language, isSplit: isSplit() }) : text,
	hint && el('p', { class: 'hint' }, hint)));
	return details;
}

/** The button that shows differences side by side or one below the other, if the parts have any. @param {Part[]} parts @param {Folds} folds */
export function drawView(parts, folds) {
	if (isNarrow() || !parts.some(({ type, lines }) => type === 'file' && lines?.some(({ sign }) => sign === '-'))) return false;
	const press = () => {
		localStorage.setItem(VIEW, isSplit() ? 'unified' : 'split');
		folds.redraw();
	};
	return button('Side by side', press, { class: 'quiet small', 'aria-pressed': String(isSplit()) });
}

/** @param {DiffLine[]} lines */
export function drawCounts(lines) {
	const { added, removed } = tally(lines);
	return el('span', { class: 'counts' }, el('span', { class: 'more' }, `+${added}`), ' ', el('span', { class: 'less' }, `−${removed}`));
}

/**
 * Lines taken out and put in.
 * @param {DiffLine[]} lines
 * @param {string} key
 * @param {Folds} folds
 * @param {{language?: Language, isSplit?: boolean}} [how]
 */
export function drawDiff(lines, key, folds, { language = '', isSplit = false } = {}) {
	const most = shownLines(lines);
	const closed = most < lines.length && folds.isClosed(key);
	const shown = closed ? lines.slice(0, most) : lines;
	const isNumbered = lines.some((line) => line.n);
	const spans = spansOf(shown, language, folds);
	const rows = isSplit ? pairs(shown).map((pair) => drawPair(pair, isNumbered, spans)) : shown.map((line) => drawLine(line, isNumbered, spans));
	const tables = [];
	for (let at = 0; at < rows.length; at += CHUNK) tables.push(el('table', { class: isSplit ? 'diff split' : 'diff' }, el('tbody', {}, rows.slice(at, at + CHUNK))));
	return el('div', { class: 'block' },
		lines.length === 0 ? el('pre', { class: 'muted' }, 'nothing changes') : tables.length === 1 ? tables : tables.map((table) => el('div', { class: 'lines' }, table)),
		closed && unfolder(folds, key, plural(lines.length - most, 'line')));
}

/** How many lines of a difference are within the limits. @param {DiffLine[]} lines */
function shownLines(lines) {
	let characters = 0;
	const long = lines.findIndex((line) => (characters += line.text.length) > LIMITS.characters * 2);
	return Math.min(foldItems(lines.length, LIMITS.lines), long < 0 ? lines.length : long);
}

/** The styles of each line: what has changed, the colours of its language, and what made policy ask. @param {DiffLine[]} lines @param {Language} language @param {Folds} folds */
function spansOf(lines, language, folds) {
	/** @type {Map<DiffLine, Span[]>} */
	const spans = new Map(lines.map((line) => [line, line.sign === '@' ? causeSpans(line.text, folds.causes) : []]));
	for (const sign of ['-', '+']) colourSide(lines.filter((line) => line.sign === sign || line.sign === ' '), sign, language, spans);
	for (const line of lines) {
		const [from, to] = line.changed ?? [0, 0];
		if (to > from) spans.get(line)?.push({ from, to, style: 'changed' });
	}
	return spans;
}

/** Adds the colours of one side, which is read as a whole: a comment may have several lines. @param {DiffLine[]} lines @param {string} sign @param {Language} language @param {Map<DiffLine, Span[]>} spans */
function colourSide(lines, sign, language, spans) {
	const found = language ? colours(lines.map((line) => line.text).join('\n'), language) : [];
	let [at, next] = [0, 0];
	for (const line of lines) {
		const end = at + line.text.length;
		while (next < found.length && found[next].to <= at) next++;
		for (let i = next; i < found.length && found[i].from < end; i++) {
			if (line.sign === ' ' && sign === '-') break; // a kept line has the colours of the new side
			spans.get(line)?.push({ from: Math.max(found[i].from, at) - at, to: Math.min(found[i].to, end) - at, style: found[i].style });
		}
		at = end + 1;
	}
}

const SIGNS = { '-': ['out', '−', 'removed: '], '+': ['in', '+', 'added: '], ' ': ['', '', ''], '@': ['at', '', ''] };

/** @param {DiffLine} line @param {boolean} isNumbered whether lines have a column for their number @param {Map<DiffLine, Span[]>} spans */
function drawLine(line, isNumbered, spans) {
	const [style, sign, spoken] = SIGNS[line.sign];
	return el('tr', { class: style },
		isNumbered && el('td', { class: 'n', 'aria-hidden': 'true' }, line.n ? String(line.n) : ''),
		el('td', { class: 'sign', 'aria-hidden': 'true' }, sign),
		el('td', {}, spoken && el('span', { class: 'unseen' }, spoken), hostile(line.text, spans.get(line))));
}

/** @typedef {[DiffLine|undefined, DiffLine|undefined]} Pair a line on both sides, or one of them */

/** The lines side by side: those taken out beside those put in. @param {DiffLine[]} lines @returns {Pair[]} */
export function pairs(lines) {
	/** @type {Pair[]} */
	const all = [];
	let free = 0; // the first pair without a new line
	for (const line of lines) {
		if (line.sign === '+' && free < all.length) {
			all[free++][1] = line;
			continue;
		}
		all.push(line.sign === '+' ? [undefined, line] : line.sign === '-' ? [line, undefined] : [line, line]);
		if (line.sign !== '-') free = all.length;
	}
	return all;
}

/** @param {Pair} pair @param {boolean} isNumbered @param {Map<DiffLine, Span[]>} spans */
function drawPair([before, after], isNumbered, spans) {
	if (before?.sign === '@') return el('tr', { class: 'at' }, el('td', { colspan: isNumbered ? 4 : 2 }, hostile(before.text, spans.get(before))));
	const side = (/** @type {DiffLine|undefined} */ line, /** @type {number|undefined} */ n) => {
		const [style, , spoken] = line ? SIGNS[line.sign] : ['none', '', ''];
		return [
			isNumbered && el('td', { class: `n ${style}`, 'aria-hidden': 'true' }, n ? String(n) : ''),
			el('td', { class: style }, spoken && el('span', { class: 'unseen' }, spoken), line && hostile(line.text, spans.get(line))),
		];
	};
	return el('tr', {}, side(before, before?.old ?? before?.n), side(after, after?.n));
}
