// A rule with confirm: passkey has the reviewer use a passkey, here of Chromium's virtual
// authenticator.

import assert from 'node:assert/strict';
import { flows, stopClock, ticksUntil, withClock } from '../stage/browser.js';
import { push } from '../stage/calls.js';

const wipe = (name) => ({ name: 'builder', arguments: { command: `wipe /srv/${name}.db` } });

/** Gives a page an authenticator; verified: it knows who uses it. */
async function authenticator(page, verified = true) {
	const cdp = await page.context().newCDPSession(page);
	await cdp.send('WebAuthn.enable');
	const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: verified, automaticPresenceSimulation: true };
	const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', { options });
	return { verify: (isUserVerified) => cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }) };
}

/** Opens a page of the inbox at the address where passkeys work. */
const open = (stage, page = '') => stage.open(`${stage.held.console.replace('127.0.0.1', 'localhost')}/${page}`, { elsewhere: true, before: withClock });

/** Registers a passkey on the page of passkeys. */
async function register(page, name) {
	await page.getByLabel('Name').fill(name);
	await page.getByRole('button', { name: 'Register a passkey' }).click();
	await page.getByText(`Registered: ${name}.`).waitFor();
}

/** Revokes the passkeys that are shown. */
async function revokeAll(page) {
	for (let left = await page.locator('.grant').count(); left > 0; left--) {
		await page.locator('.grant').first().getByRole('button', { name: 'Revoke' }).click();
		await page.locator('.grant').nth(left - 1).waitFor({ state: 'detached' });
	}
}

flows('passkey', {
	async 'a passkey is registered, approves a call, and is revoked'(stage) {
		const answer = stage.held.hold([wipe('keys')]);
		const page = await open(stage);
		await authenticator(page);
		await stage.look(page, 'wipe');
		const [{ id }] = await stage.asked('builder');
		const refused = await stage.held.api('POST', `/api/v1/requests/${id}/decision`, { action: 'approve' });
		assert.deepEqual([refused.status, refused.field], [422, 'assertion']);
		const approve = page.getByRole('button', { name: 'Approve with passkey' });
		await approve.click();
		await page.getByText('You have no passkey yet. Register one on the page Passkeys, then approve.').waitFor();
		await stage.check(page);
		if (stage.phone) await page.getByRole('link', { name: 'All requests' }).click();
		await page.getByRole('link', { name: 'Passkeys' }).click();
		await page.getByText('No passkeys.').waitFor();
		await register(page, `Device (${stage.size})`);
		await page.getByText('never used').waitFor();
		await stage.check(page);
		await stage.shot(page, 'passkeys');
		await page.getByRole('link', { name: 'Inbox' }).click();
		await stage.look(page, 'wipe');
		await stage.shot(page, 'passkey');
		await stopClock(page);
		await approve.click();
		await ticksUntil(page, page.getByRole('button', { name: 'Undo' }));
		await page.getByRole('button', { name: 'Undo' }).click();
		await ticksUntil(page, page.getByText('The approval was not sent.'));
		assert.equal((await stage.asked('builder'))[0].id, id);
		await approve.click(); // what was undone is confirmed again
		await ticksUntil(page, page.getByText('Approving this critical call'));
		await page.clock.resume();
		await page.getByText('Approved: builder').waitFor();
		assert.equal((await answer).choices[0].message.tool_calls.length, 1);
		await page.goto(`${page.url().split('#')[0]}#/requests/${id}`);
		await page.getByText('with a passkey').waitFor();
		if (stage.phone) await page.getByRole('link', { name: 'All requests' }).click();
		await page.getByRole('link', { name: 'Passkeys' }).click();
		await page.getByText('· used ').waitFor();
		await revokeAll(page);
		await page.getByText('No passkeys.').waitFor();
	},

	async 'an authenticator without its person approves nothing'(stage) {
		stage.held.begin([wipe('logs')]);
		const page = await open(stage, '#/passkeys');
		const device = await authenticator(page);
		await register(page, 'Device');
		await page.getByRole('link', { name: 'Inbox' }).click();
		await stage.look(page, 'wipe');
		await device.verify(false);
		await page.getByRole('button', { name: 'Approve with passkey' }).click();
		await page.getByText('No passkey was used: it was cancelled, took too long, or none of yours is on this device.').waitFor();
		assert.equal((await stage.asked('builder')).length, 1);
		await device.verify(true);
		await page.locator('button.deny').click();
		await page.getByRole('button', { name: 'Deny', exact: true }).click(); // takes no passkey
		await page.getByText('Denied: builder').waitFor();
		await page.getByRole('link', { name: 'Passkeys' }).click();
		await page.getByRole('button', { name: 'Register a passkey' }).waitFor();
		await page.getByLabel('Name').fill('Twice');
		await page.getByRole('button', { name: 'Register a passkey' }).click();
		await page.getByText('This device has one of your passkeys already.').waitFor();
		await revokeAll(page);
	},

	async 'another address of the inbox has no passkeys, and names the one that has'(stage) {
		stage.held.begin([wipe('tmp')]);
		const page = await stage.open('/#/passkeys');
		const there = stage.held.console.replace('127.0.0.1', 'localhost');
		await page.getByText(`Passkeys work at ${there} only.`).waitFor();
		await stage.check(page);
		await page.getByRole('link', { name: 'Inbox' }).click();
		await stage.look(page, 'wipe');
		await page.getByRole('button', { name: 'Approve with passkey' }).click();
		await page.getByRole('alert').filter({ hasText: `Passkeys work at ${there} only.` }).waitFor();
		await page.goto(`${stage.held.console}/#/passkeys`);
		await page.getByRole('button', { name: `Open ${there}` }).click();
		await page.getByRole('button', { name: 'Register a passkey' }).waitFor();
		assert.equal(page.url(), `${there}/#/passkeys`);
	},

	async 'such a call is not approved together with others'(stage) {
		stage.held.begin([wipe('cache')]);
		stage.held.begin([push]);
		const page = await open(stage);
		await page.locator('.row').nth(1).waitFor();
		await page.locator('.row').first().getByRole('checkbox').check();
		await page.getByRole('button', { name: 'Select all' }).click();
		await page.getByRole('button', { name: 'Approve…' }).click();
		await page.getByRole('dialog').getByText('1 call left out: approve it one by one, with the target typed or with your passkey.').waitFor();
		await page.getByRole('button', { name: 'Approve 1 call' }).click();
		await page.getByText('Approved: 1 of 1').waitFor();
	},
});
