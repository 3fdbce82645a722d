// Telling somebody who looks elsewhere: the title, a badge, a notification.

import { onArrival } from './live.js';
import { pending, state, subscribe } from './store.js';
import { plain } from './text/visible.js';
import { button, fill } from './view/dom.js';
import { announce } from './view/toast.js';

/** @typedef {import('./types.js').Request} Request */

const CALM = 1500; // arrivals within it are told of together
/** @type {Request[]} */
let arrived = [];

/** Begins. tools is where the button for notifications goes. @param {HTMLElement} tools */
export function start(tools) {
	subscribe(count);
	onArrival((request) => {
		arrived.push(request);
		if (arrived.length === 1) setTimeout(tell, arrived.length > 1 ? CALM : 150);
	});
	const ask = button('Notify me', () => void permit(ask), { class: 'quiet' });
	if ('Notification' in window && Notification.permission === 'default') tools.prepend(ask);
}

function count() {
	const waiting = pending().length;
	const lost = state.connection === 'lost' ? 'offline – ' : '';
	const title = waiting > 0 ? `(${waiting}) ${lost}heldcall` : `${lost}heldcall`;
	if (document.title === title) return;
	document.title = title;
	if ('setAppBadge' in navigator) void navigator.setAppBadge(waiting).catch(() => {}); // only installed pages have one
}

/** @param {HTMLElement} ask */
async function permit(ask) {
	await Notification.requestPermission();
	if (Notification.permission !== 'default') ask.remove();
}

function tell() {
	const [first] = arrived;
	const many = arrived.length;
	arrived = [];
	if (!first) return;
	const text = many === 1 ? `${plain(first.tool_name)} waits for an answer, ${first.risk_level} risk` : `${many} calls wait for an answer`;
	announce(text);
	if (!document.hidden || !('Notification' in window) || Notification.permission !== 'granted') return;
	const body = many === 1 ? plain(first.args_preview).slice(0, 160) : '';
	const notification = new Notification(text, { body, tag: 'heldcall', icon: '/inbox/icon.svg' });
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
