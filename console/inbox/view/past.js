// What follows from a request for later ones: similar decisions of the past, and the rule
// of the policy that would have decided it.

import { Failure, listRequests, listSuggestions } from '../api.js';
import { causesOf } from '../effects.js';
import { asks } from '../session.js';
import { button, el, fill, hostile } from './dom.js';
import { drawEntry } from './history.js';
import { toast } from './toast.js';

/** @typedef {import('../types.js').Request} Request */

const SHOWN = 5; // similar decisions
const READ = 50; // requests that the search may return for them

/**
 * The words that similar requests are searched with: the tool, and the beginning of the
 * command that made policy ask, or the resource.
 * @param {Request} request
 */
export function similarWords(request) {
	const { tool_name: tool, resource, details: { commands = [] } } = request;
	const causes = causesOf(request);
	const command = commands.find((one) => causes.some((cause) => one.includes(cause) || cause.startsWith(one))) ?? commands[0] ?? '';
	const [program = '', sub = ''] = command.split(/\s+/);
	const words = commands.length > 0 ? [program, /^[\w-]+$/.test(sub) && !sub.startsWith('-') ? sub : ''] : [/^\S{1,200}$/.test(resource) ? resource : ''];
	return [tool, ...words].filter((word) => word && word !== '…').join(' ');
}

/** The decisions of people among requests, but for a request itself. @param {Request[]} found @param {Request} request */
export function decidedBefore(found, { id, tool_name: tool }) {
	return found.filter((one) => one.id !== id && one.tool_name === tool && one.status !== 'pending' && one.decisions.length > 0).slice(0, SHOWN);
}

/** What can be opened below a call; both are read only then. @param {Request} request */
export function drawPast(request) {
	if (asks(request) || request.kind === 'result') return [];
	return [
		opened('Similar past decisions', () => similar(request)),
		...(request.suggested_patterns.length > 0 ? [opened('Make this a rule', () => rule(request))] : []),
	];
}

/** @param {string} title @param {() => Promise<(HTMLElement|false)[]>} read */
function opened(title, read) {
	const place = el('div', { class: 'past', role: 'status' });
	let asked = false;
	const details = /** @type {HTMLDetailsElement} */ (el('details', { on: { toggle: async () => {
		if (!details.open || asked) return;
		asked = true;
		try {
			fill(place, ...await read());
		} catch (error) {
			asked = false;
			fill(place, el('p', { class: 'error' }, hostile(error instanceof Failure ? error.message : 'Something went wrong. Reload the page.')));
		}
	} } }, el('summary', {}, title), place));
	return details;
}

/** @param {Request} request */
async function similar(request) {
	const words = similarWords(request);
	const { items } = await listRequests({ q: words, limit: String(READ) });
	const found = decidedBefore(items, request);
	if (found.length === 0) return [el('p', { class: 'muted' }, 'No recent decision about ', el('code', {}, hostile(words)), '.')];
	return [el('ul', { class: 'entries' }, found.map(drawEntry)), el('p', {}, el('a', { href: `#/history?${new URLSearchParams({ q: words })}` }, 'Search the history'))];
}

/** A line of the policy's rules. @param {'allow'|'deny'} effect @param {Iterable<string>} patterns */
export function ruleLine(effect, patterns) {
	return `- ${effect}: [${[...patterns].map((pattern) => JSON.stringify(pattern)).join(', ')}]`;
}

/** Whether a rule of the policy asks about the call, so that an allow rule beside it changes nothing. @param {Request} request */
function isAskedByRule({ rule: by }) {
	return /^[^\s,]+:\d+/.test(by);
}

/** @param {Request} request */
async function rule(request) {
	const about = new Map((await listSuggestions(request.id)).items.map((one) => [one.pattern, one]));
	const chosen = new Set(request.details.remember?.patterns ?? request.suggested_patterns.slice(0, 1));
	const effect = request.status === 'denied' ? 'deny' : 'allow';
	const line = el('code', {});
	const draw = () => fill(line, hostile(ruleLine(effect, chosen)));
	const copy = async () => {
		try {
			await navigator.clipboard.writeText(ruleLine(effect, chosen));
			toast('Copied.');
		} catch {
			getSelection()?.selectAllChildren(line);
			toast('Selected: copy it with Ctrl+C.');
		}
	};
	const patterns = request.suggested_patterns.map((pattern) => el('label', { class: 'choice' },
		el('input', { type: 'checkbox', checked: chosen.has(pattern), on: { change: (/** @type {Event} */ event) => {
			if (/** @type {HTMLInputElement} */ (event.target).checked) chosen.add(pattern);
			else chosen.delete(pattern);
			draw();
		} } }), el('code', {}, hostile(pattern)), el('span', { class: 'hint' }, hostile(words(about.get(pattern))))));
	draw();
	return [
		el('div', { class: 'patterns' }, patterns),
		el('div', { class: 'block rule-line' }, el('pre', { tabindex: '0' }, line), button('Copy', () => void copy(), { class: 'quiet' })),
		el('p', { class: 'hint' }, 'Add the line to ', el('code', {}, 'rules'), ' in ', el('code', {}, hostile(request.details.policy || 'the policy file')), '. heldcall reads the file again when it changes.'),
		effect === 'allow' && isAskedByRule(request) && el('p', { class: 'hint' }, 'The rule at ', el('code', {}, hostile(request.rule)), ' asks about this call, and ask rules win over allow rules: change that rule too.'),
	];
}

/** @param {import('../types.js').Suggestion|undefined} suggestion */
function words(suggestion) {
	return suggestion ? `allows ${suggestion.allows}; would have covered ${suggestion.covered} of the last ${suggestion.of} requests` : '';
}
