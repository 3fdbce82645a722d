// Decisions that are remembered: what they cover, how long, and their end.

import { Failure, listGrants, revokeGrant } from '../api.js';
import { exact } from '../clock.js';
import { state } from '../store.js';
import { plain } from '../text/visible.js';
import { button, countdown, el, elapsed, fill, hostile } from './dom.js';
import { plural } from './folds.js';
import { toast } from './toast.js';

/** @typedef {import('../types.js').Grant} Grant */

/** Draws the list. @param {HTMLElement} place */
export async function drawGrants(place) {
	const results = el('ul', { class: 'entries' });
	const foot = el('div', { class: 'foot', role: 'status' }, 'Looking…');
	fill(place, el('div', { class: 'column' }, el('div', { class: 'head' }, el('h1', {}, 'Grants'), el('a', { class: 'button', href: '#/proposals' }, 'Proposed rules'), state.me?.role === 'admin' && el('a', { class: 'button', href: '#/grants/new' }, 'New grant')),
		el('p', { class: 'muted' }, 'What reviewers decided for good. Nobody is asked again about calls that a grant covers.'), results, foot));
	await readOn(results, foot, '');
}

/** @param {HTMLElement} results @param {HTMLElement} foot @param {string} cursor */
async function readOn(results, foot, cursor) {
	try {
		const page = await listGrants(cursor);
		results.append(...page.items.map((grant) => drawGrant(grant)));
		const shown = results.childElementCount;
		fill(foot,
			el('p', { class: 'muted' }, shown === 0 ? 'Nothing is remembered. “Always…” beside a pending request makes a grant.' : plural(shown, 'grant')),
			page.next_cursor && button('More', () => void readOn(results, foot, page.next_cursor)));
	} catch (error) {
		fill(foot, el('p', { class: 'error' }, hostile(error instanceof Failure ? error.message : 'The grants could not be read.')));
	}
}

/** What a grant covers: its patterns, or words. @param {Grant} grant */
function covered(grant) {
	if (grant.window) return [`reads and writes in the workspace, run ${grant.run_id}`];
	if (grant.folder) return [`${grant.folder} as a part of the workspace, run ${grant.run_id}`];
	return grant.patterns;
}

/** @param {Grant} grant */
function drawGrant(grant) {
	const revoke = button('Revoke', () => void pull(grant, row), { class: 'bad', 'aria-label': `Revoke the grant for ${plain(covered(grant).join(', '))}` });
	const row = el('li', { class: 'grant' },
		el('div', { class: 'terms' },
			el('p', {}, el('strong', { class: `end ${grant.effect === 'allow' ? 'approved' : 'denied'}` }, grant.effect), ' ',
				covered(grant).map((pattern) => [el('code', {}, hostile(pattern)), ' ']).flat()),
			el('p', { class: 'muted' }, 'for ', hostile(whose(grant)), ' · by ', hostile(grant.on_behalf_of ? `${grant.granted_by} for ${grant.on_behalf_of}` : grant.granted_by), ' ', elapsed(grant.created_at),
				' · ', ...ends(grant)),
			el('p', { class: 'muted' }, grant.uses > 0 ? `decided ${plural(grant.uses, 'call')}` : 'not used yet',
				grant.last_used_at && [', last ', elapsed(grant.last_used_at)],
				grant.request_id && [' · ', el('a', { href: `#/requests/${encodeURIComponent(grant.request_id)}` }, 'the request')]),
			grant.note && el('p', { class: 'prose' }, '“', hostile(grant.note), '”')),
		(state.me?.role === 'admin' || ((grant.window || grant.folder) && state.me?.role === 'reviewer')) && revoke);
	return row;
}

/** @param {Grant} grant */
function ends(grant) {
	return grant.expires_at ? [countdown(grant.expires_at), ' left', el('span', { class: 'unseen' }, ` until ${exact(grant.expires_at)}`)] : ['until it is revoked'];
}

/** Whose calls a grant covers, in words. @param {Grant} grant */
export function whose({ scope, principal, session_id: session }) {
	const user = principal.user || 'nobody known';
	if (scope === 'tenant') return `everybody in ${principal.tenant}`;
	if (scope === 'user') return `every agent of ${user}`;
	const agent = `${principal.agent || 'an agent without a name'} for ${user}`;
	return scope === 'session' ? `${agent}, in the conversation ${session}` : agent;
}

/** @param {Grant} grant @param {HTMLElement} row */
async function pull(grant, row) {
	try {
		await revokeGrant(grant.id);
		row.remove();
		toast('Revoked. Such calls are judged by the rules again.');
	} catch (error) {
		toast(error instanceof Failure ? plain(error.message) : 'Something went wrong. Reload the page.', true);
	}
}
