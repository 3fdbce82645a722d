// What the inbox shows of the agent of a held request: attached, detached, attached again, parked.

import assert from 'node:assert/strict';
import { around, push } from '../stage/calls.js';
import { flows } from '../stage/browser.js';

/** Approves the call that is shown. */
async function approve(stage, page) {
	if (stage.phone) await page.getByRole('button', { name: 'Approve', exact: true }).click();
	else await page.keyboard.press('a');
}

/** A conversation of a run of its own, in which the agent sends its request again. */
const again = (stage, name) => ({ ...around, run: `${name}-${stage.size}`, call: `${name}${stage.size}` });

flows('agents', {
	async 'an agent that leaves and comes back'(stage) {
		const leaving = new AbortController();
		stage.held.begin([push], { ...again(stage, 'leaves'), signal: leaving.signal });
		const page = await stage.open();
		await stage.look(page, 'bash');
		await page.locator('#ask', { hasText: /Agent attached (just now|\d+ s ago)/ }).waitFor();
		assert.equal(await page.locator('.agent-state, .agent-away').count(), 0, 'nothing is to be told of an agent that waits');
		leaving.abort();
		await page.locator('#ask', { hasText: /Agent detached (just now|\d+ s ago)/ }).waitFor();
		await page.getByText('The agent has disconnected. An approved call is released when the agent reconnects.').waitFor();
		if (!stage.phone) await page.locator('.row .agent-away', { hasText: /^detached / }).waitFor();
		await stage.check(page);
		await stage.shot(page, 'detached');

		const [request] = await stage.held.pending();
		assert.equal(request.agent.state, 'detached');
		await approve(stage, page);
		await page.locator('.toast', { hasText: /^Approved: bash · git fetch .*…\. The call is released when the agent reconnects\.$/ }).waitFor();
		await page.goto(`${stage.held.console}/#/requests/${request.id}`);
		const card = page.locator('.call', { has: page.locator('.outcome.approved') });
		await card.getByText('The call is released when the agent reconnects.').waitFor();
		await stage.check(page);
		await stage.shot(page, 'detached-approved');

		const answer = await stage.held.hold([push], again(stage, 'leaves'));
		assert.equal(answer.choices[0].message.tool_calls[0].id, request.tool_call_id, 'the agent gets the call that was approved');
		await card.locator('.result', { hasText: 'Released to the agent' }).waitFor();
		await page.locator('.agent-state, #ask .agent').first().waitFor({ state: 'detached' });
	},

	async 'an agent that is back before the decision'(stage) {
		const leaving = new AbortController();
		stage.held.begin([push], { ...again(stage, 'back'), signal: leaving.signal });
		const page = await stage.open();
		await stage.look(page, 'bash');
		leaving.abort();
		await page.locator('#ask', { hasText: 'Agent detached' }).waitFor();
		const answer = stage.held.hold([push], again(stage, 'back'));
		await page.locator('#ask', { hasText: 'Agent attached' }).waitFor();
		await page.locator('.agent-state, .agent-away').first().waitFor({ state: 'detached' });
		await approve(stage, page);
		await page.getByText(/^Approved: bash · git fetch [^.]*…$/).waitFor();
		assert.equal((await answer).choices[0].finish_reason, 'tool_calls');
	},

	async 'calls of a detached turn are approved together'(stage) {
		const leaving = new AbortController();
		stage.held.begin(['make test', 'make lint'].map((command) => ({ name: 'terminal', arguments: { command } })), { ...around, signal: leaving.signal });
		const page = await stage.open();
		await stage.look(page, '2 calls');
		leaving.abort();
		await page.locator('#ask', { hasText: 'Agent detached' }).waitFor();
		await page.getByRole('button', { name: 'Approve all 2…' }).click();
		await page.getByRole('button', { name: 'Approve 2 calls' }).click();
		await page.locator('.toast', { hasText: 'Approved: 2 of 2. The call is released when the agent reconnects.' }).waitFor();
	},

	async 'a parked call'(stage) {
		const answer = await stage.held.hold([{ name: 'parked_tool', arguments: { to: 'Bob' } }], around);
		assert.match(answer.choices[0].message.content, /The tool waits for a reviewer\./);
		const page = await stage.open();
		await stage.look(page, 'parked_tool');
		await page.locator('#ask', { hasText: /Agent parked (just now|\d+ s ago)/ }).waitFor();
		await page.getByText('The agent goes on without the call. After an approval it may make the call once.').waitFor();
		if (!stage.phone) await page.locator('.row .agent-away', { hasText: /^parked / }).waitFor();
		await stage.check(page);
		await stage.shot(page, 'parked');
		const [request] = await stage.held.pending();
		await approve(stage, page);
		await page.locator('.toast', { hasText: 'The agent goes on, and may make the call once.' }).waitFor();
		await page.goto(`${stage.held.console}/#/requests/${request.id}`);
		await page.locator('.outcome.approved').waitFor();
		await stage.check(page);
	},
}, { config: 'hold: {park_after: 1s}' });
