// Colours of texts, by language. They only help the eye: nothing is judged by them.

import { tokens } from './shell.js';
import { spansOf } from './spans.js';

/** @typedef {import('./spans.js').Span} Span */
/** @typedef {''|'shell'|'sql'|'http'|'slash'|'hash'} Language slash and hash: code, by how its comments begin */

const MOST = 20_000; // characters; a longer text has no colours

const STRING = String.raw`(?<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\x60(?:[^\x60\\]|\\[\s\S])*\x60)`;
const NUMBER = String.raw`(?<variable>(?<![\w.])\d[\d_.]*\b)`;
const WORDS = 'as async await break case catch class const continue def default defer do else enum except export extends finally fn for from func function go if impl import in interface is lambda let match module namespace new nil none null not of or and package pass private protected public raise return self static struct super switch this throw trait true false try type use var void while with yield';

/** @type {Record<string, RegExp>} */
const PARTS = {
	sql: new RegExp([String.raw`(?<comment>--[^\n]*|/\*[\s\S]*?\*/)`, String.raw`(?<string>'(?:[^']|'')*')`,
		String.raw`(?<operator>\b(?:drop|delete|truncate|alter|grant|revoke|update|insert|merge|replace)\b)`,
		String.raw`(?<command>\b(?:select|from|where|into|values|set|join|left|right|inner|outer|full|cross|on|group|order|by|having|limit|offset|union|all|distinct|with|as|and|or|not|null|in|exists|between|like|is|case|when|then|else|end|create|table|index|view|begin|commit|rollback|returning|cascade|explain|if)\b)`,
		NUMBER].join('|'), 'giu'),
	http: /(?<command>^\S+)|(?<option>(?<=^\S+ [a-z][a-z\d+.-]*:\/\/)[^/?#\s]+)/giu,
	slash: new RegExp([String.raw`(?<comment>(?<![:\w])//[^\n]*|/\*[\s\S]*?\*/)`, STRING, keywords(), NUMBER].join('|'), 'gu'),
	hash: new RegExp([String.raw`(?<comment>(?<!\S)#[^\n]*)`, STRING, keywords(), NUMBER].join('|'), 'gu'),
};

function keywords() {
	return String.raw`(?<command>\b(?:${WORDS.replaceAll(' ', '|')}|None|True|False)\b)`;
}

/** The colours of a text. @param {string} text @param {Language} language @returns {Span[]} */
export function colours(text, language) {
	if (text.length > MOST) return [];
	if (language === 'shell') return spansOf(tokens(text));
	const parts = PARTS[language];
	return parts ? [...text.matchAll(parts)].map((match) => ({ from: match.index, to: match.index + match[0].length, style: `tok-${styleOf(match)}` })) : [];
}

/** The name of the group that has matched. @param {RegExpMatchArray} match */
function styleOf({ groups = {} }) {
	return Object.keys(groups).find((name) => groups[name] !== undefined) ?? '';
}
