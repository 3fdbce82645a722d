// Elements are made here and nowhere else. Texts become text nodes: there is no
// way from a text to markup, a handler or a link to another site.

import { runs } from '../text/spans.js';
import { pieces } from '../text/visible.js';
import { ago, left, now } from '../clock.js';

/** @typedef {Node|string|null|undefined|false} Child */

/**
 * Makes an element.
 * @param {string} tag
 * @param {Record<string, any>} [props] class, on: {event: handler}, data: {name: value}, attributes
 * @param {...(Child|Child[])} children
 * @returns {HTMLElement}
 */
export function el(tag, props = {}, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(props)) {
		if (value === null || value === undefined || value === false) continue;
		if (name === 'class') element.className = value;
		else if (name === 'on') for (const [event, handler] of Object.entries(value)) element.addEventListener(event, /** @type {EventListener} */ (handler));
		else if (name === 'data') Object.assign(element.dataset, value);
		else if (name === 'href' && !String(value).startsWith('#/')) throw new Error('links lead to pages of the inbox only');
		else if (/^on|^src|^style$/.test(name)) throw new Error(`${name} is not set here`);
		else element.setAttribute(name, value === true ? '' : String(value));
	}
	element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
	return element;
}

/**
 * A text that a model or an agent wrote, with what cannot be seen in it marked.
 * @param {string} text
 * @param {import('../text/spans.js').Span[]} [spans] parts of it with a style
 * @returns {DocumentFragment}
 */
export function hostile(text, spans = []) {
	const fragment = document.createDocumentFragment();
	let at = 0;
	for (const piece of pieces(text)) {
		for (const run of piece.kind === '' ? runs(piece.text, spans, at) : [{ text: '', styles: [] }]) {
			const shown = piece.kind === '' ? run.text : el('mark', { class: `hidden-${piece.kind}`, title: piece.title }, piece.label ?? '');
			fragment.append(run.styles.length === 0 ? shown : el(run.styles.includes('cause') ? 'mark' : 'span', { class: run.styles.join(' ') }, shown));
		}
		at += piece.text.length;
	}
	return fragment;
}

/** A button. @param {string} text @param {() => void} press @param {Record<string, any>} [props] */
export function button(text, press, props = {}) {
	return el('button', { type: 'button', ...props, on: { click: press } }, text, props.key && el('kbd', { 'aria-hidden': 'true' }, props.key));
}

/** A label of how much harm a call can do. @param {string} risk */
export function riskBadge(risk) {
	return el('span', { class: `risk risk-${risk}` }, `${risk} risk`);
}

/** The time until then, kept current by the clock. @param {string} time */
export function countdown(time) {
	const until = Date.parse(time);
	return el('time', { class: 'left', datetime: time, data: { until } }, left(until - now()));
}

/** The time since then, kept current by the clock. @param {string} time */
export function elapsed(time) {
	const since = Date.parse(time);
	return el('time', { datetime: time, data: { since }, title: new Date(since).toLocaleString() }, ago(now() - since));
}

/** Puts new children in the place of old ones. @param {Element} element @param {...Child} children */
export function fill(element, ...children) {
	element.replaceChildren(.../** @type {Node[]} */ (children.filter((child) => child !== null && child !== undefined && child !== false)));
}

const LONGEST_PRESS = 10_000; // ms; the release may happen outside of the window

/** @type {Promise<void>} */
let released = Promise.resolve();

/** Begins to notice when a control is pressed: see whenReleased. */
export function noticePresses() {
	addEventListener('pointerdown', () => {
		released = new Promise((resolve) => {
			for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => setTimeout(resolve), { once: true }); // after the click
			setTimeout(resolve, LONGEST_PRESS);
		});
	}, { capture: true });
}

/** Waits while a control is pressed: one that is replaced before its release gets no click. */
export function whenReleased() {
	return released;
}

/** Draws a place again; the focus stays on the control of the same name. @param {HTMLElement} place @param {...Child} children */
export function refill(place, ...children) {
	const name = (/** @type {Element|null} */ control) => control?.getAttribute('aria-label') ?? control?.getAttribute('href') ?? control?.textContent;
	const focused = place.contains(document.activeElement) ? document.activeElement : null;
	fill(place, ...children);
	if (!focused || focused === place) return;
	const same = [...place.querySelectorAll('a, button')].find((control) => name(control) === name(focused));
	/** @type {HTMLElement} */ (same ?? place).focus({ preventScroll: true });
}

/** Whether the list and the request are shown one at a time, as on a phone. */
export const isNarrow = () => matchMedia('(max-width: 800px)').matches;

/** An element that index.html has. @param {string} id @returns {HTMLElement} */
export function byId(id) {
	const element = document.getElementById(id);
	if (!element) throw new Error(`the page has no #${id}`);
	return element;
}
