// Folds of long parts: which were opened, and the buttons that open them.

import { button, el } from './dom.js';

/**
 * Which folds of a call were opened, which are closed as it is drawn, and what is highlighted.
 */
export class Folds {
	/** @type {Set<string>} */
	opened = new Set();
	/** @type {Set<string>} */
	closed = new Set();
	/** The parts of the call to highlight, as {@link causeSpans} finds them. @type {string[]} */
	causes = [];
	/** Files that were closed by hand. @type {Set<string>} */
	collapsed = new Set();

	/** @param {() => void} redraw draws the call again after a fold was opened */
	constructor(redraw) {
		this.redraw = redraw;
	}

	/** Reports whether a fold is closed, and remembers it as one that is drawn so. @param {string} key */
	isClosed(key) {
		if (this.opened.has(key)) return false;
		this.closed.add(key);
		return true;
	}

	/** @param {string} key */
	open(key) {
		this.opened.add(key);
		this.redraw();
	}

	openAll() {
		for (const key of this.closed) this.opened.add(key);
		this.redraw();
	}
}

/** @param {Folds} folds @param {string} key @param {string} what */
export function unfolder(folds, key, what) {
	return el('div', { class: 'unfold' }, el('span', {}, `${what} not shown`), button('Show all of it', () => folds.open(key), { 'data-unfold': key }));
}

/** @param {number} n @param {string} one */
export function plural(n, one) {
	return `${n.toLocaleString('en')} ${one}${n === 1 ? '' : 's'}`;
}
