// Changes of files: a patch and an edit as removed and added lines, a written file as
// its content.

import { diffLines, numbered } from '../text/diff.js';
import { isObject } from '../text/json.js';
import { isPatch, patchLines } from '../text/patch.js';

/** @typedef {import('../present.js').Found} Found */
/** @typedef {import('../present.js').Part} Part */

const PATCHES = ['patch', 'input', 'patchText', 'diff'];
const CONTENTS = ['content', 'contents', 'file_text', 'insert_text', 'new_source', 'code_edit', 'text'];
const PATHS = ['file_path', 'filePath', 'path', 'target_file', 'notebook_path', 'TargetFile', 'absolute_path', 'filename'];
const EDITS = [['old_string', 'new_string'], ['oldString', 'newString'], ['old_str', 'new_str'], ['oldText', 'newText'], ['old_text', 'new_text'], ['search', 'replace']];

/** @param {string} label @param {string} text @returns {Part} */
export function patchOf(label, text) {
	return { type: 'diff', label, lines: numbered(patchLines(text)) };
}

/** @param {Map<string, any>} rest @returns {Found|null} */
export function patch(rest) {
	const name = PATCHES.find((one) => typeof rest.get(one) === 'string' && isPatch(rest.get(one)));
	if (!name) return null;
	const part = patchOf(name, rest.get(name));
	rest.delete(name);
	return { does: 'apply a patch', lead: pathOf(rest), parts: [part] };
}

/** One edit, or a list of them. @param {Map<string, any>} rest @returns {Found|null} */
export function edit(rest) {
	const single = editPart(Object.fromEntries(rest), 'Edit');
	if (single) {
		for (const name of single.names) rest.delete(name);
		return { does: 'edit a file', lead: pathOf(rest), parts: [single.part] };
	}
	const edits = rest.get('edits');
	if (!Array.isArray(edits) || edits.length === 0) return null;
	const parts = edits.map((one, i) => editPart(one, `Edit ${i + 1} of ${edits.length}`));
	if (parts.some((part, i) => !part || Object.keys(edits[i]).length !== part.names.length)) return null;
	rest.delete('edits');
	return { does: 'edit a file', lead: pathOf(rest), parts: parts.flatMap((part) => part?.part ?? []) };
}

/** @param {any} args @param {string} label @returns {{part: Part, names: string[]}|null} */
function editPart(args, label) {
	if (!isObject(args)) return null;
	for (const names of EDITS) {
		const [before, after] = names.map((name) => (Object.hasOwn(args, name) ? args[name] : undefined));
		if (typeof before === 'string' && typeof after === 'string') {
			return { part: { type: 'diff', label: `${label}, lines counted from its beginning`, lines: numbered(diffLines(before, after), 1) }, names };
		}
	}
	return null;
}

/** @param {Map<string, any>} rest @returns {Found|null} */
export function content(rest) {
	const named = PATHS.some((name) => typeof rest.get(name) === 'string');
	const name = CONTENTS.find((one) => typeof rest.get(one) === 'string');
	if (!named || !name) return null;
	const text = rest.get(name);
	rest.delete(name);
	const lead = pathOf(rest);
	const fresh = rest.get('command') === 'create'; // of the editors that refuse it for a file that exists
	return { does: fresh ? 'create a file' : 'write a file', lead, note: fresh ? 'new file' : '', parts: [{ type: 'text', label: `${name}, ${lineCount(text)}`, text, language: languageOf(String(lead[0]?.[1] ?? '')) }] };
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
