// Styles of parts of a text: colours, highlights, differences. Parts may overlap.

/**
 * @typedef {Object} Span
 * @property {number} from
 * @property {number} to
 * @property {string} style
 */

/**
 * @typedef {Object} Run a stretch of a text that has the same styles throughout
 * @property {string} text
 * @property {string[]} styles
 */

/**
 * Cuts a stretch of a text where the styles change, in order and without loss.
 * @param {string} text
 * @param {Span[]} spans of the whole text
 * @param {number} [at] where the stretch is in the whole text
 * @returns {Run[]}
 */
export function runs(text, spans, at = 0) {
	const here = spans.filter((span) => span.from < at + text.length && span.to > at);
	if (here.length === 0) return [{ text, styles: [] }];
	const cuts = [...new Set([at, at + text.length, ...here.flatMap(({ from, to }) => [Math.max(from, at), Math.min(to, at + text.length)])])].sort((a, b) => a - b);
	const begins = [...here].sort((a, b) => a.from - b.from);
	/** @type {Span[]} */
	let open = [];
	let next = 0;
	return cuts.slice(0, -1).map((from, i) => {
		while (next < begins.length && begins[next].from <= from) open.push(begins[next++]);
		open = open.filter(({ to }) => to > from);
		return { text: text.slice(from - at, cuts[i + 1] - at), styles: [...new Set(open.map(({ style }) => style))] };
	});
}

/** The spans of tokens that follow one another. @param {{text: string, kind: string}[]} tokens @returns {Span[]} */
export function spansOf(tokens) {
	let at = 0;
	return tokens.flatMap(({ text, kind }) => {
		at += text.length;
		return kind ? [{ from: at - text.length, to: at, style: `tok-${kind}` }] : [];
	});
}
