// Runs that end, and signals to one run and to all runs of an agent, a user or a tenant.

import assert from 'node:assert/strict';
import { around, push } from '../stage/calls.js';
import { flows } from '../stage/browser.js';

/** The address of a run, whose id names the tenant too. */
const address = (run) => `#/runs/${encodeURIComponent(`${run}@acme`)}`;

/** Sends a signal with the form that is open. */
async function send(stage, page, names, action) {
	await page.getByRole('heading', { name: 'Pause or stop runs' }).waitFor();
	for (const [label, value] of Object.entries(names)) await page.getByLabel(label, { exact: true }).fill(value);
	await page.getByLabel(new RegExp(`^${action}:`)).check();
	await page.getByRole('button', { name: action, exact: true }).click();
	await page.getByRole('heading', { name: 'Signals in force' }).waitFor();
}

const signal = (page, text) => page.locator('.signals li', { hasText: text });

flows('signals', {
	async 'all runs of an agent are paused and resumed'(stage) {
		const run = `paused-${stage.size}`;
		stage.held.begin([push], { ...around, run });
		await stage.asked(push.name);
		const page = await stage.open(`/${address(run)}`);
		await page.getByRole('link', { name: 'Pause or stop all runs of this agent, user or tenant' }).click();
		await page.getByLabel('Agent', { exact: true }).waitFor();
		assert.equal(await page.getByLabel('Agent', { exact: true }).inputValue(), 'claude-code');
		await stage.check(page);
		await stage.shot(page, 'new-signal');
		await send(stage, page, {}, 'Pause');
		await signal(page, 'Paused all runs of agent claude-code').waitFor();
		assert.deepEqual((await stage.held.api('GET', '/api/v1/signals')).items.map(({ principal, action }) => [principal.agent, action]), [['claude-code', 'pause_run']]);
		await page.locator(`.entry[href="${address(run)}"]`, { hasText: 'Paused' }).waitFor();
		await stage.check(page);
		await stage.shot(page, 'signals');
		await page.locator(`.entry[href="${address(run)}"]`).click();
		await page.locator('.facts .end.paused').waitFor();
		assert.equal(await page.getByRole('button', { name: 'Resume', exact: true }).count(), 0, 'only the signal can be lifted');
		await page.getByRole('button', { name: 'Resume all runs of agent claude-code' }).click();
		await page.locator('.facts .end.running').waitFor();
		assert.deepEqual((await stage.held.api('GET', '/api/v1/signals')).items, []);
	},

	async 'signals to a user and a tenant, with the keyboard'(stage) {
		if (stage.phone) return;
		const page = await stage.open('/#/runs');
		await page.getByRole('link', { name: 'Pause or stop runs' }).press('Enter');
		await page.getByLabel(/^Pause:/).focus();
		await page.keyboard.press('ArrowDown'); // to Stop
		await page.keyboard.press('Tab');
		await page.keyboard.press('Tab');
		await page.keyboard.type('bob');
		await page.keyboard.press('Enter');
		await signal(page, 'Stopped all runs of user bob').waitFor();
		await page.getByRole('link', { name: 'Pause or stop runs' }).press('Enter');
		await send(stage, page, { Tenant: 'acme', User: 'ann' }, 'Pause');
		await signal(page, 'Paused all runs of user ann, tenant acme').waitFor();
		const stopped = await stage.held.hold([push], { ...around, key: 'key-of-bob' });
		assert.equal(stopped.error.code, 'run_aborted');
		await signal(page, 'user bob').getByRole('button').press('Enter');
		await signal(page, 'user bob').waitFor({ state: 'detached' });
		await signal(page, 'user ann').getByRole('button').press('Enter');
		await page.getByRole('heading', { name: 'Signals in force' }).waitFor({ state: 'detached' });
		assert.ok(await page.evaluate(() => document.activeElement?.id === 'page'), 'the focus stays on the page');
	},

	async 'a signal that somebody else sends is shown at once'(stage) {
		const run = `other-${stage.size}`;
		stage.held.begin([push], { ...around, run });
		await stage.asked(push.name);
		const page = await stage.open('/#/runs');
		await page.locator(`.entry[href="${address(run)}"]`, { hasText: 'Running' }).waitFor();
		await stage.held.api('POST', '/api/v1/signals', { principal: { tenant: 'acme' }, action: 'abort_run' });
		await signal(page, 'Stopped all runs of tenant acme').waitFor();
		await page.locator(`.entry[href="${address(run)}"]`).click();
		await page.locator('.facts .end.aborted').waitFor();
		await page.locator('.end.cancelled').waitFor();
		assert.equal(await page.getByRole('button', { name: 'Stop the run…' }).count(), 0);
		await stage.check(page);
		await page.getByRole('button', { name: 'Resume all runs of tenant acme' }).click();
		await page.locator('.facts .end.running').waitFor();
	},

	async 'a press counts although the page draws again before the release'(stage) {
		const run = `pressed-${stage.size}`;
		stage.held.begin([push], { ...around, run });
		await stage.asked(push.name);
		const send = (principal, action) => stage.held.api('POST', '/api/v1/signals', { principal, action });
		await send({ tenant: 'acme' }, 'pause_run');
		const page = await stage.open(`/${address(run)}`);
		await page.getByRole('button', { name: 'Resume all runs of tenant acme' }).hover();
		await page.mouse.down();
		const read = page.waitForResponse((response) => /\/api\/v1\/runs\//.test(response.url()));
		await send({ user: 'ann' }, 'pause_run');
		await (await read).finished();
		await page.waitForTimeout(200);
		await page.mouse.up();
		await signal(page, 'tenant acme').waitFor({ state: 'detached' });
		await signal(page, 'Paused all runs of user ann').waitFor();
		await send({ user: 'ann' }, 'resume_run');
		await page.locator('.facts .end.running').waitFor();
	},

	async 'a signal that names nobody is refused'(stage) {
		const page = await stage.open('/#/signals/new');
		await page.getByRole('button', { name: 'Pause', exact: true }).click();
		await page.locator('.error', { hasText: 'principal' }).waitFor();
		await stage.check(page);
	},
});

flows('runs that end', {
	async 'a run that has ended is shown so, with the outcome of its last call'(stage) {
		const run = `ends-${stage.size}`;
		stage.held.begin([push], { ...around, run });
		const [request] = await stage.asked(push.name);
		const page = await stage.open(`/${address(run)}`);
		await page.locator('.facts .end', { hasText: /^Running$/ }).waitFor();
		await stage.held.api('POST', `/api/v1/requests/${request.id}/decision`, { action: 'deny' });
		await page.locator('.facts .end.ended', { hasText: /^Ended$/ }).waitFor(); // without a reload
		await page.locator('.facts', { hasText: 'last call: denied by person' }).waitFor();
		await stage.check(page);
		await stage.shot(page, 'run-ended');
		await page.getByRole('link', { name: '‹ All runs' }).click();
		await page.locator(`.entry[href="${address(run)}"]`, { hasText: /Ended 1 request · last call: denied by person/ }).waitFor();
		assert.equal(await page.locator('.entry', { hasText: 'Running' }).count(), 0, 'no run is running for ever');
		await stage.check(page);
	},
}, { config: 'runs: {idle: 4s}' });
