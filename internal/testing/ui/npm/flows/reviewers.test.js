import assert from 'node:assert/strict';
import { around, push, transfer } from '../stage/calls.js';
import { flows } from '../stage/browser.js';
import { signIn, tokenOf, withReviewers } from '../stage/reviewers.js';
import { localTime } from '../inbox/view/delegations.js';

flows('reviewers', {
	async 'a viewer looks on'(stage) {
		stage.held.begin([push], around);
		const page = await stage.open('/', { outside: true });
		await signIn(page, 'dan');
		await stage.look(page, 'bash');
		await page.locator('.call .why', { hasText: 'You have view-only access.' }).waitFor();
		for (const name of ['Approve', 'Deny…']) assert.ok(await page.locator('.call').getByRole('button', { name, exact: false }).first().isDisabled(), name);
		await stage.check(page);
		await page.keyboard.press('a');
		assert.equal((await stage.held.pending()).length, 1);
		await page.goto(`${stage.held.console}/#/grants`);
		await page.getByText(/Nothing is remembered|grant/).first().waitFor();
		assert.equal(await page.getByRole('link', { name: 'New grant' }).count(), 0);
	},

	async 'two must agree, and nobody for their own agent'(stage) {
		const answer = stage.held.hold([transfer], { ...around, key: 'key-of-bob' });
		const [ann, carla] = [await stage.open('/', { outside: true }), await stage.open('/', { outside: true })];
		await signIn(ann, 'ann');
		await signIn(carla, 'carla');
		for (const page of [ann, carla]) {
			await stage.look(page, 'transfer_money');
			await page.getByText('0 of 2 approvals').waitFor();
		}
		await ann.locator('button.approve').click();
		await ann.getByRole('status').filter({ hasText: /You approved .*Waiting for 1 more approval\./ }).waitFor();
		await ann.locator('.call .why', { hasText: 'You approved. Waiting for 1 more approval.' }).waitFor();
		assert.equal(await ann.getByText('Approved', { exact: true }).count(), 0, 'nothing is decided yet');
		assert.ok(await ann.locator('button.approve').isDisabled());
		assert.ok(await ann.locator('button.deny').isEnabled());
		await stage.check(ann);
		await stage.shot(ann, 'approved-once');
		await carla.getByText('1 of 2 approvals: ann').waitFor();
		await stage.check(carla);
		await stage.shot(carla, 'quorum');
		await carla.locator('button.approve').click();
		await ann.locator('.outcome.approved').waitFor();
		assert.equal((await answer).choices[0].message.tool_calls.length, 1);
		stage.held.begin([transfer], around); // ann's own agent asks
		if (stage.phone) await ann.getByRole('link', { name: 'All requests' }).click();
		await stage.look(ann, 'transfer_money');
		await stage.settled(ann);
		await ann.locator('.call .why', { hasText: 'You can’t approve your own agent’s request.' }).waitFor();
		assert.ok(await ann.locator('button.approve').isDisabled());
		assert.match(await ann.locator('button.approve').getAttribute('title'), /own agent/);
		assert.ok(await ann.locator('button.deny').isEnabled());
		await ann.keyboard.press('a');
		await stage.shot(ann, 'own-agent');
		assert.equal((await stage.held.pending())[0].decisions.length, 0);
	},

	async 'several are decided together by whom they are left to'(stage) {
		stage.held.begin([transfer, push], around);
		stage.held.begin([push], { ...around, session: `${stage.held.session}-2` });
		const page = await stage.open('/', { outside: true });
		await signIn(page, 'eve');
		await page.locator('#list .count', { hasText: /^3$/ }).waitFor();
		await stage.look(page, '2 calls');
		await page.getByText('Only finance may decide this.').waitFor();
		assert.equal(await page.locator('#ask .all button').count(), 0, 'one of the two is left to eve');
		if (stage.phone) await page.getByRole('link', { name: 'All requests' }).click();
		for (const box of await page.locator('.row input').all()) await box.check();
		await page.getByRole('button', { name: 'Approve…', exact: true }).click();
		const dialog = page.getByRole('dialog', { name: 'Approve 2 calls?' });
		await dialog.getByText('1 call left out: it waits for other reviewers.').waitFor();
		await stage.check(page);
		await dialog.getByRole('button', { name: 'Approve 2 calls' }).click();
		await stage.asked('transfer_money');
		await page.locator('#list .count', { hasText: /^1$/ }).waitFor();
	},

	async 'who decides in the place of another gets the buttons'(stage) {
		const as = (name) => ({ Authorization: `Bearer ${tokenOf(name)}`, 'Content-Type': 'application/json' });
		stage.held.begin([transfer], { ...around, key: 'key-of-bob' });
		const page = await stage.open('/', { outside: true });
		await signIn(page, 'eve');
		await stage.look(page, 'transfer_money');
		await page.getByText('Only finance may decide this.').waitFor();
		const body = JSON.stringify({ to: 'eve', until: new Date(Date.now() + 3_600_000).toISOString() });
		const delegation = await (await fetch(`${stage.held.console}/api/v1/delegations`, { method: 'POST', headers: as('carla'), body })).json();
		await page.locator('button.approve:enabled').click();
		await page.locator('.call .why', { hasText: 'You approved. Waiting for 1 more approval.' }).waitFor();
		await page.getByText('1 of 2 approvals: eve for carla').waitFor();
		await fetch(`${stage.held.console}/api/v1/delegations/${delegation.id}`, { method: 'DELETE', headers: as('carla') });
	},

	async 'a reviewer lets another decide, and takes it back'(stage) {
		const page = await stage.open('/', { outside: true });
		await signIn(page, 'carla');
		await page.getByRole('link', { name: 'Delegations' }).click();
		await page.getByText('No delegations.').waitFor();
		await page.getByRole('link', { name: 'New delegation' }).click();
		assert.ok(await page.getByLabel('From').isDisabled(), 'a reviewer who is no admin delegates for themselves only');
		await page.getByLabel('Delegate').fill('nobody');
		await page.getByLabel('Until').fill('2020-01-01T00:00');
		await page.getByRole('button', { name: 'Delegate' }).click();
		await page.getByRole('alert').filter({ hasText: '"nobody" is no reviewer' }).waitFor();
		await page.getByLabel('Delegate').fill('eve');
		await page.getByRole('button', { name: 'Delegate' }).click();
		await page.getByRole('alert').filter({ hasText: 'until: has passed' }).waitFor();
		const until = new Date(Date.now() + 86_400_000);
		until.setSeconds(0, 0);
		await page.getByLabel('Until').fill(localTime(until.getTime()));
		await page.getByLabel('Note').fill('On <b>leave</b>.');
		await stage.check(page);
		await stage.shot(page, 'new-delegation');
		await page.getByRole('button', { name: 'Delegate' }).click();
		const row = page.locator('.grant', { hasText: 'eve decides for carla' });
		await row.getByText('On <b>leave</b>.').waitFor();
		const { items } = await stage.held.api('GET', '/api/v1/delegations');
		assert.deepEqual(items.map(({ from, to, until: end }) => [from, to, Date.parse(end)]), [['carla', 'eve', until.getTime()]]);
		await stage.check(page);
		await stage.shot(page, 'delegations');

		const other = await stage.open('/', { outside: true });
		await signIn(other, 'dan');
		await other.goto(`${stage.held.console}/#/delegations`);
		await other.locator('.grant', { hasText: 'eve decides for carla' }).waitFor();
		assert.equal(await other.getByRole('button', { name: 'Revoke' }).count() + await other.getByRole('link', { name: 'New delegation' }).count(), 0, 'a viewer looks on');

		await row.getByRole('button', { name: 'Revoke' }).click();
		await page.getByText('Revoked. eve no longer decides for carla.').waitFor();
		assert.deepEqual((await stage.held.api('GET', '/api/v1/delegations')).items, []);
	},

	async 'an admin delegates for others'(stage) {
		const page = await stage.open('/', { outside: true });
		await signIn(page, 'root');
		await page.goto(`${stage.held.console}/#/delegations/new`);
		await page.getByLabel('From').fill('ann');
		await page.getByLabel('Delegate').fill('root');
		await page.getByRole('button', { name: 'Delegate' }).click();
		await page.getByRole('alert').filter({ hasText: 'ann delegates to them, or another admin does' }).waitFor();
		await page.getByLabel('Delegate').fill('eve');
		await page.getByRole('button', { name: 'Delegate' }).click();
		await page.locator('.grant', { hasText: 'eve decides for ann' }).getByRole('button', { name: 'Revoke' }).click();
		await page.getByText('Revoked.').waitFor();
	},
}, withReviewers);
