// Attention while the page is in the background: the title, a badge, a notification.

import { noticeHeading } from './heading.js';
import { onArrival } from './live.js';
import { ruleTitle } from './present.js';
import { asksFor, isResult } from './words.js';
import * as push from './push.js';
import { pending, state, subscribe } from './store.js';
import { plain } from './text/visible.js';
import { button, fill } from './view/dom.js';
import { announce, toast } from './view/toast.js';

/** @typedef {import('./types.js').Request} Request */

const CALM = 1500; // arrivals within it are announced together
const SOON = 150; // delay of the first announcement
/** @type {Request[]} */
let arrived = [];
let announcedAt = -CALM;
let countedAt = -SOON;
let counting = 0;

/** Begins. tools is where the button for notifications goes. @param {HTMLElement} tools */
export function start(tools) {
	subscribe(count);
	onArrival((request) => {
		arrived.push(request);
		if (arrived.length === 1) setTimeout(announceArrivals, Math.max(SOON, announcedAt + CALM - performance.now()));
	});
	if (!('Notification' in window) || Notification.permission === 'denied') return;
	const bell = button('Notify me', () => void (isOn() ? turnOff(bell) : turnOn(bell)), { class: 'quiet', id: 'bell' });
	bell.title = 'Show notifications of new requests';
	bell.setAttribute('aria-pressed', String(isOn()));
	tools.prepend(bell);
}

const WANTED = 'notify'; // the page itself notifies: the browser has no push service

function isOn() {
	return Notification.permission === 'granted' && (push.isOn() || localStorage.getItem(WANTED) === 'on');
}

/** @param {HTMLElement} bell */
async function turnOn(bell) {
	await Notification.requestPermission();
	if (Notification.permission === 'denied') return bell.remove();
	if (Notification.permission !== 'granted') return;
	localStorage.setItem(WANTED, 'on');
	bell.setAttribute('aria-pressed', 'true');
	if (!push.canPush() || state.me?.role === 'viewer') return;
	try {
		await push.turnOn();
		toast('Notifications are on, even when this page is closed.');
	} catch {
		toast('Notifications are on while this page is open: this browser has no push service that heldcall can use.');
	}
}

/** @param {HTMLElement} bell */
async function turnOff(bell) {
	localStorage.removeItem(WANTED);
	bell.setAttribute('aria-pressed', 'false');
	await push.turnOff().catch(() => {}); // an old subscription ends with its browser
}

/** Updates the title and the badge, not more often than SOON permits. */
function count() {
	clearTimeout(counting);
	const early = countedAt + SOON - performance.now();
	if (early > 0) return void (counting = setTimeout(count, early));
	countedAt = performance.now();
	const waiting = pending().length;
	const lost = state.connection === 'lost' ? 'offline – ' : '';
	const title = waiting > 0 ? `(${waiting}) ${lost}heldcall` : `${lost}heldcall`;
	if (document.title === title) return;
	document.title = title;
	if ('setAppBadge' in navigator) void navigator.setAppBadge(waiting).catch(() => {}); // only installed pages have one
}

/** @param {import('./types.js').Request} request */
function arrival(request) {
	if (asksFor(request)) return `${plain(request.principal.agent) || 'An agent'} ${asksFor(request)}`;
	return `${isResult(request) ? 'Result of ' : ''}${plain(ruleTitle(request) || request.tool_name)} waits for an answer, ${request.risk_level} risk`;
}

function announceArrivals() {
	const [first] = arrived;
	const many = arrived.length;
	const body = plain(noticeHeading(arrived)); // no arguments: a lock screen is read by others
	arrived = [];
	announcedAt = performance.now();
	if (!first) return;
	const text = many === 1 ? arrival(first) : `${many} requests wait for an answer`;
	announce(text);
	if (!document.hidden || !('Notification' in window) || !isOn() || push.isOn()) return;
	const shown = many === 1 && !asksFor(first) ? `${isResult(first) ? 'Result of ' : ''}${plain(first.tool_name)} waits for an answer, ${first.risk_level} risk` : text;
	const notification = new Notification(shown, { body, tag: 'heldcall', icon: '/inbox/icon.svg' });
	notification.onclick = () => {
		window.focus();
		location.hash = `#/requests/${first.id}`;
		notification.close();
	};
}

/** The button that goes through dark, light and as the system has it. @param {HTMLElement} tools */
export function addTheme(tools) {
	const themes = ['auto', 'light', 'dark'];
	const set = (/** @type {string} */ theme) => {
		document.documentElement.dataset.theme = theme;
		localStorage.setItem('theme', theme);
		fill(toggle, theme === 'auto' ? '◐' : theme === 'light' ? '☀' : '☾');
		toggle.setAttribute('aria-label', `Theme: ${theme}`);
		toggle.title = `Theme: ${theme}`;
	};
	const toggle = button('', () => set(themes[(themes.indexOf(document.documentElement.dataset.theme ?? 'auto') + 1) % 3]), { class: 'quiet' });
	set(themes.includes(localStorage.getItem('theme') ?? '') ? String(localStorage.getItem('theme')) : 'auto');
	tools.append(toggle);
}
