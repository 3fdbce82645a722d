// The rows of the list. They are in blocks, and browsers do not lay out or paint a
// block that is out of sight: a thousand rows cost no more than the visible ones,
// and all of them can be found, read out and stepped through.

import { effectsText } from '../effects.js';
import { heading } from '../heading.js';
import { questionsOf, riskRank, runKey } from '../order.js';
import { ruleTitle } from '../present.js';
import { state } from '../store.js';
import { plain } from '../text/visible.js';
import { asksFor, headline, isResult } from '../words.js';
import { countdown, el, elapsed, fill } from './dom.js';

/** @typedef {import('../types.js').Request} Request */
/** @typedef {import('../order.js').Bundle} Bundle */
/** @typedef {{row: HTMLElement, requests: Request[]}} Row */

const FULL = 32; // rows of a block that is filled at the end of the list; twice as many are split
const PREVIEWS = 3; // questions of a run that its row names

/** How high a row is, as .row in layout.css has it: that of one call, and what each line of a run adds, in pixels. */
const HEIGHT = { row: 56, line: 20 };

/** The rows of turns, each made once and again when one of its requests has changed. */
export class Rows {
	element = el('div', { class: 'rows', id: 'rows', role: 'list' });

	/** @type {Map<string, Row>} */
	#rows = new Map();
	/** Blocks whose rows changed. @type {Set<HTMLElement>} */
	#touched = new Set();
	/** @type {HTMLElement|undefined} */
	#selected;
	#empty = el('div', { class: 'empty', role: 'listitem' });

	/** @param {(requests: Request[], on: boolean) => void} check called when the box of a row is ticked or cleared */
	constructor(check) {
		this.check = check;
	}

	/** Shows the turns in this order, and moves only rows whose place has changed. @param {Bundle[]} ordered */
	place(ordered) {
		const keep = new Set(ordered.map((turn) => turn.key));
		for (const [key, { row }] of this.#rows) {
			if (keep.has(key)) continue;
			this.#touch(row);
			row.remove();
			this.#rows.delete(key);
		}
		const made = ordered.map((turn) => this.#rowOf(turn)); // before the walk: one may be put in the place of another
		let next = firstOf(this.element.firstElementChild);
		for (const { row } of made) {
			if (row === next) next = after(row);
			else this.#put(row, next);
		}
		for (const block of this.#touched) this.#tidy(block);
		this.#touched.clear();
	}

	/** Shows or removes the text of an empty list. @param {boolean} empty @param {boolean} filtered there are requests that the filter does not show */
	showEmpty(empty, filtered) {
		if (!empty) return this.#empty.remove();
		const [title, text] = filtered ? ['No matches', 'Choose All, or clear the filter.'] : ['Nothing to review', 'Requests appear here as they arrive.'];
		if (this.#empty.firstChild?.textContent !== title) fill(this.#empty, el('h2', {}, title), el('p', {}, text));
		if (!this.#empty.isConnected) this.element.append(this.#empty);
	}

	/** Marks the row of the selected request, and no other, and scrolls to it when it changes. @param {Request|undefined} request @param {boolean} scrolls also when it does not */
	select(request, scrolls) {
		const row = request && this.#rows.get(runKey(request))?.row;
		if (scrolls || row !== this.#selected) row?.scrollIntoView({ block: 'nearest' });
		if (row === this.#selected) return;
		this.#selected?.classList.remove('selected');
		this.#selected?.querySelector('a')?.removeAttribute('aria-current');
		row?.classList.add('selected');
		row?.querySelector('a')?.setAttribute('aria-current', 'true');
		this.#selected = row;
	}

	/** The requests of a row. @param {HTMLElement} row @returns {Request[]} */
	requestsOf(row) {
		return [...this.#rows.values()].find((one) => one.row === row)?.requests ?? [];
	}

	/** Ticks or clears every box. @param {boolean} on */
	tickAll(on) {
		for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (this.element.querySelectorAll('.tick input'))) box.checked = on;
	}

	/** @param {Bundle} turn @returns {Row} */
	#rowOf(turn) {
		const known = this.#rows.get(turn.key);
		if (known && known.requests.length === turn.requests.length && known.requests.every((request, i) => request === turn.requests[i])) return known;
		const made = { row: drawRow(turn, this.check), requests: turn.requests };
		if (known) {
			this.#touch(known.row);
			known.row.replaceWith(made.row);
		}
		this.#rows.set(turn.key, made);
		return made;
	}

	/** @param {Element} row */
	#touch(row) {
		if (row.parentElement) this.#touched.add(row.parentElement);
	}

	/** Puts a row before another; null: at the end. @param {HTMLElement} row @param {Element|null} next */
	#put(row, next) {
		this.#touch(row);
		if (next) next.before(row);
		else this.#last().append(row);
		this.#touch(row);
	}

	/** The block that the next row at the end goes into. @returns {Element} */
	#last() {
		const last = this.element.lastElementChild;
		if (last?.classList.contains('chunk') && last.childElementCount < FULL) return last;
		const block = newBlock();
		this.element.append(block);
		return block;
	}

	/** Splits a block that has become long, drops one without rows, and sets its height while it is out of sight. @param {HTMLElement} block */
	#tidy(block) {
		if (block.childElementCount === 0) return block.remove();
		for (const one of block.childElementCount > 2 * FULL ? split(block) : [block]) {
			const lines = /** @type {HTMLElement[]} */ ([...one.children]).reduce((sum, row) => sum + Number(row.dataset.lines), 0);
			one.style.containIntrinsicBlockSize = `${one.childElementCount * HEIGHT.row + lines * HEIGHT.line}px`;
		}
	}
}

function newBlock() {
	return el('div', { class: 'chunk', role: 'none' });
}

/** Cuts a block in blocks that are full; the one with the focus stays in the document, so that it keeps it. @param {HTMLElement} block @returns {HTMLElement[]} */
function split(block) {
	const rows = [...block.children];
	const focused = Math.max(0, rows.findIndex((row) => row.contains(document.activeElement)));
	const stays = Math.floor(focused / FULL);
	/** @type {HTMLElement[]} */
	const blocks = [];
	for (let at = 0; at * FULL < rows.length; at++) {
		const one = at === stays ? block : newBlock();
		blocks.push(one);
		if (at === stays) continue;
		one.append(...rows.slice(at * FULL, (at + 1) * FULL));
		if (at < stays) block.before(one);
		else blocks[at - 1].after(one);
	}
	return blocks;
}

/** The first row of a block or of the blocks after it. @param {Element|null} block */
function firstOf(block) {
	let at = block;
	while (at && !at.firstElementChild?.classList.contains('row')) at = at.nextElementSibling;
	return at?.firstElementChild ?? null;
}

/** The row after a row. @param {Element} row */
function after(row) {
	return row.nextElementSibling ?? firstOf(row.parentElement?.nextElementSibling ?? null);
}

/** @param {Bundle} turn @param {(requests: Request[], on: boolean) => void} check */
function drawRow({ requests, ends }, check) {
	const [first] = requests;
	const worst = requests.reduce((a, b) => (riskRank(b.risk_level) > riskRank(a.risk_level) ? b : a));
	const who = [first.principal.agent, first.principal.user].filter(Boolean).join(' · ') || 'an agent';
	const warned = requests.some((request) => (request.details.flags ?? []).length > 0);
	const silent = requests.some((request) => request.on_timeout === 'approve');
	const several = requests.length > 1;
	const lines = several ? previews(requests) : [];
	const name = several ? `${requests.length} ${requests.every(asksFor) ? 'questions' : 'calls'}` : plain(titleOf(first) || first.tool_name) || 'unnamed';
	return el('div', { class: `row risk-${worst.risk_level}`, role: 'listitem', data: { id: first.id, lines: lines.length } },
		el('label', { class: 'tick' }, el('input', { type: 'checkbox', 'aria-label': `Select ${name}`, checked: requests.every((request) => state.checked.has(request.id)), on: {
			change: (/** @type {Event} */ event) => check(requests, /** @type {HTMLInputElement} */ (event.target).checked),
		} })),
		el('a', { href: `#/requests/${first.id}` },
			el('span', { class: 'line' }, several || titleOf(first) ? el('strong', { class: 'title' }, name) : el('strong', { class: 'preview' }, plain(call(first))),
				silent && el('span', { class: 'badge silent', title: 'Runs automatically if no one answers.' }, 'runs if unanswered'), countdown(several ? new Date(ends).toISOString() : first.expires_at)),
			lines,
			el('span', { class: 'meta' },
				requests.every(asksFor) ? el('span', { class: 'asks' }, several ? 'questions' : asksFor(first)) : el('span', { class: 'level' }, worst.risk_level), warned && el('span', { class: 'warned' }, '! warning'),
				first.agent && first.agent.state !== 'attached' && el('span', { class: 'agent-away' }, `${first.agent.state} `, elapsed(first.agent.since)),
				!several && !asksFor(first) && does(first),
				!several && el('span', { class: 'tool' }, plain(first.tool_name) || 'unnamed'),
				el('span', { class: 'who' }, plain(who)), elapsed(first.created_at))));
}

/** The arguments of a call, or its name if it has none. @param {Request} request */
function call({ args_preview: preview, resource, tool_name: tool }) {
	return preview || resource || tool || 'unnamed';
}

/** The title of a row of one request: the question, the title of a rule, or the tool if its arguments are no command and no resource; '' where the call itself is shown. @param {Request} request */
function titleOf(request) {
	return headline(request) || ruleTitle(request) || (/^[{[]/.test(call(request)) ? request.tool_name : '');
}

/** The second line of a row of one call: what it does; below a title, the call itself. @param {Request} request */
function does(request) {
	if (titleOf(request)) return el('span', { class: 'preview' }, plain(call(request)));
	return el('span', { class: 'does' }, plain(effectsText(request.effects) || (isResult(request) ? 'result' : '')));
}

/** A line for each question of a run: what its calls do together, or the call. @param {Request[]} requests @returns {HTMLElement[]} */
function previews(requests) {
	const questions = questionsOf(requests);
	const joined = (/** @type {Request[]} */ calls) => [plain(heading(calls)) || plain(call(calls[0])), el('span', { class: 'muted' }, ` ${calls.length} calls`)];
	const single = (/** @type {Request} */ request) => [plain(headline(request) || ruleTitle(request) || call(request)), el('span', { class: 'muted' }, ` ${plain(request.tool_name)}`)];
	const lines = questions.slice(0, PREVIEWS).map((calls) => el('span', { class: 'preview' }, ...(calls.length > 1 ? joined(calls) : single(calls[0]))));
	return questions.length > PREVIEWS ? [...lines, el('span', { class: 'preview muted' }, `and ${questions.length - PREVIEWS} more`)] : lines;
}
