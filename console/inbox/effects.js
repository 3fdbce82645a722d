// What a call does, as one line, with the words of approvals.EffectsText.

/** @typedef {import('./types.js').Effect} Effect */

/** The words for each kind of effect, the most dangerous kind first. */
const VERBS = {
	privilege: 'uses other rights:', destroy: 'destroys:', secret: 'may use secrets:', send: 'sends:', install: 'installs:', run: 'runs other code:',
	unknown: 'unknown effects:', check: 'runs the project’s code:', write: 'writes', fetch: 'fetches:', read: 'reads', none: 'changes nothing',
};

/** @type {[string|undefined, string][]} */
const PLACES = [['outside', ' outside the workspace'], [undefined, ''], ['workspace', ' in the workspace']];
const TARGETS = 3; // of a kind that are named

/** @param {Effect[]|undefined} effects @returns {string} "" for none */
export function effectsText(effects = []) {
	const kindOf = (/** @type {Effect} */ { kind }) => (Object.hasOwn(VERBS, kind) ? kind : 'unknown');
	return Object.entries(VERBS).flatMap(([kind, verb]) => PLACES.flatMap(([place, where]) => {
		const found = effects.filter((effect) => kindOf(effect) === kind && (effect.place || undefined) === place);
		if (found.length === 0) return [];
		const targets = [...new Set(found.map(({ target }) => target).filter(Boolean))];
		const final = (kind === 'destroy' || kind === 'send') && found.some(({ reversible }) => !reversible);
		return [[targets.length > 0 ? verb : verb.replace(':', ''), targets.length > 0 && ` ${targets.slice(0, TARGETS).join(', ')}`, targets.length > TARGETS && ` and ${targets.length - TARGETS} more`, where, final && ' (cannot be undone)'].filter(Boolean).join('')];
	})).join(', ');
}
