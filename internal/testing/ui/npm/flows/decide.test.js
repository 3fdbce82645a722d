import assert from 'node:assert/strict';
import { around, edit, large, long, patch, push, transfer, writeFile } from '../stage/calls.js';
import { flows } from '../stage/browser.js';

/** Has no request read by its id before release is called. */
async function holdBack(page) {
	let release;
	const released = new Promise((resolve) => { release = resolve; });
	await page.route(/\/api\/v1\/requests\/\w+$/, async (route) => {
		await released;
		await route.continue();
	});
	return release;
}

const approve = (page) => page.locator('.call button.approve');

flows('deciding', {
	async 'a request appears by itself, is read and approved'(stage) {
		const page = await stage.open();
		const answer = stage.held.hold([push], around);
		await page.locator('.row', { hasText: 'git fetch' }).waitFor();
		await page.waitForFunction(() => document.title.startsWith('(1) '));
		if (stage.phone) await stage.look(page, 'bash');
		await page.getByRole('heading', { name: 'claude-code wants to run a command' }).waitFor();
		await page.getByText('Rebase the branch onto main').waitFor();
		await page.getByText('All 214 tests pass').waitFor();
		assert.deepEqual(await page.locator('.commands li').allTextContents(), ['git fetch origin', 'git rebase origin/main', 'tee …', 'git push --force-with-lease origin HEAD:main']);
		assert.equal(await page.locator('.script pre').textContent(), push.arguments.command);
		await stage.check(page);
		await stage.shot(page, 'command');
		await approve(page).click();
		await page.getByText('Approved: bash').waitFor();
		assert.equal((await answer).choices[0].message.tool_calls[0].function.arguments, JSON.stringify(push.arguments));
		await page.waitForFunction(() => document.title === 'heldcall');
		await stage.shot(page, 'nothing-waits');
	},

	async 'a call is denied with a note that the model reads'(stage) {
		const answer = stage.held.hold([writeFile], around);
		const page = await stage.open();
		await stage.look(page, 'write_file');
		await page.getByRole('button', { name: 'Deny…' }).click();
		await page.getByLabel('Reason (sent to the model)').fill('Not <b>into</b> production.');
		await stage.check(page);
		await stage.shot(page, 'deny');
		await page.getByRole('button', { name: 'Deny', exact: true }).click();
		await page.getByText('Denied: write_file').waitFor();
		assert.match((await answer).choices[0].message.content, /Understood\.$/, 'the model goes on');
		const { items: [request] } = await stage.held.api('GET', '/api/v1/requests?status=denied&limit=1');
		assert.equal(request.decisions[0].note, 'Not <b>into</b> production.');
	},

	async 'arguments are edited, and what changes is shown first'(stage) {
		const tools = [{ type: 'function', function: { name: 'transfer_money', parameters: { type: 'object', properties: { amount: { type: 'number', maximum: 20000, description: 'In whole units' } } } } }];
		const answer = stage.held.hold([transfer], { ...around, tools });
		const page = await stage.open();
		await stage.look(page, 'transfer_money');
		await stage.pressMore(page, 'Edit…');
		const send = page.getByRole('button', { name: 'Approve with changes' });
		assert.ok(await send.isDisabled(), 'nothing is changed yet');
		await page.getByLabel('amount').fill('99,5');
		await page.getByText('“amount” is not JSON').waitFor();
		assert.ok(await send.isDisabled());
		await page.getByLabel('amount').fill('99000');
		await send.click();
		await page.getByText("break the tool's schema").waitFor();
		await page.getByLabel('amount').fill('99.50');
		assert.deepEqual(await page.locator('.diff tr.out, .diff tr.in').allTextContents(), ['−removed: amount: 12500.5', '+added: amount: 99.50']);
		await stage.check(page);
		await stage.shot(page, 'edit');
		await send.click();
		await page.getByText('Approved with changes: transfer_money').waitFor();
		assert.match((await answer).choices[0].message.tool_calls[0].function.arguments, /"amount":\s*99\.50/, 'the digits are kept');
	},

	async 'the editor has the arguments as JSON too'(stage) {
		const answer = stage.held.hold([push], around);
		const page = await stage.open();
		await stage.look(page, 'bash');
		await stage.pressMore(page, 'Edit…');
		await page.getByLabel('command').fill('git status');
		await page.getByRole('button', { name: 'Edit as JSON' }).click();
		const json = page.getByLabel('Arguments as JSON');
		assert.deepEqual(JSON.parse(await json.inputValue()), { command: 'git status', timeout: 120000 });
		await json.fill('{"command": "git log",');
		await page.locator('.error', { hasText: 'not JSON' }).waitFor();
		await json.fill('{"command": "git log"}');
		await page.getByRole('button', { name: 'Approve with changes' }).click();
		assert.deepEqual(JSON.parse((await answer).choices[0].message.tool_calls[0].function.arguments), { command: 'git log' });
	},

	async 'what is folded cannot be approved before it is shown'(stage) {
		const answer = stage.held.hold([long], around);
		const page = await stage.open();
		await stage.look(page, 'write_file');
		assert.ok(await approve(page).isDisabled());
		assert.equal(await page.getByText('curl evil').count(), 0);
		await stage.check(page);
		await stage.shot(page, 'folded');
		await page.keyboard.press('a');
		await page.getByText('curl evil').waitFor();
		assert.equal((await stage.held.pending()).length, 1, 'the first press only shows');
		await page.keyboard.press('a');
		assert.equal((await answer).choices[0].message.tool_calls.length, 1);
	},

	async 'finding 24: a large call is loaded whole before it can be approved'(stage) {
		const page = await stage.open();
		const release = await holdBack(page);
		const answer = stage.held.hold([large], around);
		await stage.look(page, 'write_file');
		await page.locator('.call').getByText('Loading the whole call…').waitFor();
		await page.locator('.more > summary').click();
		for (const name of [/^Approve/, /^Edit/, /^Always allow/]) assert.ok(await page.locator('.call').getByRole('button', { name }).isDisabled(), String(name));
		assert.ok(await page.getByRole('button', { name: 'Deny…' }).isEnabled());
		await page.keyboard.press('a');
		await page.keyboard.press('e');
		assert.equal(await page.locator('.call form').count(), 0);
		await stage.check(page);
		await stage.shot(page, 'loading');
		release();
		await page.getByText('Expand to approve').waitFor();
		assert.equal((await stage.held.pending()).length, 1);
		await stage.settled(page);
		await page.keyboard.press('a');
		await page.getByText('curl evil').waitFor();
		await page.evaluate(() => dispatchEvent(new Event('online'))); // the page reads the list again
		await page.waitForTimeout(300); // for what must not happen
		assert.equal(await page.getByText('curl evil').count(), 1, 'what is known whole stays whole');
		await page.keyboard.press('a');
		assert.equal((await answer).choices[0].message.tool_calls[0].function.arguments, JSON.stringify(large.arguments));
	},

	async 'finding 24: large calls are decided at once only after each was shown whole'(stage) {
		const page = await stage.open();
		const release = await holdBack(page);
		const answers = [stage.held.hold([push], around), stage.held.hold([large], around), stage.held.hold([large], around)];
		await page.locator('.row').nth(2).waitFor();
		await page.locator('.row', { hasText: 'bash' }).getByRole('checkbox').check();
		await page.getByRole('button', { name: 'Select all' }).click();
		await page.getByRole('button', { name: 'Approve…' }).click();
		const dialog = page.getByRole('dialog');
		const send = dialog.getByRole('button', { name: 'Approve 3 calls' });
		await dialog.getByText('2 calls not loaded yet.').waitFor();
		assert.ok(await send.isDisabled());
		await stage.check(page);
		release();
		const expand = dialog.getByRole('button', { name: 'Expand everything' });
		await dialog.getByText('2 sections collapsed.').waitFor();
		assert.ok(await send.isDisabled(), 'two of them are folded');
		await expand.click();
		assert.equal(await dialog.getByText('curl evil').count(), 2);
		await send.click();
		await page.getByText('Approved: 3 of 3').waitFor();
		for (const answer of await Promise.all(answers)) assert.equal(answer.choices[0].message.tool_calls.length, 1);
	},

	async 'a batch is one card, with buttons for each call'(stage) {
		const answer = stage.held.hold([push, edit, patch], around);
		const page = await stage.open();
		await stage.look(page, '3 calls');
		assert.equal(await page.locator('.row').count(), 1);
		assert.equal(await page.locator('.call').count(), 3);
		await stage.check(page);
		await stage.shot(page, 'batch');
		const [first, second] = [page.locator('.call').nth(0), page.locator('.call').nth(1)];
		await second.getByRole('button', { name: 'Deny…' }).click();
		await second.getByRole('button', { name: 'Deny', exact: true }).click();
		await second.getByText('by local').waitFor();
		await stage.settled(page);
		await first.locator('button.approve').click();
		await first.getByText('Approved', { exact: true }).waitFor();
		await stage.shot(page, 'batch-half');
		await stage.settled(page);
		await page.locator('.call').nth(2).locator('button.approve').click();
		const calls = (await answer).choices[0].message.tool_calls;
		assert.deepEqual(calls.map((call) => call.function.name), ['bash', 'apply_patch']);
	},

	async 'a press does not hit the button that slid under the pointer'(stage) {
		const answer = stage.held.hold([push, edit], around);
		const page = await stage.open();
		await stage.look(page, '2 calls');
		const waiting = await stage.held.pending();
		const [first] = await page.locator('.call').evaluateAll((cards) => cards.map((card) => card.id.replace('call-', '')));
		await page.evaluate(() => {
			const [above, below] = document.querySelectorAll('.call');
			globalThis.slid = new Promise((resolve) => {
				new MutationObserver(() => {
					if (!above.querySelector('.outcome')) return;
					below.querySelector('button.approve').click();
					resolve(null);
				}).observe(above, { childList: true });
			});
		});
		await stage.held.api('POST', `/api/v1/requests/${first}/decision`, { action: 'deny' });
		await page.evaluate(() => globalThis.slid);
		await page.waitForTimeout(300); // for what must not happen
		assert.deepEqual((await stage.held.pending()).map(({ id }) => id), waiting.map(({ id }) => id).filter((id) => id !== first));
		await stage.settled(page);
		await page.locator('.call').nth(1).locator('button.approve').click();
		assert.deepEqual((await answer).choices[0].message.tool_calls.map((call) => call.function.name), ['Edit']);
	},

	async 'several requests are decided at once, each shown in full'(stage) {
		const answers = [stage.held.hold([push], around), stage.held.hold([long], around), stage.held.hold([edit], around)];
		const page = await stage.open();
		await page.locator('.row').nth(2).waitFor();
		await page.locator('.row', { hasText: 'bash' }).getByRole('checkbox').check();
		await page.getByRole('button', { name: 'Select all' }).click();
		await page.getByRole('button', { name: 'Approve…' }).click();
		const dialog = page.getByRole('dialog');
		const send = dialog.getByRole('button', { name: 'Approve 3 calls' });
		assert.ok(await send.isDisabled(), 'one of them is folded');
		await stage.check(page);
		await stage.shot(page, 'several');
		await dialog.getByRole('button', { name: 'Expand everything' }).click();
		await send.click();
		await page.getByText('Approved: 3 of 3').waitFor();
		for (const answer of await Promise.all(answers)) assert.equal(answer.choices[0].message.tool_calls.length, 1);
	},

	async 'the slower of two reviewers is told who decided'(stage) {
		stage.held.begin([push], around);
		const page = await stage.open();
		await stage.look(page, 'bash');
		const [request] = await stage.held.pending();
		await page.route('**/decision', async (route) => {
			await stage.held.api('POST', `/api/v1/requests/${request.id}/decision`, { action: 'deny', note: 'No.' });
			await route.continue();
		});
		await approve(page).click();
		await page.getByText('Too late: already denied by local.').waitFor();
		await page.locator('.outcome.denied', { hasText: 'Denied by local' }).waitFor();
		await stage.shot(page, 'too-late');
	},

	async 'what ends by itself says so'(stage) {
		const page = await stage.open();
		stage.held.begin([{ name: 'short_lived', arguments: { n: 1 } }]);
		await stage.look(page, 'short_lived');
		await page.locator('.outcome.expired', { hasText: 'Expired' }).waitFor();
		assert.equal(await page.locator('.row').count(), 0);
	},
});
