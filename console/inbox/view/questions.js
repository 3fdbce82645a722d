// The calls of a run, by question: those that the server has joined have one heading and one answer. A call that comes
// after the look at the run is marked as new, and is not part of the answer before the person at the page includes it.

import { decideSeveralOf } from '../decide.js';
import { heading } from '../heading.js';
import { asks, counts } from '../session.js';
import { state } from '../store.js';
import { isUnconfirmed } from '../undo.js';
import { openBatch } from './batch.js';
import { button, el, fill, hostile } from './dom.js';
import { plural } from './folds.js';

/** @typedef {import('../types.js').Request} Request */

/** How long a look begins: calls that one answer of a model has come one after the other, in milliseconds. */
const LOOK = 2_000;

/** The questions of the run that is looked at. */
export class Questions {
	/** The question of each request when it came: one that has ended is of none any more. @type {Map<string, string>} */
	#placed = new Map();
	/** Those that came after the look. @type {Set<string>} */
	#fresh = new Set();
	#looked = 0;
	/** @type {Request[]} */
	#run = [];
	/** @type {Map<string, HTMLElement>} */
	#heads = new Map();

	/** @param {() => void} changed called when new calls have become part of a question */
	constructor(changed) {
		this.changed = changed;
	}

	/** Begins to look at another run. */
	begin() {
		this.#placed.clear();
		this.#fresh.clear();
		this.#looked = performance.now();
	}

	/** Takes the present state of the run. @param {Request[]} run */
	take(run) {
		this.#run = run;
		const late = performance.now() - this.#looked > LOOK;
		for (const { id, together } of run) {
			if (this.#placed.has(id)) continue;
			this.#placed.set(id, together ?? id);
			if (late) this.#fresh.add(id);
		}
		for (const id of this.#placed.keys()) if (!run.some((request) => request.id === id)) this.#placed.delete(id);
	}

	/** The cards by question, in the order of their first calls. @param {(request: Request) => Node|undefined} cardOf @returns {Node[]} */
	layOut(cardOf) {
		this.#heads.clear();
		return [...this.#byKey()].map(([key, requests]) => {
			const cards = requests.flatMap((request) => [this.#fresh.has(request.id) && el('p', { class: 'badge new' }, 'New'), cardOf(request)]);
			if (requests.length === 1) return el('div', { class: 'alone' }, cards);
			const head = el('header', { class: 'together' });
			this.#heads.set(key, head);
			return el('section', { class: 'question' }, head, cards);
		});
	}

	/** Draws the headings and their buttons again. */
	head() {
		for (const [key, requests] of this.#byKey()) {
			const head = this.#heads.get(key);
			if (head) fill(head, ...this.#headOf(requests));
		}
	}

	/** @returns {Map<string, Request[]>} */
	#byKey() {
		/** @type {Map<string, Request[]>} */
		const all = new Map();
		for (const request of this.#run) {
			const key = this.#placed.get(request.id) ?? request.id;
			all.set(key, [...(all.get(key) ?? []), request]);
		}
		return all;
	}

	/** @param {Request[]} requests */
	#headOf(requests) {
		const open = requests.filter((request) => request.together);
		const known = open.filter(({ id }) => !this.#fresh.has(id));
		const shown = known.length > 0 ? known : open; // what is left is a question of its own
		const late = open.length - shown.length;
		const include = () => {
			for (const { id } of open) this.#fresh.delete(id);
			this.changed();
		};
		return [
			el('h2', {}, shown.length > 0 ? hostile(heading(shown)) : plural(requests.length, 'call')),
			late > 0 && el('p', { class: 'late', role: 'status' }, `${plural(late, 'new call')} not included. `, button('Include', include, { class: 'link' })),
			el('div', { class: 'all' }, several('approve', shown, this.#run), several('deny', shown, this.#run)),
		];
	}
}

/**
 * A button for calls that are open; none where fewer than two of them are left to the person at the page.
 * @param {'approve'|'deny'} action @param {Request[]} open @param {Request[]} run
 */
export function several(action, open, run) {
	const own = open.filter((request) => !asks(request) && counts(action, request, state.me) && !isUnconfirmed(request, { action }));
	if (own.length < 2) return false;
	const which = own.length === run.length ? 'all ' : own.length === run.filter(({ status }) => status === 'pending').length ? 'the other ' : 'these ';
	const words = { approve: 'Approve', deny: 'Deny' }[action];
	return button(`${words} ${which}${own.length}…`, () => openBatch(action, own, decideSeveralOf), { class: action === 'approve' ? 'good' : 'bad' });
}
