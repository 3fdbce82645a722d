// Requests about the result of a call.

import assert from 'node:assert/strict';
import { flows } from '../stage/browser.js';

const call = { role: 'assistant', content: null, tool_calls: [{ id: 'call_read', type: 'function', function: { name: 'read_page', arguments: '{}' } }] };

flows('judged results', {
	async 'a result is read, and edited for the model'(stage) {
		const answer = stage.held.report({ tool_call_id: 'call_read', session_id: stage.held.session }, 'review this result: <b>1</b>', 'I have read it.', [call]);
		const [request] = await stage.asked('read_page');
		const page = await stage.open(`/#/requests/${request.id}`);
		await page.getByRole('heading', { name: 'May the model read the result of read_page?' }).waitFor();
		await page.getByText('The call has run: read_page {}').waitFor();
		await page.getByText('(the model won’t read it)').waitFor();
		await page.locator('.call pre', { hasText: 'review this result: <b>1</b>' }).waitFor();
		await stage.check(page);
		await stage.shot(page, 'judged-result');
		await stage.settled(page);
		await stage.pressMore(page, 'Edit…');
		await page.locator('form textarea').first().fill('Nothing to see.');
		await page.getByText('The model reads this text in place of the result').waitFor();
		await stage.check(page);
		await page.getByRole('button', { name: 'Approve with changes' }).click();
		assert.equal((await answer).choices[0].message.content, 'I have read it.');
		const decided = await stage.held.api('GET', `/api/v1/requests/${request.id}`);
		assert.equal(decided.decisions[0].modified_args, 'Nothing to see.');
	},
});
