// How a call is best read: each kind of call has a presenter. Arguments that no
// presenter shows stay in the table: none is left out.

import { content, edit, patch, patchesOf } from './present/file.js';
import { http } from './present/http.js';
import { mail } from './present/mail.js';
import { shell } from './present/shell.js';
import { sql } from './present/sql.js';
import { isObject, show } from './text/json.js';
import { isPatch } from './text/patch.js';
import { countHidden } from './text/visible.js';
import { isResult, wordsFor } from './words.js';

/** @typedef {import('./types.js').Request} Request */
/** @typedef {import('./text/diff.js').DiffLine} DiffLine */

/**
 * One part of a call. A script and a text have a text, a difference has lines, fields
 * and headers have pairs of a name and a value. A file has lines, or a text where it is
 * not known what it replaces.
 * @typedef {Object} Part
 * @property {'script'|'text'|'diff'|'file'|'fields'|'headers'} type
 * @property {string} label
 * @property {string} [path] of a file
 * @property {string} [status] what becomes of the file, such as new file
 * @property {string} [hint] about the numbers of the lines
 * @property {string} [text]
 * @property {import('./text/colour.js').Language} [language]
 * @property {DiffLine[]} [lines]
 * @property {[string, unknown][]} [pairs]
 */

/**
 * What a presenter has found in the arguments. It has taken out those that it shows.
 * @typedef {Object} Found
 * @property {string} does what the call does, in words that follow "wants to"; '' if only the tool's name is known
 * @property {Part[]} parts
 * @property {[string, unknown][]} [lead] the argument with the path of a file
 * @property {string} [note] what is known of that file
 * @property {string[]} [matters] what to look at first, such as who gets something
 */

/** @typedef {Required<Found> & {rest: [string, unknown][]}} Presentation rest: the arguments that no part shows */

/** The presenters. The first one that finds its arguments shows the call. */
const PRESENTERS = [shell, patch, edit, sql, http, mail, content];

const NOTHING = { does: '', parts: [], lead: [], note: '', matters: [], rest: [] };

/** A line about an approval without an effect. @param {Request} request */
export function notRun({ outcome }) {
	return outcome?.state === 'not_released' ? `approved, not run: ${outcome.reason}` : '';
}

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
	const known = presented.get(request);
	if (known) return known;
	const presentation = read(request);
	presented.set(request, presentation);
	return presentation;
}

/** A call is shown several times, and a large difference takes a while. @type {WeakMap<Request, Presentation>} */
const presented = new WeakMap();

/** @param {Request} request @returns {Presentation} */
function read(request) {
	if (request.details.abridged) return { ...NOTHING };
	if (!isObject(request.arguments)) return presentText(request, show(request.arguments));
	const rest = new Map(Object.entries(request.arguments));
	for (const find of PRESENTERS) {
		const found = find(rest, request);
		if (found) return { ...NOTHING, ...found, rest: [...rest] };
	}
	return { ...NOTHING, rest: [...rest] };
}

/** @param {Request} request @param {string} text @returns {Presentation} */
function presentText(request, text) {
	if (isPatch(text) && !isResult(request)) return { ...NOTHING, does: 'apply a patch', parts: patchesOf('Patch', text, request) };
	const label = request.details.free_text ? wordsFor(request).input : 'Arguments (not valid JSON; as the model wrote them)';
	return { ...NOTHING, parts: [{ type: 'text', label, text }] };
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
