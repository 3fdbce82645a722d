// What a call does, in words, and the parts of it that made policy ask.

/** @typedef {import('./types.js').Effect} Effect */
/** @typedef {import('./types.js').Request} Request */
/** @typedef {import('./text/spans.js').Span} Span */

/**
 * Effects of one kind in one place.
 * @typedef {Object} EffectPart
 * @property {string} text what happens, such as "Writes outside the workspace"
 * @property {string[]} targets
 * @property {boolean} grave it is more than a read, a check or a write in the workspace
 * @property {boolean} final it cannot be undone
 */

/**
 * The words for each kind of effect, the most dangerous kind first; whether of files that run later.
 * @type {[string, string, boolean?][]}
 */
const VERBS = [
	['privilege', 'Uses other rights'], ['destroy', 'Destroys'], ['secret', 'May use secrets'], ['send', 'Sends'], ['install', 'Installs'], ['run', 'Runs other code'],
	['run', 'Writes what runs later', true], ['unknown', 'Unknown effects'], ['check', 'Runs the project’s code'], ['write', 'Writes'], ['fetch', 'Fetches'], ['read', 'Reads'],
	['none', 'Changes nothing'],
];

/** Kinds that need no highlight where the call stays in the workspace. */
const TAME = new Set(['check', 'write', 'fetch', 'read', 'none']);

/** @type {[string|undefined, string][]} */
const PLACES = [['outside', ' outside the workspace'], [undefined, ''], ['workspace', ' in the workspace']];
const TARGETS = 3; // of a kind that are named
const HOST = /^(?:[\w-]+\.)+[\w-]+(?::\d+)?$|^localhost(?::\d+)?$/;

/** The effects by kind and place, the most dangerous first. @param {Effect[]|undefined} effects @returns {EffectPart[]} */
export function effectParts(effects = []) {
	const kindOf = (/** @type {Effect} */ { kind }) => (VERBS.some(([known]) => known === kind) ? kind : 'unknown');
	return VERBS.flatMap(([kind, verb, runsLater]) => PLACES.flatMap(([place, where]) => {
		const found = effects.filter((effect) => kindOf(effect) === kind && (effect.place || undefined) === place && Boolean(effect.later) === Boolean(runsLater));
		if (found.length === 0) return [];
		const targets = [...new Set(found.flatMap(({ target }) => target || []))];
		const classes = [...new Set(found.flatMap(({ later }) => later || []))].join(', ');
		return [{
			text: verb + (classes && ` (${classes})`) + preposition(kind, targets) + where, targets, grave: !TAME.has(kind) || place === 'outside',
			final: (kind === 'destroy' || kind === 'send') && found.some(({ irreversible }) => irreversible),
		}];
	}));
}

/** Hosts are sent to and fetched from; commands that send are named. @param {string} kind @param {string[]} targets */
function preposition(kind, targets) {
	if (targets.length === 0 || !targets.every((target) => HOST.test(target))) return '';
	return { send: ' to', fetch: ' from' }[kind] ?? '';
}

/** The targets that are named, as one text. @param {EffectPart} part */
export function targetsText({ text, targets }) {
	if (targets.length === 0) return '';
	const more = targets.length > TARGETS ? ` and ${targets.length - TARGETS} more` : '';
	return `${/ (?:to|from)$/.test(text) ? ' ' : ': '}${targets.slice(0, TARGETS).join(', ')}${more}`;
}

/** The whole as one line. @param {Effect[]|undefined} effects @returns {string} "" for none */
export function effectsText(effects) {
	return effectParts(effects).map((part) => part.text + targetsText(part) + (part.final ? ' (cannot be undone)' : '')).join(' · ');
}

/**
 * The parts of a call that made policy ask, as far as the request names them: what is in
 * doubt by its reason, and what its gravest effects are about; if none is grave, its first.
 * @param {Request} request
 * @param {string[]} [matters] what the presenter of the call names
 * @returns {string[]}
 */
export function causesOf({ reason = '', tool_name: tool, effects }, matters = []) {
	const quoted = [...reason.matchAll(/`([^`]+)`/g)].map(([, text]) => text);
	const parts = effectParts(effects);
	const grave = parts.filter((part) => part.grave);
	const targets = (grave.length > 0 ? grave : parts.slice(0, 1)).flatMap((part) => part.targets);
	const named = [...(/^May match /.test(reason) ? quoted.slice(1) : quoted), ...targets].filter((text) => text !== tool && text !== '…' && text !== '.');
	return [...new Set([...named, ...matters])];
}

/**
 * Where the causes are in a text of the call. A cause that the text has with other
 * spaces or quotes is found by its words.
 * @param {string} text
 * @param {string[]} causes
 * @returns {Span[]}
 */
export function causeSpans(text, causes) {
	return causes.flatMap((cause) => {
		const found = occurrences(text, cause);
		return found.length > 0 ? found : looseMatch(text, cause);
	});
}

const MOST = 20; // highlights of one cause

/** @param {string} text @param {string} cause @returns {Span[]} */
function occurrences(text, cause) {
	const spans = [];
	for (let at = text.indexOf(cause); at >= 0 && spans.length < MOST; at = text.indexOf(cause, at + cause.length)) {
		const to = at + cause.length;
		if (isWhole(text, at, to)) spans.push({ from: at, to, style: 'cause' });
	}
	return spans;
}

/** Whether a range of a text begins and ends with a word: rm is not a part of farm. @param {string} text @param {number} from @param {number} to */
function isWhole(text, from, to) {
	const within = (/** @type {number} */ at) => at > 0 && /[\p{L}\p{N}_]{2}/u.test(text.slice(at - 1, at + 1));
	return !within(from) && !within(to);
}

/** @param {string} text @param {string} cause @returns {Span[]} */
function looseMatch(text, cause) {
	const words = cause.split(/[\s…]+/).filter(Boolean);
	if (words.length === 0 || words.length > 50 || cause.length > 500) return [];
	const gap = String.raw`(?:["'\\]|\s)+`;
	const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')).join(gap);
	const found = new RegExp(pattern).exec(text);
	return found && isWhole(text, found.index, found.index + found[0].length) ? [{ from: found.index, to: found.index + found[0].length, style: 'cause' }] : [];
}
