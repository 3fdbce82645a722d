// The open trust windows, each with the time that is left and a button to close it.

import { Failure, listGrants, revokeGrant } from '../api.js';
import { state } from '../store.js';
import { plain } from '../text/visible.js';
import { button, countdown, el, fill, hostile } from './dom.js';
import { toast } from './toast.js';

/** @typedef {import('../types.js').Grant} Grant */

const EVERY = 15_000; // milliseconds between two looks: other reviewers open and close windows too

/** @type {HTMLElement|undefined} */
let place;

/** The element in which the windows are, kept current from now on. */
export function buildWindows() {
	place = el('div', { class: 'windows', role: 'group', 'aria-label': 'Open trust windows' });
	place.hidden = true;
	setInterval(() => { if (!document.hidden) void drawWindows(); }, EVERY);
	return place;
}

/** Reads the windows, and shows those that are open. */
export async function drawWindows() {
	if (!state.me || !place) return;
	try {
		const { items } = await listGrants('');
		const open = items.filter((grant) => grant.window);
		place.hidden = open.length === 0;
		fill(place, ...open.map(drawWindow));
	} catch (error) {
		if (!(error instanceof Failure)) throw error; // the next look tries again
	}
}

/** @param {Grant} grant */
function drawWindow({ id, principal, run_id: run = '', expires_at: end = '', granted_by: by }) {
	const who = principal.agent || 'an agent';
	return el('p', {}, el('strong', {}, 'Trust window'), ' for ', hostile(who), ', run ', hostile(run), ', by ', hostile(by), ': reads and writes in the workspace pass. ',
		countdown(end), ' left ',
		state.me?.role !== 'viewer' && button('Close', () => void close(id), { class: 'quiet small', 'aria-label': `Close the trust window for ${plain(who)}` }));
}

/** @param {string} id */
async function close(id) {
	try {
		await revokeGrant(id);
		toast('Closed. People are asked about such calls again.');
	} catch (error) {
		toast(error instanceof Failure ? plain(error.message) : 'Something went wrong. Reload the page.', true);
	}
	await drawWindows();
}
