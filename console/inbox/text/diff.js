// Lines that were removed, added or kept.

/**
 * @typedef {Object} DiffLine
 * @property {'-'|'+'|' '|'@'} sign @ is a heading: the position in the file
 * @property {string} text
 * @property {number} [n] its number in the file: of the old one for a removed line
 * @property {number} [old] the number of a kept line in the old file
 * @property {[number, number]} [changed] the part that differs from its counterpart: from, to
 */

// Beyond this many pairs of lines to compare, the middle is shown as replaced.
const MOST_PAIRS = 4_000_000;

/**
 * The difference between two texts, line by line.
 * @param {string} before
 * @param {string} after
 * @returns {DiffLine[]}
 */
export function diffLines(before, after) {
	const a = split(before);
	const b = split(after);
	let start = 0;
	while (start < a.length && start < b.length && a[start] === b[start]) start++;
	let end = 0;
	while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
	const kept = (/** @type {string} */ text) => /** @type {DiffLine} */ ({ sign: ' ', text });
	return markChanges([
		...a.slice(0, start).map(kept),
		...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
		...a.slice(a.length - end).map(kept),
	]);
}

/** An empty text has no line. @param {string} text */
function split(text) {
	return text === '' ? [] : text.split('\n');
}

/**
 * The longest common subsequence of lines decides what was kept.
 * @param {string[]} a
 * @param {string[]} b
 * @returns {DiffLine[]}
 */
function middle(a, b) {
	const removed = (/** @type {string} */ text) => /** @type {DiffLine} */ ({ sign: '-', text });
	const added = (/** @type {string} */ text) => /** @type {DiffLine} */ ({ sign: '+', text });
	if (a.length * b.length > MOST_PAIRS) return [...a.map(removed), ...b.map(added)];
	const width = b.length + 1;
	const common = new Uint32Array((a.length + 1) * width);
	for (let i = a.length - 1; i >= 0; i--) {
		for (let j = b.length - 1; j >= 0; j--) {
			common[i * width + j] = a[i] === b[j]
				? common[(i + 1) * width + j + 1] + 1
				: Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
		}
	}
	/** @type {DiffLine[]} */
	const lines = [];
	let i = 0;
	let j = 0;
	while (i < a.length || j < b.length) {
		if (i < a.length && j < b.length && a[i] === b[j]) {
			lines.push({ sign: ' ', text: a[i] });
			i++;
			j++;
		} else if (i < a.length && (j === b.length || common[(i + 1) * width + j] >= common[i * width + j + 1])) {
			lines.push(removed(a[i++]));
		} else {
			lines.push(added(b[j++]));
		}
	}
	return lines;
}

/**
 * Where as many lines were taken out as put in, each is set against its
 * counterpart and what differs between them is marked.
 * @param {DiffLine[]} lines
 * @returns {DiffLine[]}
 */
export function markChanges(lines) {
	for (let at = 0; at < lines.length;) {
		const out = run(lines, at, '-');
		const put = run(lines, at + out, '+');
		if (out > 0 && out === put) {
			for (let k = 0; k < out; k++) markPair(lines[at + k], lines[at + out + k]);
		}
		at += Math.max(out + put, 1);
	}
	return lines;
}

/** How many lines from here on have the sign. @param {DiffLine[]} lines @param {number} from @param {string} sign */
function run(lines, from, sign) {
	let n = 0;
	while (from + n < lines.length && lines[from + n].sign === sign) n++;
	return n;
}

/** @param {DiffLine} a @param {DiffLine} b */
function markPair(a, b) {
	const least = Math.min(a.text.length, b.text.length);
	let start = 0;
	while (start < least && a.text[start] === b.text[start]) start++;
	let end = 0;
	while (end < least - start && a.text[a.text.length - 1 - end] === b.text[b.text.length - 1 - end]) end++;
	if (start + end < least / 3) return; // little in common: marks would be noise
	a.changed = [start, a.text.length - end];
	b.changed = [start, b.text.length - end];
}

/**
 * Numbers the lines, from the place that a heading of the form @@ -1,2 +3,4 @@ gives. Lines
 * after another heading have no number: their place in the file is not known.
 * @param {DiffLine[]} lines
 * @param {number} [first] of the first line; 0: not known
 * @param {number} [then] of the first line in the new file
 * @returns {DiffLine[]}
 */
export function numbered(lines, first = 0, then = first) {
	let [before, after] = [first, then];
	for (const line of lines) {
		if (line.sign === '@') {
			const [, from = 0, to = 0] = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line.text) ?? [];
			[before, after] = [Number(from), Number(to)];
		} else if (before + after > 0) {
			line.n = line.sign === '-' ? before : after;
			if (line.sign === ' ') line.old = before;
			if (line.sign !== '+') before++;
			if (line.sign !== '-') after++;
		}
	}
	return lines;
}

/** How many lines were added and removed. @param {DiffLine[]} lines */
export function tally(lines) {
	const count = (/** @type {string} */ sign) => lines.filter((line) => line.sign === sign).length;
	return { added: count('+'), removed: count('-') };
}
