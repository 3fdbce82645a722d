// Rules that the decisions of people suggest. The file of a policy belongs to its operator: a line is
// copied here, and not written.

import { Failure, listProposals } from '../api.js';
import { button, el, elapsed, fill, hostile } from './dom.js';
import { plural } from './folds.js';
import { toast } from './toast.js';

/** @typedef {import('../types.js').Proposal} Proposal */

/** Draws the page. @param {HTMLElement} place */
export async function drawProposals(place) {
	const results = el('ul', { class: 'entries' });
	const foot = el('div', { class: 'foot', role: 'status' }, 'Looking…');
	const rest = el('div', {});
	fill(place, el('div', { class: 'column' },
		el('div', { class: 'head' }, el('h1', {}, 'Proposed rules'), el('a', { class: 'button', href: '#/grants' }, 'Grants')),
		el('p', { class: 'muted' }, 'Calls that people approved again and again in the last 7 days, and never denied. Add a line to the rules of the policy file to be asked no more; ', el('code', {}, 'heldcall policy learn --write'), ' does it for you.'),
		results, foot, rest));
	try {
		const all = await listProposals();
		results.append(...all.items.map((proposal) => drawProposal(proposal, all.of)));
		const lines = all.items.map(({ line }) => line).join('\n');
		fill(foot, el('p', { class: 'muted' }, all.items.length === 0 ? `No rule is proposed, from ${plural(all.of, 'request')}.` : plural(all.items.length, 'proposal')),
			all.items.length > 1 && copier(lines, 'Copy all lines'));
		fill(rest, all.narrow.length > 0 && drawNarrowed(all.narrow), all.left_out.length > 0 && drawLeftOut(all.left_out));
	} catch (error) {
		fill(foot, el('p', { class: 'error' }, hostile(error instanceof Failure ? error.message : 'The proposals could not be read.')));
	}
}

/** @param {Proposal} proposal @param {number} of */
function drawProposal(proposal, of) {
	return el('li', { class: 'grant proposal' },
		el('div', { class: 'terms' },
			el('p', {}, el('code', {}, hostile(proposal.pattern))),
			el('p', {}, evidence(proposal, of), ' · last ', elapsed(proposal.last)),
			el('p', { class: 'muted' }, 'for ', hostile(proposal.policy), ' · allows ', hostile(proposal.allows)),
			el('ul', { class: 'would-pass', 'aria-label': 'Calls that would have passed' },
				proposal.calls.map(({ tool_name: tool, preview, calls }) => el('li', {}, `${calls} × `, hostile(tool), ' ', el('code', {}, hostile(preview))))),
			el('pre', { tabindex: '0' }, hostile(proposal.line)),
			el('div', { class: 'brakes' }, copier(proposal.line, 'Copy line'))));
}

/** The evidence and the effect of a proposal, in words. @param {Pick<Proposal, 'approved'|'sessions'|'fewer'|'alone'>} proposal @param {number} of */
export function evidence({ approved, sessions, fewer, alone }, of) {
	const times = approved === 1 ? 'once' : `${approved} times`;
	const other = alone === fewer ? '' : ` (${alone} without the other proposals)`;
	return `approved ${times} in ${plural(sessions, 'session')}, never denied · ${plural(fewer, 'prompt')} fewer, of ${of}${other}`;
}

/** Rules that ask and were always approved: what to write in them. @param {import('../types.js').NarrowedRule[]} rules */
function drawNarrowed(rules) {
	return el('section', {}, el('h2', {}, 'Rules that ask too often'),
		el('p', { class: 'muted' }, 'People approved every request of these rules. Add the condition to the rule, and the other lines after it: it asks no more about the calls that were approved again and again.'),
		el('ul', { class: 'entries' }, rules.map(({ policy, rule, approved, sessions, lines }) => {
			const text = lines.join('\n');
			return el('li', { class: 'grant narrowed' }, el('div', { class: 'terms' },
				el('p', {}, el('code', {}, hostile(rule)), ` approved ${plural(approved, 'time')} in ${plural(sessions, 'session')}, never denied`),
				el('p', { class: 'muted' }, 'for ', hostile(policy)),
				el('pre', { tabindex: '0' }, hostile(text)),
				el('div', { class: 'brakes' }, copier(text, 'Copy lines'))));
		})));
}

/** @param {import('../types.js').LeftOut[]} patterns */
function drawLeftOut(patterns) {
	return el('details', { class: 'left-out' }, el('summary', {}, `Not proposed: ${plural(patterns.length, 'other pattern')} of approved calls`),
		el('ul', {}, patterns.map(({ pattern, reason }) => el('li', {}, el('code', {}, hostile(pattern)), ': ', hostile(reason)))));
}

/** Null where the browser lets no page write the clipboard: over plain HTTP. @param {string} text @param {string} label */
function copier(text, label) {
	if (!navigator.clipboard?.writeText) return null;
	return button(label, () => {
		navigator.clipboard.writeText(text).then(() => toast('Copied. Add it to the rules of the policy file.'), () => toast('The browser does not let this page copy. Select the line.', true));
	});
}
