// How a call is best read: a command as a script, an edit as a difference, a
// file as its content, everything else as a table. Arguments that are not
// understood stay in the table: none is left out.

import { diffLines } from './text/diff.js';
import { isObject, show } from './text/json.js';
import { isPatch, patchLines } from './text/patch.js';
import { countHidden } from './text/visible.js';
import { isResult, wordsFor } from './words.js';

/** @typedef {import('./types.js').Request} Request */
/** @typedef {import('./text/diff.js').DiffLine} DiffLine */

/**
 * One part of a call. A script and a text have a text, a difference has lines.
 * @typedef {Object} Part
 * @property {'script'|'text'|'diff'} type
 * @property {string} label
 * @property {string} [text]
 * @property {DiffLine[]} [lines]
 */

/**
 * @typedef {Object} Presentation
 * @property {string} does what the call does, in words that follow "wants to"; '' if only the tool's name is known
 * @property {[string, unknown][]} lead the argument with the path, if there is one
 * @property {Part[]} parts
 * @property {[string, unknown][]} rest the arguments that no part shows
 */

const SCRIPTS = ['command', 'cmd', 'script', 'commands', 'CommandLine', 'code'];
const PATCHES = ['patch', 'input', 'patchText', 'diff'];
const CONTENTS = ['content', 'contents', 'file_text', 'insert_text', 'new_source', 'code_edit', 'text'];
const PATHS = ['file_path', 'filePath', 'path', 'target_file', 'notebook_path', 'TargetFile', 'absolute_path', 'filename'];
const EDITS = [['old_string', 'new_string'], ['oldString', 'newString'], ['old_str', 'new_str'], ['oldText', 'newText'], ['old_text', 'new_text'], ['search', 'replace']];

/** The title that a rule gives a request; '' where it has the one of every call, as approvals.DefaultTitle makes it. @param {Request} request */
export function ruleTitle({ title, tool_name: tool }) {
	return title && title !== `Allow ${tool || 'a call without a name'}?` ? title : '';
}

/**
 * Returns how the arguments of a request are shown. Of an abridged one they are not known.
 * @param {Request} request
 * @returns {Presentation}
 */
export function present(request) {
	if (request.details.abridged) return { does: '', lead: [], parts: [], rest: [] };
	return presentArguments(request, request.arguments);
}

/**
 * The same for arguments that are not, or not yet, those of the request.
 * @param {Request} request
 * @param {any} args
 * @returns {Presentation}
 */
export function presentArguments(request, args) {
	if (!isObject(args)) return presentText(request, show(args));
	const rest = new Map(Object.entries(args));
	const commands = (request.details.commands ?? []).length > 0;
	const path = PATHS.find((name) => typeof args[name] === 'string');
	const found = (commands && scriptPart(rest)) || patchPart(rest) || editParts(rest) || (path && contentPart(rest));
	if (!found) return { does: '', lead: [], parts: [], rest: [...rest] };
	/** @type {[string, unknown][]} */
	const lead = path && rest.delete(path) ? [[path, args[path]]] : [];
	return { does: found.does, lead, parts: found.parts, rest: [...rest] };
}

/** @param {Request} request @param {string} text @returns {Presentation} */
function presentText(request, text) {
	if (isPatch(text) && !isResult(request)) return { does: 'apply a patch', lead: [], parts: [{ type: 'diff', label: 'Patch', lines: patchLines(text) }], rest: [] };
	const label = request.details.free_text ? wordsFor(request).input : 'Arguments (not valid JSON; as the model wrote them)';
	return { does: '', lead: [], parts: [{ type: 'text', label, text }], rest: [] };
}

/** @typedef {{does: string, parts: Part[]}} Found */

/** @param {Map<string, any>} rest @returns {Found|null} */
function scriptPart(rest) {
	for (const name of SCRIPTS) {
		const value = rest.get(name);
		if (typeof value === 'string') {
			rest.delete(name);
			return { does: 'run a command', parts: [{ type: 'script', label: name, text: value }] };
		}
		if (Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === 'string')) {
			rest.delete(name);
			return { does: 'run a command', parts: [wordsPart(name, value)] };
		}
	}
	return null;
}

/** A command as a list of words; a script that a shell is given is shown as one. @param {string} name @param {string[]} words @returns {Part} */
function wordsPart(name, words) {
	const [shell, flag, script] = words;
	if (words.length === 3 && /^(?:\/(?:usr\/)?bin\/)?(?:ba|z|da)?sh$/.test(shell) && /^-l?c$/.test(flag)) {
		return { type: 'script', label: `${name}: ${shell} ${flag}`, text: script };
	}
	return { type: 'script', label: `${name}, as a list of words`, text: words.map(quote).join(' ') };
}

/** @param {string} word */
function quote(word) {
	return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** @param {Map<string, any>} rest @returns {Found|null} */
function patchPart(rest) {
	for (const name of PATCHES) {
		const value = rest.get(name);
		if (typeof value === 'string' && isPatch(value)) {
			rest.delete(name);
			return { does: 'apply a patch', parts: [{ type: 'diff', label: name, lines: patchLines(value) }] };
		}
	}
	return null;
}

/** One edit, or a list of them. @param {Map<string, any>} rest @returns {Found|null} */
function editParts(rest) {
	const single = editPart(Object.fromEntries(rest), 'Edit');
	if (single) {
		for (const name of single.names) rest.delete(name);
		return { does: 'edit a file', parts: [single.part] };
	}
	const edits = rest.get('edits');
	if (!Array.isArray(edits) || edits.length === 0) return null;
	const parts = edits.map((edit, i) => editPart(edit, `Edit ${i + 1} of ${edits.length}`));
	if (parts.some((part, i) => !part || Object.keys(edits[i]).length !== part.names.length)) return null;
	rest.delete('edits');
	return { does: 'edit a file', parts: parts.flatMap((part) => part?.part ?? []) };
}

/** @param {any} edit @param {string} label @returns {{part: Part, names: string[]}|null} */
function editPart(edit, label) {
	if (!isObject(edit)) return null;
	for (const names of EDITS) {
		const [before, after] = names.map((name) => (Object.hasOwn(edit, name) ? edit[name] : undefined));
		if (typeof before === 'string' && typeof after === 'string') {
			return { part: { type: 'diff', label, lines: diffLines(before, after) }, names };
		}
	}
	return null;
}

/** @param {Map<string, any>} rest @returns {Found|null} */
function contentPart(rest) {
	for (const name of CONTENTS) {
		const value = rest.get(name);
		if (typeof value === 'string') {
			rest.delete(name);
			return { does: 'write a file', parts: [{ type: 'text', label: name, text: value }] };
		}
	}
	return null;
}

/**
 * In how many places arguments have what cannot be seen, or read as it looks.
 * @param {unknown} value
 * @returns {number}
 */
export function hiddenIn(value) {
	if (typeof value === 'string') return countHidden(value);
	if (Array.isArray(value)) return value.reduce((n, item) => n + hiddenIn(item), 0);
	if (!isObject(value)) return 0;
	return Object.entries(value).reduce((n, [name, item]) => n + countHidden(name) + hiddenIn(item), 0);
}
