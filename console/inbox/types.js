// The shapes that the API answers with, as far as the inbox reads them.

/**
 * @typedef {Object} Request one question to people
 * @property {string} id
 * @property {string} kind
 * @property {'pending'|'approved'|'denied'|'answered'|'expired'|'cancelled'} status
 * @property {{tenant: string, user: string, agent: string}} principal
 * @property {string} session_id
 * @property {string} run_id
 * @property {string} turn_id
 * @property {string} dialect
 * @property {string} model
 * @property {string} tool_call_id
 * @property {string} tool_name
 * @property {any} arguments an object; null where details.abridged; or a string where the model's text is not strict JSON
 * @property {string} resource
 * @property {string} args_preview
 * @property {{description?: string, parameters?: any}} tool
 * @property {string} title
 * @property {string} description
 * @property {'low'|'medium'|'high'|'critical'} risk_level
 * @property {Effect[]} [effects] of the call; none: unknown, or the request is not about a call
 * @property {string} reason
 * @property {string} rule
 * @property {string[]} suggested_patterns
 * @property {{last_user_message?: string, assistant_text?: string, steps?: Step[]}} context
 * @property {boolean} allow_remember
 * @property {string[]} [remember_scopes] none: any
 * @property {string[]} reviewers
 * @property {number} required_approvals
 * @property {Demand[]} [demands] where rules that name different groups ask, what each wants
 * @property {string} created_at
 * @property {string} expires_at
 * @property {'deny'|'approve'} on_timeout
 * @property {Decision[]} decisions
 * @property {Details} details
 * @property {{state: 'waiting'|'released'|'not_released', reason: string, at?: string}} [outcome] of the approval of a call
 * @property {{state: 'attached'|'detached'|'parked', since: string}} [agent] none: the turn has ended
 * @property {Actions} [actions] what a pending request takes; none: it has ended
 * @property {string} [together] the same in pending requests that may be one question with one answer; none: it is decided by itself
 */

/** @typedef {{reason: string}} ActionState why an action is not possible; '': it is */

/** @typedef {Record<'approve'|'deny'|'edit'|'answer'|'window'|'batch', ActionState> & Record<'always'|'never', ActionState & {patterns?: string[]}>} Actions */

/**
 * @typedef {Object} Suggestion
 * @property {string} pattern
 * @property {string} allows
 * @property {number} covered
 * @property {number} of the latest requests of the principal
 */

/**
 * @typedef {Object} Effect one thing that a call does
 * @property {string} kind
 * @property {string} [target]
 * @property {'workspace'|'outside'} [place] of a path, where that is known
 * @property {boolean} reversible
 * @property {string} [later] the class of a file that programs run later by themselves, such as hook
 * @property {boolean} [irreversible] it is known that it cannot be undone
 */

/**
 * @typedef {Object} Demand what a rule wants of reviewers
 * @property {string} rule
 * @property {string[]} reviewers
 * @property {number} required_approvals
 * @property {Details['escalation']} [escalation]
 */

/**
 * @typedef {Object} Details fields that only some requests have
 * @property {string[]} [flags]
 * @property {string[]} [commands]
 * @property {string[]} [secrets] whose values the call gets if it is approved
 * @property {string} [raw_arguments]
 * @property {string} [policy] the file name of the policy that judges the call
 * @property {{patterns: string[], scope: string, expires: string}} [remember] what a decision is remembered as where nothing else is chosen
 * @property {boolean} [window] an approval may open a trust window for the run
 * @property {string} [folder] the call would pass with this folder in the workspace of its run
 * @property {WrittenFile[]} [files] what is known of the files that the call writes
 * @property {string} [confirm] what an approval must have as its confirmation
 * @property {boolean} [passkey] whether an approval needs a passkey
 * @property {string} [cancel_reason]
 * @property {string} [ended_at]
 * @property {{at: string, to: string[], escalated_at?: string}} [escalation]
 * @property {string} [subagent] the agent at the provider that makes the call
 * @property {Restarted} [restarted] what the agent had asked before it was started again
 * @property {CallResult} [result] what happened to the call after it was approved
 * @property {boolean} [free_text]
 * @property {Question[]} [questions] of a model, which people answer; none: the request is about a call
 * @property {boolean} [fixed]
 * @property {boolean} [abridged] it came in a list without its arguments; read by its id it has them
 */

/**
 * @typedef {Object} Step an earlier call in the conversation, as the agent has it
 * @property {string} [tool_call_id]
 * @property {string} tool_name
 * @property {string} preview
 * @property {string} [result] its beginning
 * @property {boolean} [waits] it is of the same answer, and has no result yet
 */

/**
 * @typedef {Object} WrittenFile a file that the call writes, as it was when people were asked
 * @property {string} path as the call has it
 * @property {boolean} exists
 * @property {'workspace'|'result'} source
 * @property {number[]} [lines] the first line of each edit; 0: not known
 * @property {string} [text] that the call overwrites
 */

/**
 * @typedef {Object} Restarted the request in whose place another one asks: its agent was started again
 * @property {string} request_id
 * @property {string} turn_id
 * @property {string} session_id
 * @property {string} created_at
 * @property {Request['context']} context
 */

/**
 * @typedef {Object} Question one question of a model; all texts are the model's
 * @property {string} [id] in a request of the kind combined
 * @property {'clarification'|'decision'|'env_var'} kind
 * @property {string} [type]
 * @property {string} question
 * @property {Option[]} [options]
 * @property {number} [max_selections]
 * @property {boolean} [allow_free_text]
 * @property {string} [default] the answer at time-out
 * @property {string} [tool]
 * @property {QuestionField[]} [fields]
 * @property {{name: string, value: string}[]} [other] what else the model wrote in the call; it changes nothing
 */

/**
 * @typedef {Object} Option
 * @property {string} id
 * @property {string} label
 * @property {string} [description]
 * @property {boolean} [recommended]
 * @property {'low'|'medium'|'high'|'critical'} [risk_level]
 * @property {string} [estimated_time]
 * @property {string} [estimated_cost]
 * @property {string[]} [risks]
 */

/**
 * @typedef {Object} QuestionField
 * @property {string} name
 * @property {string} [label]
 * @property {string} [description]
 * @property {boolean} [required]
 * @property {boolean} [secret]
 * @property {string} [input_type]
 * @property {string} [default]
 * @property {string} [placeholder]
 * @property {string} [pattern]
 */

/**
 * @typedef {Object} CallResult what happened to a released call, as the agent reports it
 * @property {string} released_at
 * @property {string} [tool_call_id] of the released call, if it is not that of the request: a parked call is made again
 * @property {string} [received_at] none: the agent has not reported a result yet
 * @property {string} [preview] the beginning of the result
 * @property {boolean} [error] the agent reports that the call failed
 * @property {boolean} [truncated] the result is longer than the preview
 * @property {string} [next_text] the beginning of the model's answer to the result
 */

/**
 * @typedef {Object} Decision one answer to a request
 * @property {string} action
 * @property {string} reviewer_id
 * @property {string} [reviewer_user] as agents' principals name the same person
 * @property {string} [on_behalf_of] the reviewer in whose place
 * @property {string} [on_behalf_user] as principals name that one
 * @property {number[]} [fills] of an approval: the places of the demands that it counts for
 * @property {string} [channel]
 * @property {string} [passkey] id of the passkey that confirmed it
 * @property {string} [note]
 * @property {any} [modified_args]
 * @property {string} [answer] to a question, in words
 * @property {string[]} [selected] ids of options
 * @property {Record<string, string>} [values]
 * @property {Record<string, {answer?: string, selected?: string[], values?: Record<string, string>}>} [responses] by the ids of the questions
 * @property {string[]} [patterns] of the grant that it made
 * @property {string} decided_at
 */

/**
 * @typedef {Object} Problem what went wrong, as RFC 9457 has it
 * @property {number} status
 * @property {string} code
 * @property {string} detail
 * @property {string} [field]
 * @property {string} [reason]
 * @property {Request} [request]
 * @property {Decision} [decision]
 */

/**
 * @typedef {Object} Me who is at the page
 * @property {string} name
 * @property {string} user
 * @property {'viewer'|'reviewer'|'admin'} role
 * @property {string[]} groups
 * @property {boolean} self_approval they may approve what agents ask that act for them
 * @property {{name: string, groups: string[]}[]} [decides_for] in whose place, by their delegations
 * @property {'local'|'token'|'session'} via
 */

/**
 * @typedef {Object} Run one task of one agent
 * @property {string} id
 * @property {'running'|'paused'|'aborted'|'ended'} state
 * @property {{tenant: string, user: string, agent: string}} principal
 * @property {string} session_id
 * @property {string} [reviewer_id] of the last signal to this run
 * @property {string} updated_at when the state changed
 * @property {string} [active_at] of the agent's last request
 * @property {string} [last_outcome] of the latest call
 * @property {string} [answered_at] when its agent got an answer without calls, while nothing of the run waits
 * @property {Signal[]} [signals] by principal, that are in force for it
 */

/**
 * @typedef {Object} Signal what pauses or stops all runs of a principal
 * @property {{tenant: string, user: string, agent: string}} principal empty fields match all
 * @property {'pause_run'|'resume_run'|'abort_run'} action
 * @property {string} reviewer_id
 * @property {string} since
 */

/**
 * @typedef {Object} Grant a decision that is remembered
 * @property {string} id
 * @property {'allow'|'deny'} effect
 * @property {'session'|'agent'|'user'|'tenant'} scope
 * @property {{tenant: string, user: string, agent: string}} principal
 * @property {string} [session_id]
 * @property {boolean} [window] a trust window: it has no patterns, and covers one run
 * @property {string} [folder] a folder that is a part of the workspace of one run
 * @property {string} [run_id] of a trust window or a folder
 * @property {string[]} patterns
 * @property {string} granted_by
 * @property {string} [on_behalf_of] the reviewer in whose place
 * @property {string} [request_id]
 * @property {string} [note]
 * @property {string} created_at
 * @property {string} [expires_at]
 * @property {string} [last_used_at]
 * @property {number} uses
 */

/**
 * @typedef {Object} Proposal a rule that the decisions of people suggest
 * @property {string} policy
 * @property {string} pattern
 * @property {string} line of the policy's rules
 * @property {string} allows in a few words
 * @property {number} approved requests
 * @property {number} sessions of these
 * @property {string} last when the newest of them was made
 * @property {number} fewer requests with all proposals
 * @property {number} alone with this one
 * @property {{tool_name: string, preview: string, calls: number}[]} calls that would have passed
 */

/**
 * @typedef {Object} NarrowedRule a rule that asks, and whose every request was approved
 * @property {string} policy
 * @property {string} rule file and line of it
 * @property {number} approved requests
 * @property {number} sessions of these
 * @property {string[]} lines a condition for the rule, and rules that allow what it leaves out
 */

/**
 * @typedef {Object} LeftOut a pattern that is not proposed
 * @property {string} policy
 * @property {string} pattern
 * @property {string} reason
 */

/**
 * @typedef {Object} Proposals
 * @property {Proposal[]} items
 * @property {number} of requests that the policies still make
 * @property {LeftOut[]} left_out
 * @property {NarrowedRule[]} narrow
 */

/**
 * @typedef {Object} Delegation who decides in whose place, and until when
 * @property {string} id
 * @property {string} from
 * @property {string} to
 * @property {string} until
 * @property {string} [note]
 * @property {string} created_by
 * @property {string} created_at
 */

/**
 * @typedef {Object} GrantTemplate
 * @property {string} name
 * @property {string} title
 * @property {'allow'|'deny'} effect
 * @property {string[]} patterns
 * @property {string} scope
 * @property {string} expires how long it lasts, such as 1h0m0s; '': until it is revoked
 */

/**
 * @typedef {Object} GrantPreview what a grant would have decided
 * @property {number} calls looked at
 * @property {number} covered of these
 * @property {string|null} since
 * @property {{tool_name: string, arguments: any, principal: {agent: string}, then: string}[]} items
 */

/**
 * A credential with which a reviewer confirms approvals.
 * @typedef {Object} Passkey
 * @property {string} id
 * @property {string} name
 * @property {string} created_at
 * @property {string} [last_used_at]
 */

/**
 * The passkeys of a reviewer.
 * @typedef {Object} Passkeys
 * @property {string} origin of the pages that can use them
 * @property {string} [unusable] why none can
 * @property {Passkey[]} items the oldest first
 */

export {};
