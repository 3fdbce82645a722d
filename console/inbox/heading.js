// What several calls do together, as approvals.Heading has it; both are tested with one table.

import { write } from './text/json.js';

/** @typedef {import('./types.js').Effect} Effect */
/** @typedef {import('./types.js').Request} Request */

/**
 * The words for a kind of effect.
 * @typedef {Object} Words
 * @property {string} kind
 * @property {string} [files] the verb for files that tools for files name; none: the place of the effect does not matter
 * @property {string} [paths] the verb for paths that commands name, which may be folders
 * @property {(n: number) => string} calls the words for all else, in some calls
 * @property {boolean} [later] of effects with a class of files that run later
 */

/** @type {(verb: string) => (n: number) => string} */
const inCalls = (verb) => (n) => `${verb} in ${n} ${n === 1 ? 'call' : 'calls'}`;

/** The words in the order of the heading. @type {Words[]} */
const WORDS = [
	{ kind: 'privilege', calls: inCalls('uses other rights') },
	{ kind: 'destroy', files: 'destroys', paths: 'destroys', calls: inCalls('destroys data') },
	{ kind: 'secret', calls: inCalls('may use secrets') },
	{ kind: 'send', calls: inCalls('sends data') },
	{ kind: 'install', calls: inCalls('installs packages') },
	{ kind: 'run', calls: inCalls('runs other code') },
	{ kind: 'run', later: true, calls: inCalls('writes what runs later') },
	{ kind: 'unknown', calls: inCalls('has unknown effects') },
	{ kind: 'write', files: 'edits', paths: 'writes', calls: inCalls('writes data') },
	{ kind: 'check', calls: (n) => `runs ${n} ${n === 1 ? 'check' : 'checks'}` },
	{ kind: 'fetch', calls: inCalls('fetches data') },
	{ kind: 'read', files: 'reads', paths: 'reads', calls: inCalls('reads data') },
	{ kind: 'none', calls: inCalls('changes nothing') },
];

const KINDS = new Set(WORDS.map(({ kind }) => kind));

/** What calls do together, such as "Edits 3 files in src/, runs 2 checks"; "" if no effect is known. @param {Pick<Request, 'effects'|'details'>[]} requests */
export function heading(requests) {
	/** @type {string[]} */
	const parts = [];
	for (const words of WORDS) {
		if (words.kind === 'none' && parts.length > 0) break;
		for (const place of words.files ? ['outside', '', 'workspace'] : ['']) {
			const text = part(words, requests, place);
			if (text) parts.push(text);
		}
	}
	const text = parts.join(', ');
	return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Words in the arguments of calls that may hold a secret, as approvals has them. */
const SECRET = /authorization|bearer|passw|secret|token|credential|cookie|(?:api|access|private)[_-]?key/i;

/** Whether the arguments of a call may hold a secret, as approvals.Request.MayHoldSecrets has it. @param {Request} request */
function mayHoldSecrets({ details, args_preview: preview = '', arguments: args, effects = [] }) {
	if (details.questions) return false;
	return Boolean(details.abridged) || (details.secrets ?? []).length > 0 || SECRET.test(preview) || SECRET.test(write(args)) || effects.some(({ kind }) => kind === 'secret');
}

/** The heading for notifications, which others may read: it names no targets of calls that may hold secrets. @param {Request[]} requests */
export function noticeHeading(requests) {
	return heading(requests.map((request) => (mayHoldSecrets(request) ? { ...request, effects: request.effects?.map((effect) => ({ ...effect, target: '' })) } : request)));
}

/** @param {Words} words @param {Pick<Request, 'effects'|'details'>[]} requests @param {string} place */
function part(words, requests, place) {
	const covers = (/** @type {Effect} */ effect) => (KINDS.has(effect.kind) ? effect.kind : 'unknown') === words.kind && Boolean(effect.later) === Boolean(words.later) && (!words.files || (effect.place ?? '') === place);
	const doing = requests.map((request) => ({ request, effects: (request.effects ?? []).filter(covers) })).filter(({ effects }) => effects.length > 0);
	if (doing.length === 0) return '';
	const effects = doing.flatMap((one) => one.effects);
	const targets = [...new Set(effects.map(({ target }) => target ?? ''))];
	const named = words.kind !== 'destroy' && doing.every(({ request }) => (request.details.commands ?? []).length === 0);
	const final = (words.kind === 'destroy' || words.kind === 'send') && effects.some(({ irreversible }) => irreversible);
	let text = words.calls(doing.length);
	if (words.files && place) text = `${named ? words.files : words.paths} ${pathsText(targets, named ? 'files' : 'paths', place)}`;
	else if (words.files && targets.length === 1 && targets[0]) text = `${words.paths} ${targets[0]}`;
	return text + (final ? ' (cannot be undone)' : '');
}

/** @param {string[]} targets @param {string} noun @param {string} place */
function pathsText(targets, noun, place) {
	const folder = place === 'workspace' ? commonFolder(targets) : '';
	const where = place === 'outside' ? ' outside the workspace' : folder ? ` in ${folder}/` : ' in the workspace';
	if (targets.length === 1 && targets[0]) return targets[0] + (place === 'workspace' ? '' : where);
	if (targets.some((target) => !target || isPattern(target))) return noun + where;
	return `${targets.length} ${noun}${where}`;
}

/** Whether a target is a pattern: the calls do not show which paths match it. @param {string} target */
const isPattern = (target) => /[*?[{…]/.test(target);

/** The innermost folder of all paths; "": there is none, or a path is not known. @param {string[]} paths */
function commonFolder(paths) {
	if (paths.includes('')) return '';
	const folders = paths.map((path) => path.split('/').slice(0, -1));
	let [common] = folders;
	for (const folder of folders) {
		const end = common.findIndex((name, i) => folder[i] !== name);
		if (end >= 0) common = common.slice(0, end);
	}
	const text = common.join('/');
	return text === '' || text.startsWith('..') || isPattern(text) ? '' : text;
}
