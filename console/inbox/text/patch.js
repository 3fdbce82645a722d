// Patches as coding agents write them: unified diffs, the format of apply_patch,
// and blocks of SEARCH and REPLACE.

import { diffLines, markChanges } from './diff.js';

/** @typedef {import('./diff.js').DiffLine} DiffLine */

/**
 * Reports whether a text is a patch of a known form.
 * @param {string} text
 */
export function isPatch(text) {
	return /^\*\*\* Begin Patch$/m.test(text)
		|| /^(?:@@ -\d|--- \S[^\n]*\n\+\+\+ )/m.test(text)
		|| /^(?:<{5,} SEARCH|-{5,} SEARCH)/m.test(text);
}

/**
 * The lines of a patch. None is left out: a line that no patch has is shown as
 * kept text.
 * @param {string} text
 * @returns {DiffLine[]}
 */
export function patchLines(text) {
	if (/^(?:<{5,} SEARCH|-{5,} SEARCH)/m.test(text)) return searchReplace(text);
	const lines = text.replace(/\n$/, '').split('\n').map((line) => {
		if (/^(?:@@|\*\*\* |diff |index |--- |\+\+\+ |rename |new file|deleted file)/.test(line)) return row('@', line);
		if (line.startsWith('+')) return row('+', line.slice(1));
		if (line.startsWith('-')) return row('-', line.slice(1));
		return row(' ', line.startsWith(' ') ? line.slice(1) : line);
	});
	return markChanges(lines);
}

/** @param {DiffLine['sign']} sign @param {string} text @returns {DiffLine} */
function row(sign, text) {
	return { sign, text };
}

/** @param {string} text @returns {DiffLine[]} */
function searchReplace(text) {
	/** @type {DiffLine[]} */
	const lines = [];
	/** @type {string[]|null} */
	let search = null;
	/** @type {string[]|null} */
	let replace = null;
	for (const line of text.replace(/\n$/, '').split('\n')) {
		if (!search && /^(?:<{5,}|-{5,}) SEARCH/.test(line)) {
			search = [];
			lines.push(row('@', line));
		} else if (search && !replace && /^={5,}\s*$/.test(line)) {
			replace = [];
		} else if (search && replace && /^(?:>{5,}|\+{5,}) REPLACE/.test(line)) {
			lines.push(...diffLines(search.join('\n'), replace.join('\n')));
			search = replace = null;
		} else if (search) {
			(replace ?? search).push(line);
		} else {
			lines.push(row('@', line));
		}
	}
	// A block without an end is shown as removed and added lines.
	if (search) lines.push(...diffLines(search.join('\n'), (replace ?? []).join('\n')));
	return lines;
}
