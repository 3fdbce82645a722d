// Changes of files: a patch and an edit as removed and added lines, a written file as
// its content.

import { diffLines, numbered, tally } from '../text/diff.js';
import { patchFiles } from '../text/files.js';
import { isObject } from '../text/json.js';
import { isPatch, patchLines } from '../text/patch.js';

/** @typedef {import('../present.js').Found} Found */
/** @typedef {import('../present.js').Part} Part */
/** @typedef {import('../text/diff.js').DiffLine} DiffLine */
/** @typedef {import('../types.js').Request} Request */
/** @typedef {import('../types.js').WrittenFile} WrittenFile */

const PATCHES = ['patch', 'input', 'patchText', 'diff'];
const CONTENTS = ['content', 'contents', 'file_text', 'insert_text', 'new_source', 'code_edit', 'text'];
const WHOLE = ['content', 'contents', 'file_text']; // what the file is then
const EVERYWHERE = ['replace_all', 'replaceAll'];
const PATHS = ['file_path', 'filePath', 'path', 'target_file', 'notebook_path', 'TargetFile', 'absolute_path', 'filename'];
const EDITS = [['old_string', 'new_string'], ['oldString', 'newString'], ['old_str', 'new_str'], ['oldText', 'newText'], ['old_text', 'new_text'], ['search', 'replace']];

/**
 * What is known of the files of a call, in the order in which the call has them.
 * @param {Request} request
 */
function knownFiles(request) {
	const left = [...request.details.files ?? []];
	return (/** @type {string} */ path) => {
		const at = left.findIndex((file) => file.path === path);
		return at < 0 ? undefined : left.splice(at, 1)[0];
	};
}

/** Why lines have the numbers that they have. @param {WrittenFile|undefined} known @param {DiffLine[]} lines */
function hintOf(known, lines) {
	if (known?.source === 'result' && lines.some((line) => line.n)) return 'Line numbers as the agent last read the file.';
	return '';
}

/** A patch as its files, or as it is where it is not understood. @param {string} label @param {string} text @param {Request} request @returns {Part[]} */
export function patchesOf(label, text, request) {
	const files = patchFiles(text);
	if (!files) return [{ type: 'diff', label, lines: numbered(patchLines(text)) }];
	const known = knownFiles(request);
	return files.map(({ path, status, moved, hunks }) => {
		const file = status === 'deleted' ? undefined : known(path.trim());
		let grown = 0;
		const lines = hunks.flatMap((hunk, i) => {
			const first = status === 'new file' ? 1 : file?.lines?.[i] ?? 0;
			const counts = tally(hunk);
			const isStated = hunk[0]?.sign === '@' && /^@@ -\d/.test(hunk[0].text);
			if (isStated) numbered(hunk);
			else if (first > 0) place(hunk, first, first + grown);
			grown += counts.added - counts.removed;
			return hunk;
		});
		const overwrites = status === 'new file' && file?.exists ? 'overwrites' : status;
		const missing = status === '' && file && !file.exists ? 'no such file' : overwrites;
		return { type: 'file', label, path, status: moved ? `moved to ${moved}` : missing, hint: hintOf(file, lines), lines, language: languageOf(moved || path) };
	});
}

/** Numbers the lines of a hunk whose heading does not state where it is. @param {DiffLine[]} hunk @param {number} before @param {number} after */
function place(hunk, before, after) {
	numbered(hunk.filter((line) => line.sign !== '@'), before, after);
}

/** @param {Map<string, any>} rest @param {Request} request @returns {Found|null} */
export function patch(rest, request) {
	const name = PATCHES.find((one) => typeof rest.get(one) === 'string' && isPatch(rest.get(one)));
	if (!name) return null;
	const parts = patchesOf(name, rest.get(name), request);
	rest.delete(name);
	return { does: 'apply a patch', lead: pathOf(rest), parts };
}

/** One edit, or a list of them, of one file. @param {Map<string, any>} rest @param {Request} request @returns {Found|null} */
export function edit(rest, request) {
	const args = Object.fromEntries(rest);
	const single = changeOf(args);
	if (single) {
		for (const name of single.names) rest.delete(name);
		return { does: 'edit a file', ...edited(rest, [single], request) };
	}
	const edits = rest.get('edits');
	if (!Array.isArray(edits) || edits.length === 0) return null;
	const changes = edits.map(changeOf);
	if (changes.some((change, i) => !change || Object.keys(edits[i]).some((name) => !change.names.includes(name) && !EVERYWHERE.includes(name)))) return null;
	rest.delete('edits');
	return { does: 'edit a file', ...edited(rest, changes.flatMap((change) => change ?? []), request) };
}

/** @typedef {{before: string, after: string, names: string[], all: boolean}} Change */

/** The change that arguments have. @param {any} args @returns {Change|null} */
function changeOf(args) {
	if (!isObject(args)) return null;
	for (const names of EDITS) {
		const [before, after] = names.map((name) => (Object.hasOwn(args, name) ? args[name] : undefined));
		if (typeof before === 'string' && typeof after === 'string') return { before, after, names, all: EVERYWHERE.some((name) => args[name] === true) };
	}
	return null;
}

/** @param {Map<string, any>} rest @param {Change[]} changes @param {Request} request @returns {{lead: [string, unknown][], parts: Part[]}} */
function edited(rest, changes, request) {
	const lead = pathOf(rest);
	const path = String(lead[0]?.[1] ?? '');
	const known = knownFiles(request)(path);
	const firsts = changes.map((_, i) => known?.lines?.[i] ?? 0);
	const lines = changes.flatMap(({ before, after, all }, i) => {
		const grown = changes.reduce((sum, other, j) => sum + (j < i && firsts[j] > 0 && firsts[j] < firsts[i] ? breaks(other.after) - breaks(other.before) : 0), 0);
		/** @type {DiffLine[]} */
		const heads = changes.length > 1 || all ? [{ sign: '@', text: `Edit ${i + 1} of ${changes.length}${all ? ', wherever the text is' : ''}` }] : [];
		return [...heads, ...numbered(diffLines(before, after), firsts[i], firsts[i] + grown)];
	});
	return { lead, parts: [{ type: 'file', label: 'Edit', path, status: known && !known.exists ? 'no such file' : '', hint: hintOf(known, lines), lines, language: languageOf(path) }] };
}

/** @param {string} text */
const breaks = (text) => text.split('\n').length;

/** @param {Map<string, any>} rest @param {Request} request @returns {Found|null} */
export function content(rest, request) {
	const named = PATHS.some((name) => typeof rest.get(name) === 'string');
	const name = CONTENTS.find((one) => typeof rest.get(one) === 'string');
	if (!named || !name) return null;
	const text = rest.get(name);
	rest.delete(name);
	const lead = pathOf(rest);
	const path = String(lead[0]?.[1] ?? '');
	const fresh = rest.get('command') === 'create'; // of the editors that refuse it for a file that exists
	const whole = WHOLE.includes(name) && !rest.get('append');
	const known = whole ? knownFiles(request)(path) : undefined;
	const status = known ? (known.exists ? 'overwrites' : 'new file') : fresh ? 'new file' : '';
	/** @type {Part} */
	const part = { type: 'file', label: `${name}, ${lineCount(text)}`, path, status, language: languageOf(path) };
	if (known && (!known.exists || known.text)) part.lines = rewritten(known.text ?? '', text);
	else part.text = text;
	return { does: fresh ? 'create a file' : 'write a file', lead, note: status, parts: [part] };
}

/** The difference between two texts of a file. @param {string} before @param {string} after */
function rewritten(before, after) {
	const lines = numbered(diffLines(before.replace(/\n$/, ''), after.replace(/\n$/, '')), 1);
	if (before !== '' && after !== '' && before.endsWith('\n') !== after.endsWith('\n')) {
		lines.push({ sign: '@', text: after.endsWith('\n') ? 'A line break is added at the end of the file.' : 'The line break at the end of the file is removed.' });
	}
	return lines;
}

/** Takes the argument with the path out. @param {Map<string, any>} rest @returns {[string, unknown][]} */
function pathOf(rest) {
	const name = PATHS.find((one) => typeof rest.get(one) === 'string');
	if (!name) return [];
	const path = rest.get(name);
	rest.delete(name);
	return [[name, path]];
}

/** @param {string} text */
function lineCount(text) {
	const lines = text === '' ? 0 : text.replace(/\n$/, '').split('\n').length;
	return `${lines.toLocaleString('en')} line${lines === 1 ? '' : 's'}`;
}

/** The language of a file, by the end of its name. @param {string} path @returns {import('../text/colour.js').Language} */
export function languageOf(path) {
	const [, end = ''] = /\.(\w+)$/.exec(path.toLowerCase()) ?? [];
	if (['sh', 'bash', 'zsh'].includes(end)) return 'shell';
	if (end === 'sql') return 'sql';
	if (['py', 'rb', 'yaml', 'yml', 'toml', 'pl', 'r', 'tf'].includes(end)) return 'hash';
	return ['js', 'mjs', 'ts', 'tsx', 'jsx', 'go', 'java', 'kt', 'c', 'h', 'cc', 'cpp', 'cs', 'rs', 'swift', 'php', 'json', 'css', 'scala'].includes(end) ? 'slash' : '';
}
