// Approvals of critical calls are sent after five seconds, until which they can be undone.

import assert from 'node:assert/strict';
import { flows } from '../stage/browser.js';
import { push } from '../stage/calls.js';

const critical = { name: 'terminal', arguments: { command: 'rm -rf /srv/data' } };
const LONGER = 6_000; // than an approval waits

const status = async (stage, id) => (await stage.held.api('GET', `/api/v1/requests/${id}`)).status;

/** Opens the page at a critical call and approves it. */
async function approve(stage) {
	const answer = stage.held.hold([critical]);
	answer.catch(() => {});
	const [{ id }] = await stage.asked('terminal');
	const page = await stage.open(`/#/requests/${id}`);
	await stage.settled(page);
	await page.locator('button.approve').click();
	await page.getByText('Approving this critical call in').waitFor();
	return { page, id, answer };
}

flows('undo', {
	async 'an approval is undone by its button and by Escape, and sent when nobody does'(stage) {
		const { page, id, answer } = await approve(stage);
		await stage.check(page);
		await stage.shot(page, 'undo');
		await page.getByRole('button', { name: 'Undo' }).click();
		await page.getByText('The approval was not sent.').waitFor();
		await page.locator('button.approve').waitFor();
		await page.keyboard.press('a');
		await page.getByText('Approving this critical call in').waitFor();
		await page.keyboard.press('Escape');
		await page.locator('button.approve').waitFor();
		await page.waitForTimeout(LONGER); // for what must not happen
		assert.equal(await status(stage, id), 'pending');
		await page.locator('button.approve').click();
		assert.equal(await status(stage, id), 'pending');
		await page.getByText('Approved: terminal').waitFor();
		assert.equal((await answer).choices[0].message.tool_calls.length, 1);
	},

	async 'who leaves the page, or the request, sends nothing'(stage) {
		const { page, id } = await approve(stage);
		await page.reload();
		await page.locator('button.approve').waitFor();
		await stage.settled(page);
		stage.held.begin([push]);
		const [other] = await stage.asked('bash');
		await page.locator('button.approve').click();
		await page.getByText('Approving this critical call in').waitFor();
		await page.evaluate((id) => { location.hash = `#/requests/${id}`; }, other.id);
		await page.locator(`[id="call-${other.id}"]`).waitFor();
		await page.waitForTimeout(LONGER); // for what must not happen
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
		stage.held.begin([critical, push, { ...push, name: 'other_tool' }], { run: 'several' });
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
