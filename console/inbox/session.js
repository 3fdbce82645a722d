// The person at the page, and their rights.

import { Failure, beginOIDC, finishOIDC, getMe, getSignIn, onSignedOut, signIn, signOut } from './api.js';
import { turnOff } from './push.js';
import { changed, forget, state } from './store.js';
import { button, byId, el, fill, hostile } from './view/dom.js';

/** @typedef {import('./types.js').Request} Request */
/** @typedef {import('./types.js').Me} Me */

/** Why an abridged request cannot be approved yet. */
export const LOADING = 'Loading the whole call…';

/** Where the provider sends browsers back to. */
const CALLBACK = '/auth/oidc/callback';

/** What this page keeps for its origin, in this tab, while the browser is at the provider. */
const AWAY = 'sign_in';

/** A link that brings a token, as `heldcall run` prints it. */
const TOKEN = /^#token=([\w-]+)$/;

/** The token of the link that the page was opened with, until it was tried. */
let linked = '';

/** Takes the token out of the address, so that it is not in the history of the browser. */
function takeToken() {
	linked = TOKEN.exec(location.hash)?.[1] ?? '';
	if (linked) history.replaceState(null, '', '/#/');
	window.addEventListener('hashchange', () => {
		if (TOKEN.test(location.hash)) location.reload();
	});
}

/**
 * Finds out who is at the page; somebody who must sign in is asked to. ready is
 * called once it is known, and again after another sign-in.
 * @param {() => void} ready
 */
export async function begin(ready) {
	takeToken();
	onSignedOut(() => {
		if (!state.me) return;
		forget();
		changed();
		void askWho(ready);
	});
	const failed = location.pathname === CALLBACK ? await comeBack(ready) : '';
	if (failed) return drawSignIn(ready, failed);
	if (!state.me) await askWho(ready);
}

/** Goes to the provider; what was looked at is looked at again afterwards. */
async function goAway() {
	const { url, secret } = await beginOIDC();
	sessionStorage.setItem(AWAY, JSON.stringify({ secret, hash: location.hash }));
	location.assign(url);
}

/**
 * Ends a sign-in at the provider. What it returned does not stay in the address.
 * @param {() => void} ready
 * @returns {Promise<string>} why it failed; '' if it did not
 */
async function comeBack(ready) {
	const returned = new URLSearchParams(location.search);
	const { secret = '', hash = '' } = JSON.parse(sessionStorage.getItem(AWAY) ?? '{}');
	sessionStorage.removeItem(AWAY);
	history.replaceState(null, '', `/${hash}`);
	if (!secret) return ''; // the sign-in did not begin in this tab: it is a link of somebody else
	const code = returned.get('code') ?? '';
	if (!code) return `The provider did not sign you in (${/^[a-z_]{1,40}$/.exec(returned.get('error') ?? '') ?? 'no reason given'}).`;
	try {
		enter(await finishOIDC({ code, state: returned.get('state') ?? '', secret }), ready);
		return '';
	} catch (error) {
		return reason(error);
	}
}

/** @param {unknown} error @returns {string} */
function reason(error) {
	return error instanceof Failure ? error.message : 'Something went wrong. Reload the page.';
}

/** @param {() => void} ready */
async function askWho(ready) {
	for (;;) {
		try {
			return enter(await getMe(), ready);
		} catch (error) {
			if (error instanceof Failure && error.code === 'unauthenticated') return drawSignIn(ready);
			state.connection = 'lost';
			changed();
			await new Promise((resolve) => setTimeout(resolve, 1000)); // heldcall is not there, yet
		}
	}
}

/** @param {Me} me @param {() => void} ready */
function enter(me, ready) {
	state.me = me;
	document.body.classList.remove('outside');
	fill(byId('door')); // the token that was typed leaves the page
	drawName(me);
	changed();
	ready();
}

/** The name at the top, and the way out. @param {Me} me */
function drawName(me) {
	const leave = async () => {
		await turnOff().catch(() => {}); // no notifications after the sign-out
		await signOut();
		location.reload();
	};
	fill(byId('me'), me.via === 'local' ? null : el('span', { class: 'name', title: `${me.name}, ${me.role}` }, hostile(me.name)),
		me.via === 'session' && button('Sign out', () => void leave(), { class: 'quiet' }));
}

/** @param {() => void} ready @param {string} [failed] why the sign-in before this one failed */
async function drawSignIn(ready, failed = '') {
	if (linked) {
		const token = linked;
		linked = '';
		try {
			return enter(await signIn(token), ready);
		} catch (error) {
			failed = reason(error);
		}
	}
	document.body.classList.add('outside');
	fill(byId('me'));
	const token = /** @type {HTMLInputElement} */ (el('input', { id: 'token', type: 'password', autocomplete: 'current-password', required: true, spellcheck: 'false' }));
	const wrong = el('div', { role: 'alert' });
	const complain = (/** @type {string} */ why) => wrong.replaceChildren(el('p', { class: 'error' }, hostile(why)));
	const submit = async (/** @type {Event} */ event) => {
		event.preventDefault();
		try {
			enter(await signIn(token.value.trim()), ready);
		} catch (error) {
			complain(reason(error));
			token.select();
		}
	};
	const leave = () => goAway().catch((error) => complain(reason(error)));
	const ways = (await getSignIn().catch(() => ({ methods: ['token'] }))).methods;
	fill(byId('door'), el('form', { class: 'door', on: { submit } },
		el('h1', {}, 'Sign in'),
		el('p', { class: 'muted' }, 'Sign in to review agent requests.'),
		wrong,
		...(ways.includes('oidc') ? [button('Sign in with your organization', () => void leave(), { class: 'good' })] : []),
		...(ways.includes('token') ? [
			el('div', { class: 'field' }, el('label', { for: 'token' }, 'Token'), token,
				el('p', { class: 'about' }, 'Printed by ', el('code', {}, 'heldcall token create'), ': ask your administrator for one. The address that ', el('code', {}, 'heldcall run'), ' prints at its start signs you in.')),
			el('button', { type: 'submit', class: 'good' }, 'Sign in'),
		] : [])));
	if (failed) complain(failed);
	token.focus();
}

/**
 * Why the person at the page cannot decide a request; '' if they can, as far as
 * the page knows. The server decides in the end.
 * @param {Request} request
 * @param {Me|null} me
 * @returns {string}
 */
export function hindrance(request, me) {
	if (!me) return 'You are not signed in.';
	if (me.role === 'viewer') return 'You have view-only access.';
	const groups = request.reviewers ?? [];
	const own = [me, ...(me.decides_for ?? [])].flatMap((person) => person.groups);
	if (groups.length > 0 && !inOne(own, groups)) return `Only ${groups.join(' or ')} may decide this.`;
	return '';
}

/**
 * Why an approval of the person at the page would count for nothing, in their own place
 * and in others'; '' if it may count. They may deny nevertheless.
 * @param {Request} request
 * @param {Me|null} me
 * @returns {string}
 */
export function spent(request, me) {
	if (!me) return '';
	const self = me.self_approval ? '' : request.principal.user.toLowerCase();
	if (self && [me.name, me.user].some((name) => name?.toLowerCase() === self)) return 'You can’t approve your own agent’s request.';
	const demands = request.demands ?? [{ reviewers: request.reviewers ?? [], required_approvals: request.required_approvals }];
	let again = '';
	for (const place of [me, ...(me.decides_for ?? [])]) {
		const people = [me.name, me.user, place.name];
		if (self && place.name.toLowerCase() === self) continue;
		for (const [i, demand] of demands.entries()) {
			if (demand.reviewers.length > 0 && !inOne(place.groups, demand.reviewers)) continue;
			const given = request.demands ? approvalsOf(request, i) : request.decisions;
			const same = given.find((decision) => isOne(decision, people));
			if (same) again ||= same.reviewer_id;
			else if (given.length < Math.max(demand.required_approvals, 1)) return '';
		}
	}
	if (again === me.name) return `You approved. Waiting for ${missing(request)}.`;
	if (again) return `${again} approved and counts as you. Waiting for ${missing(request)}.`;
	return `Your groups approved. Waiting for ${missing(request)}.`;
}

/** Whether a request is a question of a model: it is answered, not approved. @param {Request} request */
export const asks = ({ kind }) => ['clarification', 'decision', 'env_var', 'combined'].includes(kind);

/**
 * Whether a decision of the person at the page may count, as far as the page knows.
 * @param {'approve'|'deny'} action
 * @param {Request} request
 * @param {Me|null} me
 */
export const counts = (action, request, me) => !hindrance(request, me) && (action === 'deny' || !(asks(request) || spent(request, me)));

/** Whether a decision is that of a person, by any of their names. @param {import('./types.js').Decision} decision @param {string[]} people */
function isOne({ reviewer_id, reviewer_user, on_behalf_of, on_behalf_user }, people) {
	const names = people.filter(Boolean).map((name) => name.toLowerCase());
	return [reviewer_id, reviewer_user, on_behalf_of, on_behalf_user].some((name) => name && names.includes(name.toLowerCase()));
}

/**
 * Whether one may edit a request and remember it: if no other approval is needed, and
 * as a member of the groups of every rule that asks.
 * @param {Request} request
 * @param {Me|null} me
 */
export function alone(request, me) {
	const demands = request.demands ?? [];
	const people = me ? [me, ...(me.decides_for ?? [])] : [];
	return request.required_approvals <= 1 &&
		(demands.length === 0 || people.some((person) => demands.every((demand) => inOne(person.groups, demand.reviewers))));
}

/** How many more approvals a request wants, such as “1 more approval”; with demands also of whom. @param {Request} request @returns {string} */
export function missing(request) {
	const demands = request.demands ?? [{ reviewers: [], required_approvals: request.required_approvals }];
	return demands.flatMap(({ reviewers, required_approvals: required }, i) => {
		const n = Math.max(required, 1) - (request.demands ? approvalsOf(request, i) : request.decisions).length;
		return n > 0 ? `${n} more approval${n === 1 ? '' : 's'}${reviewers.length > 0 ? ` of ${reviewers.join(' or ')}` : ''}` : [];
	}).join(' and ');
}

/** The decisions that count for a demand of a request. @param {Request} request @param {number} demand */
export const approvalsOf = (request, demand) => request.decisions.filter((decision) => decision.fills?.includes(demand));

/** Whether a demand of a request has not all of its approvals yet. @param {Request} request @param {number} demand */
export const waits = (request, demand) => approvalsOf(request, demand).length < (request.demands?.[demand].required_approvals ?? 1);

/** @param {string[]} own @param {string[]} groups */
const inOne = (own, groups) => own.includes('*') || groups.some((group) => own.includes(group));
