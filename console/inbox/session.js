// Who is at the page, and what they may do.

import { Failure, getMe, getSignIn, onSignedOut, signIn, signOut } from './api.js';
import { changed, forget, state } from './store.js';
import { button, byId, el, fill, hostile } from './view/dom.js';

/** @typedef {import('./types.js').Request} Request */
/** @typedef {import('./types.js').Me} Me */

/**
 * Finds out who is at the page; somebody who must sign in is asked to. ready is
 * called once it is known, and again after another sign-in.
 * @param {() => void} ready
 */
export async function begin(ready) {
	onSignedOut(() => {
		if (!state.me) return;
		forget();
		changed();
		void askWho(ready);
	});
	await askWho(ready);
}

/** @param {() => void} ready */
async function askWho(ready) {
	for (;;) {
		try {
			return enter(await getMe(), ready);
		} catch (error) {
			if (error instanceof Failure && error.code === 'unauthenticated') return drawSignIn(ready);
			await new Promise((resolve) => setTimeout(resolve, 1000)); // heldcall is not there, yet
		}
	}
}

/** @param {Me} me @param {() => void} ready */
function enter(me, ready) {
	state.me = me;
	document.body.classList.remove('outside');
	drawName(me);
	changed();
	ready();
}

/** The name at the top, and the way out. @param {Me} me */
function drawName(me) {
	const leave = async () => {
		await signOut();
		location.reload();
	};
	fill(byId('me'), me.via === 'local' ? null : el('span', { class: 'name', title: `${me.name}, ${me.role}` }, hostile(me.name)),
		me.via === 'session' && button('Sign out', () => void leave(), { class: 'quiet' }));
}

/** @param {() => void} ready */
async function drawSignIn(ready) {
	document.body.classList.add('outside');
	fill(byId('me'));
	const token = /** @type {HTMLInputElement} */ (el('input', { id: 'token', type: 'password', autocomplete: 'current-password', required: true, spellcheck: 'false' }));
	const wrong = el('div', { role: 'alert' });
	const submit = async (/** @type {Event} */ event) => {
		event.preventDefault();
		try {
			enter(await signIn(token.value.trim()), ready);
		} catch (error) {
			wrong.replaceChildren(el('p', { class: 'error' }, error instanceof Failure ? error.message : 'The page failed at this. Reload it.'));
			token.select();
		}
	};
	const ways = (await getSignIn().catch(() => ({ methods: ['token'] }))).methods;
	fill(byId('door'), el('form', { class: 'door', on: { submit } },
		el('h1', {}, 'Sign in'),
		el('p', { class: 'muted' }, 'Only reviewers see what agents want to do.'),
		...(ways.includes('oidc') ? [el('a', { class: 'button good', href: '/auth/oidc' }, 'Sign in with your organization')] : []),
		...(ways.includes('token') ? [
			el('div', { class: 'field' }, el('label', { for: 'token' }, 'Token'), token,
				el('p', { class: 'about' }, 'The one that ', el('code', {}, 'heldcall token create'), ' printed for you.')),
			wrong, el('button', { type: 'submit', class: 'good' }, 'Sign in'),
		] : [])));
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
	if (me.role === 'viewer') return 'You may look at requests, and not decide them.';
	const groups = request.reviewers ?? [];
	const own = [me, ...(me.decides_for ?? [])].flatMap((person) => person.groups);
	if (groups.length > 0 && !groups.some((group) => own.includes(group)) && !own.includes('*')) {
		return `Only ${groups.join(' or ')} may decide this.`;
	}
	if (request.decisions.some((decision) => decision.reviewer_id === me.name)) return 'You have decided. It waits for the others.';
	return '';
}
