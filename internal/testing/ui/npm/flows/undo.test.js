// Approvals of critical calls are sent after five seconds, until which they can be undone, and with a setting all decisions.

import assert from 'node:assert/strict';
import { flows, stopClock, ticksUntil, ticksWhile, withClock } from '../stage/browser.js';
import { push } from '../stage/calls.js';

const critical = { name: 'terminal', arguments: { command: 'rm -rf /srv/data' } };
const LONGER = 6_000; // than an approval waits, in milliseconds

const status = async (stage, id) => (await stage.held.api('GET', `/api/v1/requests/${id}`)).status;

/** Opens the page at a critical call, stops its clock and approves the call. */
async function approve(stage) {
	const answer = stage.held.hold([critical]);
	answer.catch(() => {});
	const [{ id }] = await stage.asked('terminal');
	const page = await stage.open(`/#/requests/${id}`, { before: withClock });
	await stage.settled(page);
	await stopClock(page);
	await page.locator('button.approve').click();
	await ticksUntil(page, page.getByText('Approving this critical call in'));
	return { page, id, answer };
}

flows('undo', {
	async 'an approval is undone by its button and by Escape, and sent when nobody does'(stage) {
		const { page, id, answer } = await approve(stage);
		await ticksWhile(page, stage.check(page));
		await stage.shot(page, 'undo');
		await page.getByRole('button', { name: 'Undo' }).click();
		await ticksUntil(page, page.getByText('The approval was not sent.'));
		await ticksUntil(page, page.locator('button.approve'));
		await page.keyboard.press('a');
		await ticksUntil(page, page.getByText('Approving this critical call in'));
		await page.keyboard.press('Escape');
		await ticksUntil(page, page.locator('button.approve'));
		await page.clock.runFor(LONGER); // for what must not happen
		assert.equal(await status(stage, id), 'pending');
		await page.locator('button.approve').click();
		await ticksUntil(page, page.getByText('Approving this critical call in'));
		assert.equal(await status(stage, id), 'pending');
		await page.clock.runFor(LONGER);
		await ticksUntil(page, page.getByText('Approved: terminal'));
		assert.equal((await answer).choices[0].message.tool_calls.length, 1);
	},

	async 'who leaves the page, or the request, sends nothing'(stage) {
		const { page, id } = await approve(stage);
		await page.clock.resume();
		await page.reload();
		await page.locator('button.approve').waitFor();
		await stage.settled(page);
		stage.held.begin([push]);
		const [other] = await stage.asked('bash');
		await stopClock(page);
		await page.locator('button.approve').click();
		await ticksUntil(page, page.getByText('Approving this critical call in'));
		await page.evaluate((id) => { location.hash = `#/requests/${id}`; }, other.id);
		await ticksUntil(page, page.locator(`[id="call-${other.id}"]`));
		await page.clock.runFor(LONGER); // for what must not happen
		assert.equal(await status(stage, id), 'pending');
	},

	async 'a denial is sent at once, and so are approvals of other calls'(stage) {
		stage.held.begin([push]);
		const page = await stage.open();
		await stage.look(page, 'bash');
		await page.locator('button.approve').click();
		await page.getByText('Approved: bash').waitFor();
		stage.held.begin([critical]);
		await stage.look(page, 'terminal');
		await page.getByRole('button', { name: 'Deny…' }).click();
		await page.getByRole('button', { name: 'Deny', exact: true }).click();
		await page.getByText('Denied: terminal').waitFor();
	},

	async 'with the setting every decision can be undone, and the next request is shown at once'(stage) {
		const runs = [1, 2, 3].map((i) => `later-${i}-${stage.size}`);
		for (const run of runs) stage.held.begin([{ name: 'bash', arguments: { command: `echo ${run}` } }], { run });
		const page = await stage.open('/', { before: withClock });
		await page.locator('.row').nth(2).waitFor();
		await page.locator('.shelf summary').click();
		await page.getByLabel('Send each decision after five seconds, with Undo').check();
		await stage.look(page, runs[0]);
		const [first] = (await stage.held.pending()).filter(({ resource }) => resource.includes(runs[0]));
		await stopClock(page);
		await page.locator('button.approve').click();
		await ticksUntil(page, page.getByText(`Approved in five seconds: bash · echo ${runs[0]}`));
		await ticksUntil(page, page.locator(`#main .call:not([id="call-${first.id}"]) button.approve`));
		assert.equal(await page.locator('.row').count(), 2, 'what is about to be sent is in the list');
		await ticksWhile(page, stage.check(page));
		await stage.shot(page, 'undo-all');
		await page.locator('.toast').getByRole('button', { name: 'Undo' }).click();
		await ticksUntil(page, page.getByText(`Not sent: bash · echo ${runs[0]}`));
		await ticksUntil(page, page.locator(`[id="call-${first.id}"] button.approve:enabled`));
		await page.clock.runFor(LONGER); // for what must not happen
		assert.equal(await status(stage, first.id), 'pending');
		assert.equal(await page.locator('.row').count(), 3);

		await page.locator('button.approve').click();
		await ticksUntil(page, page.getByText(`Approved in five seconds: bash · echo ${runs[0]}`));
		await page.keyboard.press('Escape');
		await ticksUntil(page, page.locator(`[id="call-${first.id}"] button.approve:enabled`));
		await page.clock.runFor(LONGER); // for what must not happen
		assert.equal(await status(stage, first.id), 'pending');
		await page.getByRole('button', { name: 'Deny…' }).click();
		await page.getByRole('button', { name: 'Deny', exact: true }).click();
		await ticksUntil(page, page.getByText(`Denied in five seconds: bash · echo ${runs[0]}`));
		assert.equal(await status(stage, first.id), 'pending');
		await page.clock.runFor(LONGER);
		await ticksUntil(page, page.getByText(`Denied: bash · echo ${runs[0]}`));
		assert.equal(await status(stage, first.id), 'denied');
		if (stage.phone) await page.evaluate(() => { location.hash = '#/'; });
		await ticksUntil(page, page.locator('.shelf li', { hasText: `Denied bash · echo ${runs[0]}` }));
		await ticksWhile(page, stage.check(page));
		await stage.shot(page, 'shelf');
	},

	async 'a critical call is left out where several are approved'(stage) {
		const run = `several-${stage.size}`; // what is denied in a run is denied again without asking
		stage.held.begin([critical, push, { ...push, name: 'other_tool' }], { run });
		const page = await stage.open();
		await page.locator('.row', { hasText: '3 calls' }).getByRole('checkbox').check();
		await page.getByRole('button', { name: 'Approve…' }).click();
		const dialog = page.getByRole('dialog');
		await dialog.getByText('1 critical call left out: approve it by itself.').waitFor();
		await stage.check(page);
		await dialog.getByRole('button', { name: 'Approve 2 calls' }).click();
		await page.getByText('Approved: 2 of 2').waitFor();
		assert.deepEqual((await stage.held.pending()).map(({ tool_name: tool }) => tool), ['terminal']);
	},
});
