// The views of the list: all, the questions, and the filters that a person keeps under a name in this browser.

import { state } from '../store.js';
import { plain } from '../text/visible.js';
import { button, el, fill, refill } from './dom.js';

/** @typedef {{name: string, filter: string, questions: boolean}} View */

const KEPT = 'views'; // in the storage of the browser
const MOST = 12; // views that are kept
const LONGEST = 40; // letters of a name

/** @type {View[]} */
const GIVEN = [{ name: 'All', filter: '', questions: false }, { name: 'Questions', filter: '', questions: true }];

/** The buttons for the views. */
export class Views {
	element = el('div', { class: 'views', role: 'group', 'aria-label': 'Views' });

	#naming = false;
	#drawn = '';

	/** @param {(view: View) => void} choose shows a view in the list */
	constructor(choose) {
		this.choose = choose;
	}

	/** Draws the buttons again if they change. @param {number} questions that wait */
	draw(questions) {
		const kept = keptViews();
		const isKept = [...GIVEN, ...kept].some(isShown);
		this.#naming &&= !isKept;
		const now = JSON.stringify({ kept, questions, naming: this.#naming, filter: state.filter, of: state.questions });
		if (now === this.#drawn) return;
		this.#drawn = now;
		refill(this.element,
			...GIVEN.map((view) => this.#button(view, view.questions && questions > 0 ? `${view.name} ${questions}` : view.name)),
			...kept.flatMap((view) => [this.#button(view, plain(view.name)), isShown(view) && button('×', () => this.#remove(view), { class: 'quiet', 'aria-label': `Remove the view ${plain(view.name)}` })]),
			!isKept && kept.length < MOST && (this.#naming ? this.#form() : button('Save view…', () => this.#name(true), { class: 'quiet' })));
	}

	/** @param {View} view @param {string} text */
	#button(view, text) {
		return button(text, () => this.choose(view), { class: 'view', 'aria-pressed': String(isShown(view)) });
	}

	/** The name under which the shown filter is kept. */
	#form() {
		const name = /** @type {HTMLInputElement} */ (el('input', { type: 'text', 'aria-label': 'Name of the view', placeholder: 'Name', maxlength: LONGEST, autocomplete: 'off' }));
		const submit = (/** @type {Event} */ event) => {
			event.preventDefault();
			if (name.value.trim()) this.#keep({ name: name.value.trim(), filter: state.filter, questions: state.questions });
		};
		const leave = (/** @type {KeyboardEvent} */ event) => {
			if (event.key !== 'Escape') return;
			event.stopPropagation();
			this.#name(false);
		};
		return el('form', { on: { submit, keydown: leave } }, name, el('button', { type: 'submit', class: 'quiet' }, 'Save'));
	}

	/** @param {boolean} naming */
	#name(naming) {
		this.#naming = naming;
		this.#redraw();
		/** @type {HTMLElement|null} */ (this.element.querySelector(naming ? 'input' : 'button:last-child'))?.focus();
	}

	/** @param {View} view */
	#keep(view) {
		this.#naming = false;
		store([...keptViews().filter(({ name }) => name !== view.name), view]);
		this.#redraw();
		/** @type {HTMLElement|null} */ (this.element.querySelector('.view[aria-pressed="true"]'))?.focus();
	}

	/** @param {View} view */
	#remove(view) {
		store(keptViews().filter(({ name }) => name !== view.name));
		fill(this.element);
		this.choose(GIVEN[0]);
		/** @type {HTMLElement|null} */ (this.element.querySelector('.view'))?.focus();
	}

	#redraw() {
		this.choose({ name: '', filter: state.filter, questions: state.questions });
	}
}

/** @param {View} view */
function isShown({ filter, questions }) {
	return filter === state.filter && questions === state.questions;
}

/** @returns {View[]} */
function keptViews() {
	try {
		const kept = JSON.parse(localStorage.getItem(KEPT) ?? '[]');
		return kept.filter((/** @type {View} */ { name, filter }) => typeof name === 'string' && typeof filter === 'string').map((/** @type {View} */ { name, filter, questions }) => ({ name, filter, questions: questions === true }));
	} catch {
		return [];
	}
}

/** @param {View[]} views */
function store(views) {
	localStorage.setItem(KEPT, JSON.stringify(views));
}
