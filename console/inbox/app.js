// The inbox, from top to bottom: what is built, what is drawn when the store
// changes, and where addresses lead.

import { tick } from './clock.js';
import { ORDERS } from './order.js';
import * as keys from './keys.js';
import * as live from './live.js';
import * as notify from './notify.js';
import { state, subscribe } from './store.js';
import { buildDetail, drawDetail, show } from './view/detail.js';
import { button, byId, fill } from './view/dom.js';
import { buildList, drawList, inOrder } from './view/list.js';

const NARROW = matchMedia('(max-width: 800px)');

/** Looks at a request; the address says so, and a reload finds it again. @param {string} id */
function go(id) {
	history.replaceState(null, '', id ? `#/requests/${id}` : '#/');
	route();
}

function route() {
	const [, id = ''] = /^#\/requests\/([\w-]+)$/.exec(location.hash) ?? [];
	byId('inbox').classList.toggle('reading', id !== '');
	void show(id);
}

/** The request after the one that was decided: the next of its turn, else the first of the list. @param {string} from */
function moveOn(from) {
	const turn = state.requests.get(from)?.turn_id;
	const waiting = inOrder().filter((id) => id !== from && state.requests.get(id)?.status === 'pending');
	const next = waiting.find((id) => turn && state.requests.get(id)?.turn_id === turn) ?? waiting[0] ?? '';
	go(next);
	byId('main').focus({ preventScroll: true });
}

function draw() {
	drawList();
	if (!state.selected && !NARROW.matches && inOrder().length > 0 && state.loaded) go(inOrder()[0]);
	drawDetail();
	drawConnection();
}

function drawConnection() {
	const label = byId('connection');
	label.className = `connection ${state.connection}`;
	const text = { connecting: 'Connecting', live: 'Live', lost: 'Offline' }[state.connection];
	if (label.textContent !== text) label.textContent = text;
	const banner = byId('banner');
	const lost = state.connection === 'lost' && state.loaded;
	if (lost && banner.hidden) {
		fill(banner, 'Connection lost. What you see may be out of date; it is brought up to date by itself.', button('Try now', live.reconnect));
	}
	banner.hidden = !lost;
}

function begin() {
	const order = localStorage.getItem('order') ?? '';
	if (Object.hasOwn(ORDERS, order)) state.order = /** @type {keyof typeof ORDERS} */ (order);
	const tools = byId('tools');
	notify.addTheme(tools);
	tools.append(button('?', keys.openHelp, { class: 'quiet', 'aria-label': 'Keyboard' }));
	notify.start(tools);
	buildList(byId('list'));
	buildDetail(byId('main'), moveOn);
	keys.listen(go);
	subscribe(draw);
	window.addEventListener('hashchange', route);
	setInterval(tick, 1000);
	route();
	draw();
	live.start();
}

begin();
