// Decisions, from the press of a button to the message about the outcome.

import { Failure, decide, decideSeveral, getRequest } from './api.js';
import { now } from './clock.js';
import { ruleTitle } from './present.js';
import { missing } from './session.js';
import { put } from './store.js';
import { plain } from './text/visible.js';
import { headline } from './words.js';
import { shelve } from './view/shelf.js';
import { toast } from './view/toast.js';
import { drawWindows } from './view/windows.js';

/** @typedef {import('./types.js').Request} Request */
/** @typedef {import('./api.js').Choice} Choice */

const DONE = { approve: 'Approved', deny: 'Denied', modify_args: 'Approved with changes', allow_always: 'Approved and always allowed', deny_always: 'Denied and always denied' };
/** The reviewer of a call that ran at its deadline; no person has this name. */
export const TIMEOUT = 'timeout';
/** The reviewer of a call that a changed policy decided while it waited. */
const POLICY = 'policy';
const ENDED = { approved: 'approved', denied: 'denied', answered: 'answered', expired: 'expired', cancelled: 'cancelled', pending: 'pending' };

/**
 * Sends a decision and reports whether it decided the request. It fails if the
 * decision is not valid.
 * @param {Request} request
 * @param {Choice} choice
 * @returns {Promise<boolean>}
 */
export async function send(request, choice) {
	try {
		const decided = await decide(request.id, choice);
		put([decided]);
		if (choice.window) void drawWindows();
		const open = decided.status === 'pending';
		shelve({ id: decided.id, how: done(choice), what: named(request), at: new Date(now()).toISOString() });
		toast(open ? `You approved ${named(request)}. Waiting for ${plain(missing(decided))}.` : [`${done(choice)}: ${named(request)}`, afterApproval(decided)].filter(Boolean).join('. '));
		return !open;
	} catch (error) {
		if (!(error instanceof Failure)) throw error;
		if (error.code === 'already_decided' && error.problem?.request) {
			put([error.problem.request]);
			toast(tooLate(error.problem.request), true);
			return false;
		}
		if (error.code === 'store_unavailable') put([await getRequest(request.id)]);
		throw error;
	}
}

/** What happens to an approved call that is not released at once, as approvals.Request.AfterApproval has it; '' for others. @param {Request} request */
export function afterApproval({ agent, status, details }) {
	if (status !== 'approved' || !agent || agent.state === 'attached' || details?.result) return '';
	return agent.state === 'detached' ? 'The call is released when the agent reconnects.' : 'The agent goes on, and may make the call once.';
}

const LONGEST = 80; // letters of a call in a message

/** A question, or a call in a few words: its tool, and what its rule calls it or the beginning of the command. @param {Request} request */
export function named(request) {
	const what = ruleTitle(request) || request.args_preview || request.resource;
	const text = plain(headline(request) || [request.tool_name || 'a call without a name', what].filter(Boolean).join(' · '));
	return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** What was done by a decision, in a word or two. @param {Choice} choice */
export function done(choice) {
	return DONE[/** @type {keyof typeof DONE} */ (choice.action)] ?? 'Answered';
}

/** The reviewer of a decision, and in whose place it was taken. @param {import('./types.js').Decision} decision */
export function byWhom({ reviewer_id: reviewer, on_behalf_of: other }) {
	if (reviewer === TIMEOUT) return 'the time-out';
	if (reviewer === POLICY) return 'the changed policy';
	return other ? `${reviewer} for ${other}` : reviewer;
}

/** The message for a decision that came too late. @param {Request} request */
function tooLate(request) {
	const decision = request.decisions.at(-1);
	return `Too late: already ${ENDED[request.status]}${decision ? ` by ${plain(byWhom(decision))}` : ''}.`;
}

/**
 * Sends one decision on several requests.
 * @param {Request[]} requests
 * @param {Choice} choice
 */
export async function decideSeveralOf(requests, choice) {
	try {
		const outcomes = await decideSeveral(requests.map((request) => request.id), choice);
		put(outcomes.flatMap((outcome) => outcome.request ?? outcome.problem?.request ?? []));
		const well = outcomes.filter((outcome) => outcome.request).length;
		for (const { request } of outcomes) if (request) shelve({ id: request.id, how: done(choice), what: named(request), at: new Date(now()).toISOString() });
		const failed = outcomes.find((outcome) => outcome.problem);
		const open = outcomes.filter((outcome) => outcome.request?.status === 'pending').length;
		const rest = open > 0 ? ` ${open} of them ${open === 1 ? 'waits' : 'wait'} for more approvals.` : '';
		const later = [...new Set(outcomes.map((outcome) => outcome.request && afterApproval(outcome.request)))].filter(Boolean).map((text) => ` ${text}`).join('');
		toast(`${open > 0 ? 'You approved' : done(choice)}: ${well} of ${outcomes.length}.${rest}${later}${failed ? ` ${plain(failed.problem?.detail ?? '')}` : ''}`, Boolean(failed));
	} catch (error) {
		toast(error instanceof Failure ? plain(error.message) : 'Something went wrong. Reload the page.', true);
	}
}
