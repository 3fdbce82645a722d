// Colours for a shell command. This only helps the eye: what the command does is
// judged by policy, which parses the script and names the commands it found.

/**
 * @typedef {Object} Token
 * @property {string} text
 * @property {''|'command'|'option'|'string'|'variable'|'operator'|'comment'} kind
 */

const PARTS = new RegExp([
	String.raw`(?<comment>(?<![^\s;|&()])#[^\n]*)`,
	String.raw`(?<single>\$?'(?:[^'\\]|\\[\s\S])*'|'[^']*')`,
	String.raw`(?<double>")`,
	String.raw`(?<variable>\$\{[^}\n]*\}|\$[A-Za-z_]\w*|\$[0-9@*#?$!-])`,
	String.raw`(?<operator>\$\(\(?|\|\||&&|;;|>>|<<<|<<-?|>&|<&|&>|[|&;<>()\x60\n])`,
	String.raw`(?<blank>[ \t]+|\\\n)`,
	String.raw`(?<word>(?:[^\s'"$|&;<>()\x60\\]|\\[\s\S])+)`,
	String.raw`(?<other>[\s\S])`,
].join('|'), 'gu');

// After these a new command begins.
const OPENS = new Set(['|', '||', '&&', ';', ';;', '&', '(', '$(', '`', '\n']);
const KEYWORDS = new Set(['if', 'then', 'else', 'elif', 'do', 'while', 'until', '!', '{', 'time', 'exec', 'sudo', 'env', 'xargs', 'nohup']);
const OTHER_KEYWORDS = new Set(['fi', 'done', 'esac', 'case', 'for', 'in', 'function', '}']);

/**
 * Cuts a script into tokens, in order and without loss.
 * @param {string} script
 * @returns {Token[]}
 */
export function tokens(script) {
	/** @type {Token[]} */
	const found = [];
	let first = true; // the next word is a command
	let quoted = false; // within double quotes
	for (const { 0: text, groups = {} } of script.matchAll(PARTS)) {
		if (groups.double !== undefined) {
			quoted = !quoted;
			push(found, text, 'string');
			if (!quoted) first = false;
		} else if (quoted && groups.variable === undefined && text !== '$(' && text !== '`') {
			push(found, text, 'string');
		} else if (groups.comment !== undefined) {
			push(found, text, 'comment');
		} else if (groups.single !== undefined) {
			push(found, text, first ? 'command' : 'string');
			first = false;
		} else if (groups.variable !== undefined) {
			push(found, text, 'variable');
			if (!quoted) first = false;
		} else if (groups.operator !== undefined) {
			push(found, text, text === '\n' ? '' : 'operator');
			if (OPENS.has(text)) first = true;
			else if (/[<>]/.test(text)) first = false;
		} else if (groups.word !== undefined) {
			push(found, text, wordKind(text, first));
			first = first && (KEYWORDS.has(text) || OTHER_KEYWORDS.has(text) || /^\w+=/.test(text));
		} else {
			push(found, text, '');
		}
	}
	return found;
}

/** @param {string} word @param {boolean} first @returns {Token['kind']} */
function wordKind(word, first) {
	if (first && OTHER_KEYWORDS.has(word)) return 'operator';
	if (first && /^\w+=/.test(word)) return 'variable';
	if (first) return 'command';
	return word.startsWith('-') ? 'option' : '';
}

/** Neighbours of one kind become one token. @param {Token[]} found @param {string} text @param {Token['kind']} kind */
function push(found, text, kind) {
	const last = found.at(-1);
	if (last && last.kind === kind && kind !== 'command') last.text += text;
	else found.push({ text, kind });
}
