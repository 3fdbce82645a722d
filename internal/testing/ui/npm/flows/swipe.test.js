// A swipe over a row asks for a confirmation: to the right to approve, to the left to deny.

import assert from 'node:assert/strict';
import { flows } from '../stage/browser.js';
import * as calls from '../stage/calls.js';

const agent = { tools: [{ type: 'function', function: { name: 'bash', parameters: { type: 'object' } } }] };

/** Moves a finger over the row with a text, so many pixels to the right and down. */
async function swipe(page, text, right, down = 0) {
	const session = await page.context().newCDPSession(page);
	const box = await page.locator('.row', { hasText: text }).boundingBox();
	const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
	const touch = (type, touchPoints) => session.send('Input.dispatchTouchEvent', { type, touchPoints });
	await touch('touchStart', [{ x, y }]);
	for (let i = 1; i <= 8; i++) await touch('touchMove', [{ x: x + (right * i) / 8, y: y + (down * i) / 8 }]);
	await touch('touchEnd', []);
	await session.detach();
}

const dialog = (page) => page.getByRole('dialog');

flows('swipe', {
	async 'a swipe approves or denies after a confirmation'(stage) {
		const approved = stage.held.hold([calls.push]);
		const denied = stage.held.hold([{ name: 'odd_tool', arguments: { n: 1 } }]);
		const page = await stage.open('/#/');
		await page.locator('.row').nth(1).waitFor();
		await swipe(page, 'git fetch', 140);
		await dialog(page).getByText('git push --force-with-lease').first().waitFor(); // the whole call, before it is approved
		await stage.check(page);
		await stage.shot(page, 'swipe');
		await dialog(page).getByRole('button', { name: 'Cancel' }).click();
		assert.equal((await stage.held.pending()).length, 2, 'nothing is decided by the swipe alone');
		await swipe(page, 'git fetch', 140);
		await dialog(page).getByRole('button', { name: 'Approve 1 call' }).click();
		assert.equal((await approved).choices[0].message.tool_calls.length, 1);
		await page.locator('.row', { hasText: 'git fetch' }).waitFor({ state: 'detached' });
		await swipe(page, 'odd_tool', -140);
		await dialog(page).getByLabel('Reason (sent to the model)').fill('Not now.');
		await dialog(page).getByRole('button', { name: 'Deny 1 call' }).click();
		assert.equal((await denied).choices[0].message.tool_calls, undefined);
		await page.locator('.row').first().waitFor({ state: 'detached' });
	},

	async 'a short swipe, a scroll, a critical call and a question ask nothing'(stage) {
		stage.held.begin([calls.push]);
		stage.held.begin([calls.transfer]);
		stage.held.begin([{ name: 'request_clarification', arguments: { question: 'How many replicas?' } }], agent);
		const page = await stage.open('/#/');
		await page.locator('.row').nth(2).waitFor();
		await swipe(page, 'git fetch', 60);
		await swipe(page, 'git fetch', 30, 120);
		assert.equal(await page.locator('.row[data-swipe]').count(), 0, 'the row is back in its place');
		await swipe(page, 'transfer_money', 140);
		await page.getByText('A critical call is decided on its card.').waitFor();
		await swipe(page, 'transfer_money', -140);
		await swipe(page, 'How many replicas?', 140);
		await page.getByText('A question is answered on its card.').waitFor();
		assert.equal(await dialog(page).count(), 0);
		await swipe(page, 'How many replicas?', -140);
		assert.match(await dialog(page).locator('.call h2').innerText(), /^How many replicas\?/);
		await dialog(page).getByRole('button', { name: 'Cancel' }).click();
		assert.equal((await stage.held.pending()).length, 3);
	},
});
