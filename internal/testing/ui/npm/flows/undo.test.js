// Approvals of critical calls are sent after five seconds, until which they can be undone.

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
