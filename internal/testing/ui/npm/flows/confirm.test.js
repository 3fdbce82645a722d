// A rule with confirm: type has the reviewer type the target of the call.

import assert from 'node:assert/strict';
import { flows } from '../stage/browser.js';
import { push } from '../stage/calls.js';

flows('confirm', {
	async 'the target is typed before the approval is sent'(stage) {
		const answer = stage.held.hold([{ name: 'builder', arguments: { command: 'shred /srv/keys.db' } }]);
		const page = await stage.open();
		await stage.look(page, 'shred');
		const [{ id, details: { confirm } }] = await stage.asked('builder');
		const refused = await stage.held.api('POST', `/api/v1/requests/${id}/decision`, { action: 'approve' });
		assert.deepEqual([refused.status, refused.field], [422, 'confirm']);
		await page.keyboard.press('a');
		const field = page.getByLabel('to approve');
		await field.waitFor();
		const send = page.getByRole('button', { name: 'Approve', exact: true });
		assert.ok(await send.isDisabled());
		await field.fill('something else');
		assert.ok(await send.isDisabled());
		await stage.check(page);
		await stage.shot(page, 'confirm');
		await page.keyboard.press('Escape');
		await page.locator('button.approve').click();
		await field.fill(confirm);
		await page.keyboard.press('Enter');
		await page.getByText('Approved: builder').waitFor();
		assert.equal((await answer).choices[0].message.tool_calls.length, 1);
	},

	async 'such a call is not approved together with others'(stage) {
		stage.held.begin([{ name: 'builder', arguments: { command: 'shred /srv/keys.db' } }]);
		stage.held.begin([push]);
		const page = await stage.open();
		await page.locator('.row').nth(1).waitFor();
		await page.locator('.row').first().getByRole('checkbox').check();
		await page.getByRole('button', { name: 'Select all' }).click();
		await page.getByRole('button', { name: 'Approve…' }).click();
		await page.getByRole('dialog').getByText('1 call left out: approve it one by one, with the target typed or with your passkey.').waitFor();
		await page.getByRole('button', { name: 'Approve 1 call' }).click();
		await page.getByText('Approved: 1 of 1').waitFor();
	},
});
