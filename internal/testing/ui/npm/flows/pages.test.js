import assert from 'node:assert/strict';
import { around, edit, push, transfer, writeFile } from '../stage/calls.js';
import { flows } from '../stage/browser.js';

/** Holds a call and decides it. */
async function ended(stage, call, choice, about = around) {
	const answer = stage.held.hold([call], about);
	const [request] = await stage.asked(call.name);
	await stage.held.api('POST', `/api/v1/requests/${request.id}/decision`, choice);
	await answer;
	return request;
}

flows('pages', {
	async 'history is searched and filtered'(stage) {
		await ended(stage, push, { action: 'approve' });
		await ended(stage, transfer, { action: 'deny', note: 'Ask finance first.' }, { ...around, key: 'key-of-bob' });
		await ended(stage, writeFile, { action: 'modify_args', modified_args: { path: 'x', content: 'y' } });
		const page = await stage.open();
		await page.getByRole('link', { name: 'History' }).click();
		await page.locator('.entry').nth(2).waitFor();
		assert.match(await page.locator('.entry').nth(0).textContent(), /write_file.*changed by local/);
		assert.match(await page.locator('.entry').nth(1).textContent(), /transfer_money.*denied by local.*Ask finance first/);
		await stage.check(page);
		await stage.shot(page, 'history');
		await page.getByLabel('Search').fill(`finance BOB ${stage.held.session}`);
		await page.getByRole('button', { name: 'Search' }).click();
		await page.getByText(/^1 request$/).first().waitFor();
		assert.equal(await page.locator('.entry').count(), 1);
		await page.reload();
		await page.getByText(/^1 request$/).first().waitFor();
		await page.getByLabel('Search').fill('nothing has <b>this</b>');
		await page.getByRole('button', { name: 'Search' }).click();
		await page.getByText('No matches.').waitFor();
		await page.getByLabel('Search').fill('');
		await page.getByLabel('Outcome').selectOption('denied');
		await page.waitForFunction(() => [...document.querySelectorAll('.entry')].length > 0 && [...document.querySelectorAll('.end')].every((end) => end.textContent === 'denied'));
		await page.locator('.entry').first().click();
		await page.locator('.outcome.denied', { hasText: 'Ask finance first.' }).waitFor();
		await stage.shot(page, 'ended');
	},

	async 'a run tells its story, is paused, resumed and stopped'(stage) {
		const run = `release/${stage.size} 1.4`;
		await ended(stage, push, { action: 'approve' }, { ...around, run });
		await ended(stage, edit, { action: 'deny', note: 'Not this file.' }, { ...around, run, user: 'And fix the invoice.' });
		stage.held.begin([writeFile], { ...around, run, user: 'And fix the invoice.' });
		await stage.asked(writeFile.name); // the list of runs is read once
		const page = await stage.open();
		await page.getByRole('link', { name: 'Runs' }).click();
		await page.locator('.entry', { hasText: '3 requests, 1 waiting' }).click();
		await page.getByRole('heading', { name: run }).waitFor();
		assert.deepEqual(await page.locator('.story .said.user').allTextContents(), [around.user, 'And fix the invoice.']);
		assert.equal(await page.locator('.story .entry').count(), 3);
		await stage.check(page);
		await stage.shot(page, 'run');
		await page.getByRole('button', { name: 'Pause' }).click();
		await page.locator('.facts .paused').waitFor();
		await page.getByRole('button', { name: 'Resume' }).click();
		await page.locator('.facts .running').waitFor();
		await page.getByRole('button', { name: 'Stop the run…' }).click();
		await stage.check(page);
		await page.getByRole('dialog').getByRole('button', { name: 'Stop the run' }).click();
		await page.locator('.facts .aborted').waitFor();
		await page.locator('.end.cancelled').waitFor();
	},
});
