// The files of a patch, each with its lines. A patch that is not understood to its last
// line has none, and is shown as it is.

import { markChanges } from './diff.js';

/** @typedef {import('./diff.js').DiffLine} DiffLine */

/**
 * @typedef {Object} PatchedFile
 * @property {string} path
 * @property {''|'new file'|'deleted'} status
 * @property {string} moved where it is moved to, or ''
 * @property {DiffLine[][]} hunks each begins with its heading, if it has one
 */

/** @typedef {{file: PatchedFile|null}} Reading the file that is read */

/** The files of a patch for apply_patch or of a unified diff; null: it is in neither form. @param {string} text @returns {PatchedFile[]|null} */
export function patchFiles(text) {
	const lines = text.trim().split('\n');
	const files = lines[0] === '*** Begin Patch' ? applied(lines) : unified(lines);
	for (const hunk of files?.flatMap((file) => file.hunks) ?? []) markChanges(hunk);
	return files;
}

/** @param {string} path @param {PatchedFile['status']} [status] @returns {PatchedFile} */
function fileOf(path, status = '') {
	return { path, status, moved: '', hunks: [] };
}

/** @param {PatchedFile} file @param {string} line */
function heading(file, line) {
	file.hunks.push([{ sign: '@', text: line }]);
}

/** Adds a line to the last hunk. @param {PatchedFile} file @param {DiffLine['sign']} sign @param {string} text */
function add(file, sign, text) {
	if (file.hunks.length === 0) file.hunks.push([]);
	file.hunks.at(-1)?.push({ sign, text });
}

/** @param {string[]} lines @returns {PatchedFile[]|null} */
function applied(lines) {
	if (lines.length < 2 || lines.at(-1) !== '*** End Patch') return null;
	/** @type {PatchedFile[]} */
	const files = [];
	let kind = '';
	for (const line of lines.slice(1, -1)) {
		const file = files.at(-1);
		const [, header = '', path = ''] = /^\*\*\* (Add|Update|Delete) File: ([^\n]+)$/.exec(line) ?? [];
		if (header) {
			kind = header;
			files.push(fileOf(path, kind === 'Add' ? 'new file' : kind === 'Delete' ? 'deleted' : ''));
		} else if (!file || !takes(file, kind, line)) {
			return null;
		}
	}
	return files.length > 0 ? files : null;
}

/** Takes a line of a file of a patch for apply_patch, if it can be one. @param {PatchedFile} file @param {string} kind @param {string} line */
function takes(file, kind, line) {
	const move = /^\*\*\* Move to: ([^\n]+)$/.exec(line);
	if (kind === 'Update' && move && file.hunks.length === 0 && !file.moved) file.moved = move[1];
	else if (kind === 'Update' && (line.startsWith('@@') || line === '*** End of File')) line.startsWith('@@') ? heading(file, line) : add(file, '@', line);
	else if (line.startsWith('+') && kind !== 'Delete') add(file, '+', line.slice(1));
	else if (kind === 'Update' && line.startsWith('-')) add(file, '-', line.slice(1));
	else if (kind === 'Update' && (line === '' || line.startsWith(' '))) add(file, ' ', line.slice(1));
	else return false;
	return true;
}

const HEADERS = /^(?:index |new file mode |deleted file mode |old mode |new mode |similarity index |dissimilarity index |rename from |rename to |copy from |copy to |Binary files )/;

/** @param {string[]} lines @returns {PatchedFile[]|null} */
function unified(lines) {
	/** @type {PatchedFile[]} */
	const files = [];
	let [before, after] = [0, 0]; // lines that are left of the hunk
	for (let i = 0; i < lines.length; i++) {
		const line = lines[i];
		const file = files.at(-1);
		const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
		if (before > 0 || after > 0 || (file && line.startsWith('\\'))) {
			if (!file || !/^(?:[-+ \\]|$)/.test(line)) return null;
			const sign = /** @type {DiffLine['sign']} */ (line.startsWith('\\') ? '@' : line[0] ?? ' ');
			add(file, sign, sign === '@' ? line : line.slice(1));
			before -= sign === '-' || sign === ' ' ? 1 : 0;
			after -= sign === '+' || sign === ' ' ? 1 : 0;
			if (before < 0 || after < 0) return null;
		} else if (hunk && file) {
			heading(file, line);
			[before, after] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)];
		} else if (line.startsWith('diff --git ')) {
			files.push(fileOf(/ b\/(.+)$/.exec(line)?.[1] ?? line));
		} else if (line.startsWith('--- ') && lines[i + 1]?.startsWith('+++ ')) {
			i += name(files, line.slice(4), lines[i + 1].slice(4));
		} else if (!file || !HEADERS.test(line)) {
			return null;
		} else if (!/^index /.test(line)) {
			add(file, '@', line);
		}
	}
	return files.length > 0 && before === 0 && after === 0 ? files : null;
}

/** Takes the two lines that name a file. @param {PatchedFile[]} files @param {string} from @param {string} to */
function name(files, from, to) {
	const [old, now] = [from, to].map((text) => text.replace(/\t.*$/, '').replace(/^[ab]\//, ''));
	const path = now === '/dev/null' ? old : now;
	const last = files.at(-1);
	const file = last && last.path === path && !last.hunks.some((hunk) => hunk.some((line) => line.sign !== '@')) ? last : fileOf(path);
	if (file !== last) files.push(file);
	file.status = old === '/dev/null' ? 'new file' : now === '/dev/null' ? 'deleted' : '';
	if (old !== now && !file.status) add(file, '@', `--- ${from}`);
	return 1;
}
