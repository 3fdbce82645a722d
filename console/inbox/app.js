// The inbox, from top to bottom: the parts of the page, the drawing when the store
// changes, and the addresses.

import { tick } from './clock.js';
import * as keys from './keys.js';
import * as live from './live.js';
import * as notify from './notify.js';
import { renew, startWorker } from './push.js';
import { ORDERS } from './order.js';
import * as session from './session.js';
import { state, subscribe } from './store.js';
import { drawDelegations, drawNewDelegation } from './view/delegations.js';
import { buildDetail, drawDetail, guard, show, undoAll } from './view/detail.js';
import { button, byId, el, fill, isNarrow, noticePresses } from './view/dom.js';
import { drawNewGrant } from './view/grant.js';
import { drawGrants } from './view/grants.js';
import { drawHistory } from './view/history.js';
import { buildList, drawList, inOrder, placeInList } from './view/list.js';
import { drawPasskeys } from './view/passkeys.js';
import { drawProposals } from './view/proposals.js';
import { drawRun, drawRuns } from './view/run.js';
import { drawNewSignal } from './view/signals.js';
import { drawWindows } from './view/windows.js';

/** The pages beside the inbox itself, by the beginning of their address. */
const PAGES = [
	{ name: 'History', path: /^#\/history(?:\?(.*))?$/, address: '#/history', draw: (/** @type {HTMLElement} */ place, query = '') => drawHistory(place, new URLSearchParams(query)) },
	{ name: 'Runs', path: /^#\/runs$/, address: '#/runs', draw: (/** @type {HTMLElement} */ place) => void drawRuns(place), live: true },
	{ name: 'Runs', path: /^#\/runs\/(.+)$/, address: '#/runs', draw: (/** @type {HTMLElement} */ place, id = '') => void drawRun(place, decoded(id)), live: true },
	{ name: 'Runs', path: /^#\/signals\/new(?:\?(.*))?$/, address: '#/runs', draw: (/** @type {HTMLElement} */ place, query = '') => void drawNewSignal(place, new URLSearchParams(query)) },
	{ name: 'Grants', path: /^#\/grants\/new$/, address: '#/grants', draw: (/** @type {HTMLElement} */ place) => void drawNewGrant(place) },
	{ name: 'Grants', path: /^#\/proposals$/, address: '#/grants', draw: (/** @type {HTMLElement} */ place) => void drawProposals(place) },
	{ name: 'Grants', path: /^#\/grants$/, address: '#/grants', draw: (/** @type {HTMLElement} */ place) => void drawGrants(place) },
	{ name: 'Delegations', path: /^#\/delegations\/new$/, address: '#/delegations', draw: (/** @type {HTMLElement} */ place) => drawNewDelegation(place) },
	{ name: 'Passkeys', path: /^#\/passkeys$/, address: '#/passkeys', draw: (/** @type {HTMLElement} */ place) => void drawPasskeys(place) },
	{ name: 'Delegations', path: /^#\/delegations$/, address: '#/delegations', draw: (/** @type {HTMLElement} */ place) => void drawDelegations(place) },
];

/** The requests that were looked at before, the last one at the end. @type {string[]} */
const before = [];

/** Shows a request; its id is in the address, so that a reload finds it again. @param {string} id */
function go(id) {
	history.replaceState(null, '', id ? `#/requests/${id}` : '#/');
	route();
}

/** A part of an address; one that cannot be decoded is returned as it is. @param {string} text */
function decoded(text) {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

function route() {
	const page = PAGES.find(({ path }) => path.test(location.hash));
	byId('inbox').hidden = page !== undefined;
	byId('page').hidden = page === undefined;
	drawNav(page?.address ?? '#/');
	if (page) {
		undoAll();
		fill(byId('page'));
		page.draw(byId('page'), page.path.exec(location.hash)?.[1]);
		return byId('page').focus({ preventScroll: true });
	}
	const [, id = ''] = /^#\/requests\/([\w-]+)$/.exec(location.hash) ?? [];
	byId('inbox').classList.toggle('reading', id !== '');
	if (state.selected && state.selected !== id) before.push(state.selected);
	void show(id);
}

/** Draws the pages of runs again when a run has changed. */
function redraw() {
	const page = PAGES.find(({ path }) => path.test(location.hash));
	if (page?.live) page.draw(byId('page'), page.path.exec(location.hash)?.[1]);
}

/** @param {string} here */
function drawNav(here) {
	const alone = state.me?.via === 'local'; // without reviewers there are no delegations
	const pages = new Map([['#/', 'Inbox'], ...PAGES.map(({ name, address }) => /** @type {[string, string]} */ ([address, name]))]);
	if (state.me?.role === 'viewer') pages.delete('#/passkeys');
	if (alone) pages.delete('#/delegations');
	fill(byId('nav'), ...[...pages].map(([href, name]) => el('a', { href, 'aria-current': href === here && 'page' }, name)));
}

/** Shows the request before, and reports whether there is one. */
function back() {
	const id = before.pop();
	if (!id) return false;
	go(id);
	before.pop(); // where one comes from
	return true;
}

/** Shows the request after one that was decided. */
function moveOn() {
	go(placeInList());
	byId('main').focus({ preventScroll: true });
}

function draw() {
	drawList();
	if (!state.selected && !isNarrow() && !byId('inbox').hidden && inOrder().length > 0 && state.loaded) {
		go(inOrder()[0]);
		guard();
	}
	drawDetail();
	drawConnection();
}

function drawConnection() {
	const label = byId('connection');
	const text = { connecting: 'Connecting', live: 'Live', lost: 'Offline' }[state.connection];
	if (label.textContent !== text) {
		label.className = `connection ${state.connection}`;
		label.title = text;
		fill(label, el('span', { class: 'word' }, text));
	}
	const banner = byId('banner');
	const lost = state.connection === 'lost';
	if (lost && banner.hidden) {
		fill(banner, state.loaded ? 'Connection lost. Reconnecting; this list may be out of date.'
			: 'Can’t reach heldcall. Retrying; the pending requests are not known.', button('Try now', live.reconnect));
	}
	banner.hidden = !lost;
}

function begin() {
	const order = localStorage.getItem('order') ?? '';
	if (Object.hasOwn(ORDERS, order)) state.order = /** @type {keyof typeof ORDERS} */ (order);
	const tools = byId('tools');
	notify.addTheme(tools);
	tools.append(button('?', keys.openHelp, { class: 'quiet keys', 'aria-label': 'Keyboard' }));
	notify.start(tools);
	buildList(byId('list'), go);
	buildDetail(byId('main'), moveOn);
	keys.listen(go, back);
	noticePresses();
	subscribe(draw);
	live.onRunChange(redraw);
	window.addEventListener('hashchange', route);
	setInterval(tick, 1000);
	const worker = startWorker();
	void session.begin(() => {
		route();
		void drawWindows();
		void worker.then(renew).catch(() => {}); // the next load tries again
	});
	draw();
	live.start();
}

begin();
