// Long values are folded. Hidden lines are counted, so that a call cannot be
// approved before all of it was shown.

/** The most that is shown of a text before it is folded. */
export const LIMITS = { lines: 40, characters: 4000 };

/**
 * @typedef {Object} Folded
 * @property {string} head the part that is shown at first
 * @property {string} rest the folded part; '' if there is none
 * @property {number} lines how many lines the rest has
 * @property {number} characters how many characters the rest has
 */

/**
 * Folds a text where it is longer than the limits. A text that is only a little
 * longer is left whole: to open a fold for two lines is no help.
 * @param {string} text
 * @param {{lines: number, characters: number}} [limits]
 * @returns {Folded}
 */
export function fold(text, limits = LIMITS) {
	let end = lineEnd(text, limits.lines);
	if (end > limits.characters) end = wholeCharacter(text, limits.characters);
	const rest = text.slice(end);
	const lines = count(rest, '\n') + (rest.startsWith('\n') ? 0 : 1);
	if (rest === '' || (lines <= limits.lines / 8 && rest.length <= limits.characters / 8)) {
		return { head: text, rest: '', lines: 0, characters: 0 };
	}
	return { head: text.slice(0, end), rest, lines, characters: rest.length };
}

/**
 * How many of a list of items are shown at first; the same leniency holds.
 * @param {number} items
 * @param {number} limit
 */
export function foldItems(items, limit) {
	return items <= limit + limit / 8 ? items : limit;
}

/** The place after the nth line, its line break left out. @param {string} text @param {number} n */
function lineEnd(text, n) {
	let at = -1;
	for (let line = 0; line < n; line++) {
		at = text.indexOf('\n', at + 1);
		if (at < 0) return text.length;
	}
	return at;
}

/** A place at or before at that parts no surrogate pair. @param {string} text @param {number} at */
function wholeCharacter(text, at) {
	const code = text.charCodeAt(at - 1);
	return code >= 0xd800 && code < 0xdc00 ? at - 1 : at;
}

/** @param {string} text @param {string} what */
function count(text, what) {
	let n = 0;
	for (let at = text.indexOf(what); at >= 0; at = text.indexOf(what, at + what.length)) n++;
	return n;
}
