// What follows from a request for later ones.

import assert from 'node:assert/strict';
import { flows } from '../stage/browser.js';

const call = (command) => ({ name: 'terminal', arguments: { command } });

flows('past', {
	async 'similar decisions are shown when they are asked for'(stage) {
		const pod = `web-2-${stage.size}`; // the other size has denied its own at the end
		stage.held.begin([call('kubectl delete pod web-1')]);
		const [before] = await stage.asked('terminal');
		await stage.held.api('POST', `/api/v1/requests/${before.id}/decision`, { action: 'deny', note: 'Not on a Friday.' });
		stage.held.begin([call(`kubectl delete pod ${pod}`)], { session: 'another' });
		const page = await stage.open();
		await stage.look(page, pod);
		const past = page.locator('details', { hasText: 'Similar past decisions' });
		await past.locator('summary').click();
		await past.locator('.entry', { hasText: 'web-1' }).first().waitFor();
		await past.getByText('Not on a Friday.').first().waitFor();
		assert.equal(await past.locator('.entry', { hasText: pod }).count(), 0);
		await stage.check(page);
		await stage.shot(page, 'similar');
	},

	async 'a suggestion is a line for the policy, which can be copied'(stage) {
		stage.held.begin([call('kubectl get pods')]);
		const page = await stage.open();
		await stage.look(page, 'kubectl get pods');
		const rule = page.locator('details', { hasText: 'Make this a rule' });
		await rule.locator('summary').click();
		await rule.locator('pre', { hasText: '- allow: ["terminal(kubectl get pods)"]' }).waitFor();
		const first = rule.getByRole('checkbox').first();
		await first.focus();
		await page.keyboard.press('Space');
		await rule.locator('pre', { hasText: '- allow: []' }).waitFor();
		await page.keyboard.press('Space');
		await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
		await rule.getByRole('button', { name: 'Copy' }).click();
		await page.getByText('Copied.').waitFor();
		assert.equal(await page.evaluate(() => navigator.clipboard.readText()), '- allow: ["terminal(kubectl get pods)"]');
		await stage.check(page);
		await stage.shot(page, 'rule');
	},
});
