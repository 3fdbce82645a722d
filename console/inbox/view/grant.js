// A grant that is created by hand, without a request.

import { Failure, addGrant, listRequests, listTemplates } from '../api.js';
import { button, el, fill, hostile } from './dom.js';
import { HOUR, Preview, choiceField, durationOf, effectField, expiryOf, lastsOf, patternsIn, textField } from './terms.js';
import { toast } from './toast.js';

/** @typedef {import('../types.js').GrantTemplate} GrantTemplate */

/**
 * A grant as it is being written.
 * @typedef {Object} Draft
 * @property {'allow'|'deny'} effect
 * @property {string} scope
 * @property {string} tenant
 * @property {string} user
 * @property {string} agent
 * @property {string} session
 * @property {string} patterns one a line
 * @property {number} lasts milliseconds, 0: until it is revoked
 * @property {string} note
 * @property {string} template name of the one that it is, unchanged; ''
 */

const RECENT = 200; // requests whose principals are offered

const SCOPES = /** @type {[string, string][]} */ ([
	['session', 'one conversation'], ['agent', 'one agent of a user'], ['user', 'every agent of a user'], ['tenant', 'everybody in the tenant'],
]);

/** The fields that select the calls, by scope. */
const NAMES = new Map([['tenant', ['tenant']], ['user', ['tenant', 'user']], ['agent', ['tenant', 'user', 'agent']], ['session', ['tenant', 'user', 'agent', 'session']]]);

const LABELS = new Map([['tenant', 'Tenant'], ['user', 'User'], ['agent', 'Agent'], ['session', 'Conversation']]);

/** @returns {Draft} */
export function newDraft() {
	return { effect: 'allow', scope: 'agent', tenant: 'default', user: '', agent: '', session: '', patterns: '', lasts: 8 * HOUR, note: '', template: '' };
}

/** Takes over a template. @param {Draft} draft @param {GrantTemplate} template */
export function fromTemplate(draft, template) {
	Object.assign(draft, { effect: template.effect, scope: template.scope, patterns: template.patterns.join('\n'), lasts: durationOf(template.expires), template: template.name });
}

/** The grant for the API. A template brings its patterns itself. @param {Draft} draft */
export function grantOf(draft) {
	const named = new Set(NAMES.get(draft.scope));
	const { tenant, user, agent, session } = draft;
	return {
		effect: draft.effect, scope: draft.scope,
		principal: { tenant, user: named.has('user') ? user : '', agent: named.has('agent') ? agent : '' },
		...(named.has('session') ? { session_id: session } : {}),
		...(draft.template ? { template: draft.template } : { patterns: patternsIn(draft.patterns) }),
		...(draft.lasts ? { expires_at: expiryOf(draft.lasts) } : {}),
		...(draft.note.trim() ? { note: draft.note.trim() } : {}),
	};
}

/** Draws the page. @param {HTMLElement} place */
export async function drawNewGrant(place) {
	const draft = newDraft();
	const form = el('form', { class: 'grant-form' });
	fill(place, el('div', { class: 'column' },
		el('a', { class: 'back always', href: '#/grants' }, '‹ All grants'), el('h1', {}, 'New grant'),
		el('p', { class: 'muted' }, 'Matching calls are decided without asking from now on. Deny rules always win over grants.'),
		el('article', { class: 'call' }, form)));
	const [known, templates] = await Promise.all([
		listRequests({ limit: String(RECENT) }).then(({ items }) => namesOf(items), () => namesOf([])), // without them the form is complete
		listTemplates().then(({ items }) => items, () => []),
	]);
	draft.tenant = [...(known.get('tenant') ?? [])][0] ?? draft.tenant;
	drawForm(form, draft, known, templates);
}

/** The names that recent requests have. @param {import('../types.js').Request[]} requests @returns {Map<string, Set<string>>} */
function namesOf(requests) {
	const known = new Map([...LABELS.keys()].map((name) => [name, new Set()]));
	for (const { principal, session_id: session } of requests) {
		for (const [name, value] of Object.entries({ tenant: principal.tenant, user: principal.user, agent: principal.agent, session })) {
			if (value) known.get(name)?.add(value);
		}
	}
	return known;
}

/** @param {HTMLElement} form @param {Draft} draft @param {Map<string, Set<string>>} known @param {GrantTemplate[]} templates */
function drawForm(form, draft, known, templates) {
	const preview = new Preview(() => (patternsIn(draft.patterns).length > 0 ? grantOf(draft) : null));
	const wrong = el('div', { role: 'alert' });
	const send = /** @type {HTMLButtonElement} */ (el('button', { type: 'submit' }));
	const review = () => {
		send.className = draft.effect === 'allow' ? 'good' : 'bad';
		send.textContent = draft.effect === 'allow' ? 'Allow from now on' : 'Deny from now on';
		send.disabled = patternsIn(draft.patterns).length === 0;
		wrong.replaceChildren();
		preview.update();
	};
	const edited = () => { draft.template = ''; review(); };
	const redraw = () => drawForm(form, draft, known, templates);
	fill(form,
		templates.length > 0 && el('div', { class: 'templates' }, el('span', { class: 'hint' }, 'Ready-made: '), ...templates.map((template) => button(template.title,
			() => { fromTemplate(draft, template); redraw(); }, { class: 'quiet', 'aria-pressed': String(draft.template === template.name) }))),
		effectField('grant-effect', draft.effect, (effect) => { draft.effect = effect; edited(); }),
		textField('grant-patterns', 'Matching patterns, one per line', draft.patterns, 'bash(npm run *)', (value) => { draft.patterns = value; edited(); }),
		el('div', { class: 'pair' },
			choiceField('grant-scope', 'Applies to', SCOPES, draft.scope, (value) => { draft.scope = value; redraw(); form.querySelector('select')?.focus(); }),
			choiceField('grant-lasts', 'For how long', lastsOf(draft.lasts), String(draft.lasts), (value) => { draft.lasts = Number(value); review(); })),
		el('div', { class: 'pair' }, ...(NAMES.get(draft.scope) ?? []).map((name) => nameField(name, draft, known.get(name) ?? new Set(), review))),
		textField('grant-note', 'Note', draft.note, 'Why, for those who read it later.', (value) => { draft.note = value; }),
		preview.element, wrong,
		el('div', { class: 'buttons' }, send, button('Cancel', () => { location.hash = '#/grants'; }, { class: 'quiet' })));
	form.onsubmit = (event) => {
		event.preventDefault();
		void submit(draft, send, wrong);
	};
	review();
}

/** @param {string} name @param {Draft} draft @param {Set<string>} known @param {() => void} review */
function nameField(name, draft, known, review) {
	const id = `grant-${name}`;
	const at = /** @type {'tenant'|'user'|'agent'|'session'} */ (name);
	const input = /** @type {HTMLInputElement} */ (el('input', { id, type: 'text', list: `${id}-known`, autocomplete: 'off', spellcheck: 'false',
		placeholder: name === 'user' || name === 'agent' ? 'none known' : '', on: { input: () => { draft[at] = input.value.trim(); review(); } } }));
	input.value = draft[at];
	return el('div', { class: 'field' }, el('label', { for: id }, LABELS.get(name) ?? name), input,
		el('datalist', { id: `${id}-known` }, [...known].map((value) => el('option', { value }))));
}

/** @param {Draft} draft @param {HTMLButtonElement} send @param {HTMLElement} wrong */
async function submit(draft, send, wrong) {
	send.disabled = true;
	try {
		await addGrant(grantOf(draft));
		toast('Grant created. It applies from now on.');
		location.hash = '#/grants';
	} catch (error) {
		send.disabled = false;
		fill(wrong, el('p', { class: 'error' }, hostile(error instanceof Failure ? error.message : 'Something went wrong. Reload the page and check whether the grant exists.')));
	}
}
