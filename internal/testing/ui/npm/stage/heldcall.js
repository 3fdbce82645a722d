// A heldcall of one's own, and an agent that makes it hold calls.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { HELDCALL, UPSTREAM } = process.env;

/** The policy that the tests judge with: nearly everything is asked about. */
const policy = (options) => `
default: ask
${options.folder ? `workspace: ["${options.folder}"]` : ''}
questions: {offer: [clarification, decision, env_var, input]}
tools:
  terminal: {resource: command, as: shell}
  builder: {resource: command, as: shell}
rules:
  - ask: ["titled_tool"]
    title: "Send {{.Args.amount}} to {{.Args.to}}"
  - ask: ["terminal(rm *)"]
    risk: critical
    reason: This deletes files.
  - ask: ["transfer_money"]
    risk: critical
    timeout: 30m
    reviewers: [finance]
    required_approvals: ${options.console ? 2 : 1}
    reason: Money leaves the company.
  - ask: ["builder(git tag *)"]
    on_timeout: approve
    timeout: 10m
  - ask: ["builder(shred *)"]
    confirm: type
  - ask: ["builder(wipe *)"]
    confirm: passkey
    risk: critical
  - ask: ["short_lived"]
    timeout: 10s
  - ask: ["ask_each_time"]
    remember: false
  - ask: ["urgent_thing"]
    reviewers: [finance]
    escalate: {after: 2s, to: [oncall]}
  - ask: ["parked_tool"]
    hold: park
    notice: "The tool waits for a reviewer."
  - ask: ["one_conversation"]
    remember: [session]
  - allow: ["passes"]
  - ask: ["builder(deploy *)"]
${options.folder ? '  - allow: ["Edit(./**)"]' : ''}
  - deny: ["bash(rm -rf /)"]
    reason: Nothing removes the root.
results:
  - ask: ["*"]
    contains: [review this result]
`;

let runs = 0; // of agents that name none

let lastPort = 15000 + Math.floor(15000 * Math.random());

/**
 * A port to listen on that no connection takes by itself, also not while a heldcall is
 * halted: it is below those that systems give to connections.
 */
async function freePort() {
	for (;;) {
		const port = ++lastPort;
		const server = createServer();
		const free = await new Promise((resolve) => server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)));
		if (!free) continue;
		await new Promise((resolve) => server.close(resolve));
		return port;
	}
}

/**
 * Starts a heldcall; stop ends it for good, and halt only until start.
 * @param {{proxy?: string, console?: string, port?: string, config?: string, token?: string, workspace?: boolean}} [options] more of the proxy's and the console's configuration, its port, other keys of the configuration, the token of somebody who may do all, and whether the policy has a workspace
 */
export async function startHeldcall(options = {}) {
	const dir = mkdtempSync(join(tmpdir(), 'heldcall-ui-'));
	const [proxy, console] = [await freePort(), options.port ?? await freePort()];
	const folder = options.workspace ? join(dir, 'app') : '';
	const other = options.workspace ? join(dir, 'other') : ''; // a repository beside it
	if (folder) {
		mkdirSync(folder);
		mkdirSync(join(other, '.git'), { recursive: true });
	}
	writeFileSync(join(dir, 'policy.yaml'), policy({ ...options, folder }));
	writeFileSync(join(dir, 'heldcall.yaml'), `
proxy:
  listen: 127.0.0.1:${proxy}
  upstreams: [{prefix: /v1, url: "${UPSTREAM}"}]
  clients:
    - {key: key-of-ann, tenant: acme, user: ann, agent: claude-code}
    - {key: key-of-bob, tenant: acme, user: bob, agent: release-bot}
${options.proxy ?? ''}
console:
  listen: "127.0.0.1:${console}"${options.console ?? ''}
nats: {listen: "", dir: "${join(dir, "data")}"}
${folder ? `policy: {workdir: "${folder}", shared_files: true}` : ''}
log: {level: warn}
${options.config ?? ''}`);
	const held = new Heldcall(dir, `http://127.0.0.1:${proxy}`, `http://127.0.0.1:${console}`, options.token);
	held.workspace = folder;
	held.other = other;
	await held.start();
	return held;
}

class Heldcall {
	constructor(dir, proxy, console, token) {
		Object.assign(this, { dir, proxy, console, token });
		this.leaving = new AbortController();
		this.session = 'session';
	}

	/** Starts it, unless it runs. */
	async start() {
		if (this.runs()) return;
		this.process = spawn(HELDCALL, ['serve', '--config', join(this.dir, 'heldcall.yaml')], { stdio: ['ignore', 'ignore', 'inherit'] });
		for (let i = 0; this.runs() && i < 2400; i++) {
			if ((await fetch(`${this.console}/readyz`).catch(() => ({}))).ok) return;
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
		throw new Error('heldcall did not start');
	}

	runs() {
		return this.process?.exitCode === null && this.process.signalCode === null;
	}

	/** Ends it, at once, unless it has ended. */
	async halt() {
		if (!this.runs()) return;
		const ended = new Promise((resolve) => this.process.once('exit', resolve));
		this.process.kill('SIGKILL');
		await ended;
	}

	async stop() {
		this.leaving.abort();
		await this.halt();
		rmSync(this.dir, { recursive: true, force: true });
	}

	/**
	 * Sends a request as an agent whose model then makes calls. It returns what
	 * the agent gets in the end.
	 * @param {{name: string, arguments: object|string}[]} calls
	 * @param {{user?: string, text?: string, key?: string, tools?: object[], run?: string, call?: string, before?: object[], signal?: AbortSignal}} [about] before are the messages before that of the user; call is in the ids of the calls, which a repeated request has again; signal ends the agent's connection
	 */
	async hold(calls, about = {}) {
		const response = await fetch(`${this.proxy}/v1/chat/completions`, {
			method: 'POST',
			signal: about.signal ? AbortSignal.any([this.leaving.signal, about.signal]) : this.leaving.signal,
			headers: {
				Authorization: `Bearer ${about.key ?? 'key-of-ann'}`, 'Content-Type': 'application/json',
				'X-Heldcall-Session': about.session ?? this.session, 'X-Heldcall-Run': about.run ?? `run-${++runs}`, // the requests of a run are one row
			},
			body: JSON.stringify({
				model: 'gpt-5',
				messages: [...(about.before ?? []), { role: 'user', content: about.user ?? 'Please do it.' }],
				tools: about.tools ?? calls.map((call) => ({ type: 'function', function: { name: call.name, description: `Runs ${call.name}.`, parameters: { type: 'object' } } })),
				metadata: {
					text: about.text ?? '',
					calls: JSON.stringify(calls.map((call, i) => ({
						ID: `call_${about.call ?? Math.random().toString(36).slice(2, 10)}${i}`, Name: call.name,
						Arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
					}))),
				},
			}),
		});
		return response.json();
	}

	/** The same, for a test that does not wait for the end. */
	begin(calls, about) {
		this.hold(calls, about).catch(() => {});
	}

	/**
	 * Reports the result of a call, as the agent that made it, and returns when the model
	 * has answered it.
	 * @param {{tool_call_id: string, session_id: string}} request
	 * @param {any} content of the result
	 * @param {string} next the model's answer
	 * @param {object[]} [before] messages before the result
	 */
	async report(request, content, next, before = []) {
		const response = await fetch(`${this.proxy}/v1/chat/completions`, {
			method: 'POST',
			headers: { Authorization: 'Bearer key-of-ann', 'Content-Type': 'application/json', 'X-Heldcall-Session': request.session_id },
			body: JSON.stringify({ model: 'gpt-5', messages: [{ role: 'user', content: 'Please do it.' }, ...before, { role: 'tool', tool_call_id: request.tool_call_id, content }], metadata: { next } }),
		});
		return response.json();
	}

	/** The same for a result that the agent declares an error, which only the Messages API can do. */
	async reportError(request, content, next) {
		const response = await fetch(`${this.proxy}/v1/messages`, {
			method: 'POST',
			headers: { Authorization: 'Bearer key-of-ann', 'Content-Type': 'application/json', 'X-Heldcall-Session': request.session_id, 'anthropic-version': '2023-06-01' },
			body: JSON.stringify({
				model: 'claude-5', max_tokens: 99, metadata: { next },
				messages: [
					{ role: 'user', content: 'Please do it.' },
					{ role: 'assistant', content: [{ type: 'tool_use', id: request.tool_call_id, name: request.tool_name, input: request.arguments }] },
					{ role: 'user', content: [{ type: 'tool_result', tool_use_id: request.tool_call_id, is_error: true, content }] },
				],
			}),
		});
		return response.json();
	}

	/** What the API answers. */
	async api(method, path, body) {
		const response = await fetch(this.console + path, { method, headers: { 'Content-Type': 'application/json', ...(this.token ? { Authorization: `Bearer ${this.token}` } : {}) }, body: body && JSON.stringify(body) });
		return response.json();
	}

	async pending() {
		return (await this.api('GET', '/api/v1/requests?status=pending&limit=500')).items;
	}

	/** Denies whatever waits. */
	async clear() {
		for (const request of await this.pending()) await this.api('POST', `/api/v1/requests/${request.id}/decision`, { action: 'deny' });
	}
}
