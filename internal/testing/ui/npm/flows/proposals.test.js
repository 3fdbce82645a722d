import assert from 'node:assert/strict';
import { around } from '../stage/calls.js';
import { flows } from '../stage/browser.js';

const call = (command) => ({ name: 'bash', arguments: { command } });

flows('proposals', {
	async 'what people approve again and again is proposed as a rule, to copy'(stage) {
		const decide = async (command, action, session) => {
			const answer = stage.held.hold([call(command)], { ...around, session: `${session}-${stage.size}` });
			const [{ id }] = await stage.asked('bash');
			await stage.held.api('POST', `/api/v1/requests/${id}/decision`, { action });
			await answer;
		};
		const command = stage.phone ? 'gofmt -l ./a' : 'go vet ./a'; // the flow runs at both sizes with one heldcall
		await decide(command, 'approve', 'one');
		await decide(command, 'approve', 'two');
		await decide(command, 'approve', 'two');
		await decide(`make ${stage.size}`, 'approve', 'one');
		const page = await stage.open('/', { before: (context) => context.grantPermissions(['clipboard-read', 'clipboard-write']) });
		await page.getByRole('link', { name: 'Grants' }).click();
		await page.getByRole('link', { name: 'Proposed rules' }).click();
		const proposal = page.locator('.proposal', { hasText: command });
		await proposal.getByText(/approved 3 times in 2 sessions, never denied · 3 prompts fewer, of/).waitFor();
		await proposal.locator('.would-pass').getByText(command, { exact: true }).waitFor();
		await page.getByText(/^Not proposed:/).click();
		await page.getByText(`bash(make ${stage.size}): approved once in 1 session; a proposal needs 3 in 2`).waitFor();
		await stage.check(page);
		await stage.shot(page, 'proposals');
		await proposal.getByRole('button', { name: 'Copy line' }).click();
		await page.getByText('Copied.').waitFor();
		assert.match(await page.evaluate(() => navigator.clipboard.readText()), new RegExp(`^- allow: \\['bash\\(${command}\\)'\\] # approved 3 times`));
	},

	async 'a rule that asks and was always approved is shown with what to write in it'(stage) {
		const command = `deploy ${stage.size}`; // the flow runs at both sizes with one heldcall
		for (const session of ['one', 'two', 'two', 'three']) {
			const answer = stage.held.hold([{ name: 'builder', arguments: { command } }], { ...around, session: `narrow-${session}-${stage.size}` });
			const [{ id }] = await stage.asked('builder');
			await stage.held.api('POST', `/api/v1/requests/${id}/decision`, { action: 'approve' });
			await answer;
		}
		const page = await stage.open('/#/proposals');
		const rule = page.locator('.narrowed', { hasText: stage.phone ? 'approved 8 times in 6 sessions' : 'approved 4 times in 3 sessions' });
		await rule.getByText(/when: '!\(resource in \[/).waitFor();
		await rule.getByText(`- allow: ['builder(${command})']`).waitFor();
		await stage.check(page);
	},
});
