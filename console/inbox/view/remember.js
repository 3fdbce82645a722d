// Decisions that are remembered: patterns, scope, expiry, and the recent calls that
// they would have covered.

import { listSuggestions, listTemplates } from '../api.js';
import { button, el, fill, hostile } from './dom.js';
import { Preview, choiceField, durationOf, effectField, expiryOf, lastsOf, patternsIn, textField } from './terms.js';

/** @typedef {import('./call.js').Card} Card */
/** @typedef {import('../types.js').Request} Request */

/**
 * The grant in the form.
 * @typedef {Object} Memory
 * @property {'allow'|'deny'} effect
 * @property {Set<string>} chosen of the suggested patterns
 * @property {string} typed one pattern a line
 * @property {string} scope
 * @property {number} lasts milliseconds, 0: until it is revoked
 * @property {string} note
 * @property {string} template name of the one that it is, unchanged; ''
 * @property {import('../types.js').GrantTemplate[]|null} ready the templates, once they are read
 * @property {Promise<import('../types.js').Suggestion[]>} [suggestions] once they are asked for
 */

/** The scopes of a request in words, narrowest first. @param {Request} request @returns {[string, string][]} */
export function scopesOf({ principal, session_id: session, remember_scopes: possible = [] }) {
	const user = principal.user || 'an unknown user';
	const all = /** @type {[string, string][]} */ ([
		['session', `this session (${session})`],
		['agent', `${principal.agent || 'this agent'} when it acts for ${user}`],
		['user', `every agent that acts for ${user}`],
		['tenant', `everybody in ${principal.tenant}`],
	]);
	return all.filter(([scope]) => (possible.length === 0 || possible.includes(scope)) && (scope !== 'session' || session));
}

/** The exact patterns are chosen: one for each command of a script, all of which it takes. A wider one has a *. @param {Request} request @returns {Memory} */
export function memoryOf(request) {
	const { patterns, scope, expires } = request.details.remember ?? { patterns: [], scope: scopesOf(request)[0]?.[0] ?? '', expires: '8h' };
	return { effect: request.actions?.always.reason ? 'deny' : 'allow', chosen: new Set(patterns), typed: '', scope, lasts: durationOf(expires), note: '', template: '', ready: null };
}

/** The patterns that are chosen or typed. @param {Memory} memory */
export function patternsOf(memory) {
	return [...new Set([...memory.chosen, ...patternsIn(memory.typed)])];
}

/** Takes over a template. @param {Memory} memory @param {import('../types.js').GrantTemplate} template */
export function apply(memory, template) {
	memory.template = template.name;
	memory.effect = template.effect;
	memory.chosen.clear();
	memory.typed = template.patterns.join('\n');
	memory.scope = template.scope;
	memory.lasts = durationOf(template.expires);
}

/** The fields of the decision for the API. A template brings its patterns itself. @param {Memory} memory */
export function wanted(memory) {
	return memory.template ? { template: memory.template, scope: memory.scope } : { patterns: patternsOf(memory), scope: memory.scope };
}

/**
 * Draws the form of a card whose decision is to be remembered.
 * @param {Card} card
 * @param {HTMLElement[]} error
 */
export function drawMemory(card, error) {
	const { request } = card;
	const memory = (card.memory ??= memoryOf(request));
	const preview = new Preview(() => (patternsOf(memory).length === 0 ? null
		: { effect: memory.effect, ...wanted(memory), principal: request.principal, session_id: request.session_id, expires_at: expiryOf(memory.lasts) }));
	const send = /** @type {HTMLButtonElement} */ (el('button', { type: 'submit' }));
	const review = () => {
		label(card, memory, send);
		preview.update();
	};
	const edited = () => {
		memory.template = '';
		for (const message of error) message.remove();
		review();
	};
	const submit = (/** @type {Event} */ event) => {
		event.preventDefault();
		if (card.busy) return;
		card.decide(card, {
			action: memory.effect === 'allow' ? 'allow_always' : 'deny_always', ...wanted(memory),
			...(memory.template && !memory.lasts ? {} : { grant_expires_at: expiryOf(memory.lasts) ?? 'never' }), ...(memory.note.trim() ? { note: memory.note.trim() } : {}),
		});
	};
	const form = el('form', { on: { submit } }, drawFields(request, memory, edited), drawTemplates(card, memory), preview.element, ...error,
		card.folds.closed.size > 0 && el('p', { class: 'hint' }, 'Some sections are collapsed. ', button('Expand everything', () => card.folds.openAll(), { class: 'link' })),
		el('div', { class: 'buttons' }, send, button('Cancel', () => card.enter('read'), { class: 'quiet' })),
		el('p', { class: 'hint' }, 'Deny rules always win over grants. Grants can be revoked at any time.'));
	review();
	return form;
}

/** @param {Card} card @param {Memory} memory @param {HTMLButtonElement} send */
function label(card, memory, send) {
	const allow = memory.effect === 'allow';
	send.className = allow ? 'good' : 'bad';
	send.textContent = allow ? 'Approve and always allow' : 'Deny and always deny';
	send.disabled = card.busy || patternsOf(memory).length === 0 || (allow && card.folds.closed.size > 0);
}

/** @param {Request} request @param {Memory} memory @param {() => void} edited */
function drawFields(request, memory, edited) {
	const id = request.id;
	/** @type {Map<string, HTMLElement>} */
	const hints = new Map(request.suggested_patterns.map((pattern) => [pattern, el('span', { class: 'hint' })]));
	memory.suggestions ??= listSuggestions(id).then(({ items }) => items).catch(() => []); // without them the form is complete
	memory.suggestions.then((items) => {
		for (const { pattern, allows, covered, of } of items) {
			fill(hints.get(pattern) ?? el('span'), hostile(` allows ${allows}; would have covered ${covered} of the last ${of} requests`));
		}
	});
	const patterns = request.suggested_patterns.map((pattern) => el('label', { class: 'choice' },
		el('input', { type: 'checkbox', checked: memory.chosen.has(pattern), on: { change: (/** @type {Event} */ event) => {
			if (/** @type {HTMLInputElement} */ (event.target).checked) memory.chosen.add(pattern);
			else memory.chosen.delete(pattern);
			edited();
		} } }), el('code', {}, hostile(pattern)), hints.get(pattern)));
	const typed = textField(`typed-${id}`, 'Other patterns, one per line', memory.typed, 'bash(npm run *)', (value) => { memory.typed = value; edited(); });
	const note = textField(`why-${id}`, 'Note', memory.note, '', (value) => { memory.note = value; });
	return [
		request.actions?.always.reason
			? el('p', { class: 'hint' }, hostile(request.actions.always.reason))
			: effectField(`effect-${id}`, memory.effect, (effect) => { memory.effect = effect; edited(); }),
		el('fieldset', { class: 'tall' }, el('legend', {}, 'Matching'), patterns, typed),
		el('div', { class: 'pair' },
			choiceField(`scope-${id}`, 'Applies to', scopesOf(request), memory.scope, (value) => { memory.scope = value; edited(); }),
			choiceField(`lasts-${id}`, 'For how long', lastsOf(memory.lasts), String(memory.lasts), (value) => { memory.lasts = Number(value); edited(); })),
		note,
	];
}

/** The grants that the configuration keeps ready fill in the form. @param {Card} card @param {Memory} memory */
function drawTemplates(card, memory) {
	const { request } = card;
	const place = el('div', { class: 'templates' });
	const permitted = new Set(scopesOf(request).map(([scope]) => scope));
	const draw = (/** @type {import('../types.js').GrantTemplate[]} */ ready) => {
		if (ready.length === 0) return;
		fill(place, el('span', { class: 'hint' }, 'Ready-made: '), ...ready.map((template, i) => (permitted.has(template.scope)
			? button(template.title, () => { apply(memory, template); card.progress(false); },
				{ class: 'quiet', id: `template-${request.id}-${i}`, 'aria-pressed': String(memory.template === template.name) })
			: el('span', { class: 'hint' }, `${template.title}: not for this call, whose rule does not permit the scope “${template.scope}”.`))));
	};
	if (memory.ready) draw(memory.ready);
	else void listTemplates().then(({ items }) => draw(memory.ready = items), () => {}); // without them the form is complete
	return place;
}

