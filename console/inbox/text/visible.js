// Texts of models may contain invisible or bidirectional characters. This module
// finds them; views show them by name.

/**
 * A piece of a text. A plain piece is shown as it is; every other one is shown
 * as a mark that carries its label.
 * @typedef {Object} Piece
 * @property {string} text the original
 * @property {''|'hidden'|'bidi'|'control'|'space'|'mixed'} kind '' is plain
 * @property {string} [label] shown in place of the text
 * @property {string} [title] a description
 */

const NAMES = new Map([
	[0x00, 'null'], [0x07, 'bell'], [0x08, 'backspace'], [0x0b, 'vertical tab'], [0x0c, 'form feed'], [0x0d, 'carriage return'],
	[0x1b, 'escape'], [0x7f, 'delete'], [0x85, 'next line'], [0xa0, 'no-break space'], [0xad, 'soft hyphen'],
	[0x034f, 'combining grapheme joiner'], [0x061c, 'arabic letter mark'], [0x115f, 'hangul filler'], [0x1160, 'hangul filler'],
	[0x180e, 'mongolian vowel separator'], [0x200b, 'zero width space'], [0x200c, 'zero width non-joiner'], [0x200d, 'zero width joiner'],
	[0x200e, 'left-to-right mark'], [0x200f, 'right-to-left mark'], [0x2028, 'line separator'], [0x2029, 'paragraph separator'],
	[0x202a, 'left-to-right embedding'], [0x202b, 'right-to-left embedding'], [0x202c, 'pop directional formatting'],
	[0x202d, 'left-to-right override'], [0x202e, 'right-to-left override'], [0x202f, 'narrow no-break space'], [0x2060, 'word joiner'],
	[0x2066, 'left-to-right isolate'], [0x2067, 'right-to-left isolate'], [0x2068, 'first strong isolate'], [0x2069, 'pop directional isolate'],
	[0x2800, 'braille blank'], [0x3000, 'ideographic space'], [0x3164, 'hangul filler'], [0xfeff, 'byte order mark'], [0xffa0, 'hangul filler'],
	[0xfffd, 'replacement character'],
]);

const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffd]/u;
const ODD_SPACE = /[\p{Zs}]/u;

// Everything that may need a mark, longest first: piles of accents, runs of
// spaces that push text out of sight, single characters.
const SUSPECT = new RegExp([
	String.raw`\p{M}{4,}`,
	String.raw`(?<=\S)[ \t]{24,}`,
	String.raw`[ \t]{160,}`,
	String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffd]`,
	String.raw`(?! )\p{Zs}`,
	String.raw`(?:(?!\p{Default_Ignorable_Code_Point}|\p{M}{4})[\p{L}\p{M}\p{N}_])+`,
].join('|'), 'gu');

// An emoji may be followed by a variation selector, or joined to another one.
const EMOJI_BEFORE = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]$/u;
const EMOJI_AFTER = /^\p{Extended_Pictographic}/u;

const LATIN = /\p{Script=Latin}/u;
const LOOKALIKE = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]|[\uff00-\uffef]/u;

/**
 * Cuts a text into pieces, in order and without loss: the texts of the pieces
 * put together are the text.
 * @param {string} text
 * @returns {Piece[]}
 */
export function pieces(text) {
	/** @type {Piece[]} */
	const found = [];
	let plain = 0;
	for (const match of text.matchAll(SUSPECT)) {
		const piece = judge(match[0], text, match.index);
		if (!piece) continue;
		if (match.index > plain) found.push({ text: text.slice(plain, match.index), kind: '' });
		found.push(piece);
		plain = match.index + match[0].length;
	}
	if (plain < text.length) found.push({ text: text.slice(plain), kind: '' });
	return found;
}

/**
 * @param {string} suspect
 * @param {string} text
 * @param {number} at
 * @returns {Piece|null} null: it is plainly visible
 */
function judge(suspect, text, at) {
	if (suspect === '\n' || suspect === '\t') return null;
	if (/^[ \t]{2}/.test(suspect)) {
		return { text: suspect, kind: 'space', label: `${suspect.length} spaces`, title: `${suspect.length} spaces in a row` };
	}
	if (/^\p{M}{4}/u.test(suspect)) {
		return { text: suspect, kind: 'hidden', label: `${[...suspect].length} accents`, title: 'accents piled on one character' };
	}
	const isMark = UNSEEN.test(suspect) || ODD_SPACE.test(suspect);
	if (!isMark) {
		if (LATIN.test(suspect) && LOOKALIKE.test(suspect)) {
			return { text: suspect, kind: 'mixed', label: suspect, title: 'letters of different alphabets that look alike: ' + spell(suspect) };
		}
		return null;
	}
	if (inEmoji(suspect, text, at)) return null;
	return marked(suspect);
}

/** @param {string} suspect @returns {Piece} */
function marked(suspect) {
	const code = suspect.codePointAt(0) ?? 0;
	const name = NAMES.get(code) ?? (code >= 0xe0000 && code < 0xe0080 ? 'tag character' : kindName(suspect));
	const kind = BIDI.test(suspect) ? 'bidi' : ODD_SPACE.test(suspect) ? 'space' : /\p{Cc}/u.test(suspect) ? 'control' : 'hidden';
	return { text: suspect, kind, label: codeOf(code), title: `${codeOf(code)} ${name}` };
}

/** @param {string} suspect */
function kindName(suspect) {
	if (/\p{Cc}/u.test(suspect)) return 'control character';
	if (/\p{Cs}/u.test(suspect)) return 'half of a character';
	if (/\p{Zs}/u.test(suspect)) return 'unusual space';
	if (/[\p{Co}\p{Cn}]/u.test(suspect)) return 'character without a meaning';
	return 'invisible character';
}

/** @param {string} suspect @param {string} text @param {number} at */
function inEmoji(suspect, text, at) {
	if (suspect !== '\ufe0f' && suspect !== '\u200d') return false;
	if (!EMOJI_BEFORE.test(text.slice(Math.max(0, at - 2), at))) return false;
	return suspect === '\ufe0f' || EMOJI_AFTER.test(text.slice(at + 1, at + 3));
}

/** @param {number} code */
function codeOf(code) {
	return 'U+' + code.toString(16).toUpperCase().padStart(4, '0');
}

/** The letters of a word that are not Latin, each with its code. @param {string} word */
function spell(word) {
	return [...new Set([...word].filter((letter) => LOOKALIKE.test(letter)))]
		.map((letter) => `${letter} is ${codeOf(letter.codePointAt(0) ?? 0)}`).join(', ');
}

/**
 * A text for places that take no marks, such as a title or a notification: what
 * is not plainly visible is replaced by its code.
 * @param {string} text
 */
export function plain(text) {
	return pieces(text.replaceAll('\n', ' ')).map((piece) => (piece.kind && piece.kind !== 'mixed' ? `⟨${piece.label}⟩` : piece.text)).join('');
}

/**
 * How many characters of a text are not plainly visible.
 * @param {string} text
 */
export function countHidden(text) {
	return pieces(text).filter((piece) => piece.kind !== '').length;
}
