// A trust window lets reads and writes of a run pass. It is shown with the time that is left, and a button closes it.

import assert from 'node:assert/strict';
import { flows } from '../stage/browser.js';

flows('window', {
	async 'an approval opens a window for its run, which a button closes'(stage) {
		const about = { session: `window-${stage.size}`, run: `window-${stage.size}` };
		const write = (name) => ({ name: 'Write', arguments: { file_path: `${stage.held.workspace}/${name}`, content: 'x\n' } });
		const passes = async (call, message) => {
			const answer = await stage.held.hold([call], about);
			assert.equal(answer.choices[0].message.tool_calls.length, 1, message);
		};
		const first = stage.held.hold([write('first.txt')], about);
		const page = await stage.open();
		await stage.look(page, 'first.txt');
		await stage.pressMore(page, 'Approve, trust 15 min');
		await page.getByText('Approved: Write').waitFor();
		assert.equal((await first).choices[0].message.tool_calls.length, 1);
		await passes(write('second.txt'), 'nobody was asked');

		if (stage.phone) await page.goto(stage.held.console);
		const windows = page.getByRole('group', { name: 'Open trust windows' });
		await windows.getByText(`run ${about.run}`).waitFor();
		assert.match(await windows.locator('time').textContent(), /^1[45]/);
		await stage.check(page);
		await stage.shot(page, 'window');
		stage.held.begin([{ name: 'Write', arguments: { file_path: '/etc/motd', content: 'x\n' } }], about);
		await page.locator('.row', { hasText: '/etc/motd' }).waitFor();
		await windows.getByRole('button', { name: /^Close the trust window/ }).click();
		await page.getByText('Closed. People are asked about such calls again.').waitFor();
		await windows.waitFor({ state: 'hidden' });
		stage.held.begin([write('third.txt')], about);
		await page.locator('.row', { hasText: 'third.txt' }).waitFor();
	},

	async 'no window is offered where decisions are not remembered'(stage) {
		stage.held.begin([{ name: 'ask_each_time', arguments: { n: 1 } }]);
		const page = await stage.open();
		await stage.look(page, 'ask_each_time');
		await page.locator('.more > summary').click();
		await page.locator('.more .off', { hasText: 'not to be remembered' }).first().waitFor();
		assert.equal(await page.getByRole('button', { name: /trust|Always/ }).count(), 0);
		await stage.check(page);
		await stage.shot(page, 'more');
	},

	async 'a repository beside the workspace is added for the run'(stage) {
		const about = { session: `folder-${stage.size}`, run: `folder-${stage.size}` };
		const edit = (name) => ({ name: 'Edit', arguments: { file_path: `${stage.held.other}/${name}`, old_string: 'a', new_string: 'b' } });
		const first = stage.held.hold([edit('first.go')], about);
		const page = await stage.open();
		await stage.look(page, 'first.go');
		await page.locator('.more > summary').click();
		await stage.check(page);
		await stage.pressMore(page, /^Add .* to this run$/);
		await page.getByText('Added to the workspace of the run:').waitFor();
		assert.equal((await first).choices[0].message.tool_calls.length, 1);
		assert.equal((await stage.held.hold([edit('second.go')], about)).choices[0].message.tool_calls.length, 1, 'nobody was asked');
		await page.goto(`${stage.held.console}/#/grants`);
		await page.getByText(`${stage.held.other} as a part of the workspace, run ${about.run}`).waitFor();
	},
}, { workspace: true });
