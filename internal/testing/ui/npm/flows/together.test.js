// Calls of a run that the server has joined are one question with one answer.

import assert from 'node:assert/strict';
import { flows } from '../stage/browser.js';

const terminal = (command) => ({ name: 'terminal', arguments: { command } });
const waiting = async (stage) => (await stage.held.pending()).map(({ args_preview: preview }) => preview).sort();
const LATER = 2_500; // than a look begins

flows('together', {
	async 'a run is shown by question, and one answer decides the calls that were shown'(stage) {
		const about = { run: `joined-${stage.size}`, session: `session-of-joined-${stage.size}` };
		stage.held.begin([terminal('make test'), terminal('rm -rf /srv/data'), terminal('make lint'), { name: 'builder', arguments: { command: 'git tag v3' } }], about);
		const page = await stage.open();
		await page.locator('.row .preview', { hasText: 'Runs 2 checks 2 calls' }).waitFor();
		await stage.look(page, '4 calls');
		const question = page.locator('.question');
		await question.getByRole('heading', { name: 'Runs 2 checks' }).waitFor();
		assert.equal(await question.count(), 1);
		assert.equal(await question.locator('.call').count(), 2);
		assert.equal(await page.locator('.call').count(), 4);
		assert.deepEqual(await page.locator('#ask .all button').allTextContents(), ['Deny all 4…'], 'a mixed run is approved by question');
		await stage.check(page);
		await stage.shot(page, 'together');

		await page.waitForTimeout(LATER);
		stage.held.begin([terminal('make all')], about);
		await question.getByText('1 new call not included.').waitFor();
		assert.equal(await question.locator('.badge.new').count(), 1);
		await stage.check(page);
		await stage.shot(page, 'together-new');
		const [{ id }] = (await stage.held.pending()).filter(({ args_preview: preview }) => preview === 'make lint');
		await stage.settled(page);
		await question.getByRole('button', { name: 'Approve these 2…' }).click();
		const dialog = page.getByRole('dialog', { name: 'Approve 2 calls?' });
		assert.equal(await dialog.getByText('make all').count(), 0);
		await stage.held.api('POST', `/api/v1/requests/${id}/decision`, { action: 'deny' });
		await dialog.getByRole('button', { name: 'Approve 2 calls' }).click();
		await page.getByText('Approved: 1 of 2.').waitFor();
		assert.deepEqual(await waiting(stage), ['git tag v3', 'make all', 'rm -rf /srv/data']);
	},

	async 'new calls are decided with the others once they are included'(stage) {
		const about = { run: `included-${stage.size}`, session: `session-of-included-${stage.size}` };
		stage.held.begin([terminal('make test'), terminal('make lint')], about);
		const page = await stage.open();
		await stage.look(page, '2 calls');
		const question = page.locator('.question');
		await question.getByRole('button', { name: 'Approve all 2…' }).waitFor();
		await page.waitForTimeout(LATER);
		stage.held.begin([terminal('make build')], about);
		await question.getByRole('button', { name: 'Include' }).click();
		await question.getByRole('heading', { name: 'Runs 3 checks' }).waitFor();
		assert.equal(await question.locator('.badge.new').count(), 0);
		await stage.settled(page);
		await question.getByRole('button', { name: 'Deny all 3…' }).click();
		await page.getByRole('dialog').getByRole('button', { name: 'Deny 3 calls' }).click();
		await page.getByText('Denied: 3 of 3').waitFor();
	},
});
