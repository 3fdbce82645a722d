import assert from 'node:assert/strict';
import { around } from '../stage/calls.js';
import { flows } from '../stage/browser.js';

const check = (name) => ({ name: 'bash', arguments: { command: `go test ./${name}` } });
const script = (name) => ({ name: 'bash', arguments: { command: `npm run ${name}` } });

flows('grants', {
	async 'a call is allowed from now on, with a preview'(stage) {
		const session = { ...around, session: `grants-${stage.size}` };
		const answer = stage.held.hold([check('lint')], session);
		const page = await stage.open();
		await stage.look(page, 'bash');
		await stage.pressMore(page, 'Always allow…');
		const form = page.locator('.call form');
		await form.getByText(/It would have covered [1-9]/).waitFor();
		await form.getByText('bash(go test:./**)', { exact: true }).click();
		await form.getByLabel('Applies to').selectOption('session');
		await form.getByLabel('For how long').selectOption('1 hour');
		await stage.check(page);
		await stage.shot(page, 'always');
		await form.getByRole('button', { name: 'Approve and always allow' }).click();
		await page.getByText('Approved and always allowed: bash').waitFor();
		assert.equal((await answer).choices[0].message.tool_calls.length, 1);
		const again = await stage.held.hold([check('test')], session);
		assert.equal(again.choices[0].message.tool_calls.length, 1, 'nobody was asked');

		await page.getByRole('link', { name: 'Grants' }).click();
		const grant = page.locator('.grant', { hasText: session.session });
		await grant.getByText('bash(go test:./**)').waitFor();
		await stage.check(page);
		await stage.shot(page, 'grants');
		await grant.getByRole('button', { name: 'Revoke' }).click();
		await page.getByText('Revoked.').waitFor();
		const asked = stage.held.hold([check('build')], session);
		await page.getByRole('link', { name: 'Inbox' }).click();
		await stage.look(page, 'go test ./build');
		await page.locator('button.approve').click();
		await asked;
	},

	async 'a template is applied as it is, with its name and its time'(stage) {
		const session = { ...around, session: `template-${stage.size}` };
		const answer = stage.held.hold([script('deploy')], session);
		const page = await stage.open();
		await stage.look(page, 'bash');
		await stage.pressMore(page, 'Always allow…');
		const form = page.locator('.call form');
		await form.getByRole('button', { name: 'Scripts of the project' }).click();
		assert.equal(await form.getByLabel('Applies to').inputValue(), 'session');
		assert.equal(await form.getByLabel('For how long').inputValue(), String(90 * 60_000));
		assert.equal(await form.getByLabel('Other patterns, one per line').inputValue(), 'bash(npm run *)');
		await form.getByText(/It would have covered [1-9]/).waitFor();
		await stage.check(page);
		await stage.shot(page, 'template');
		const before = Date.now();
		await form.getByRole('button', { name: 'Approve and always allow' }).click();
		assert.equal((await answer).choices[0].message.tool_calls.length, 1);
		const { items } = await stage.held.api('GET', `/api/v1/grants?session_id=${session.session}`);
		const [grant] = items.filter(({ session_id: id }) => id === session.session);
		assert.deepEqual([grant.template, grant.scope, grant.patterns], ['scripts', 'session', ['bash(npm run *)']]);
		const lasts = Date.parse(grant.expires_at) - before;
		assert.ok(Math.abs(lasts - 90 * 60_000) < 30_000, `it lasts ${lasts} ms`);
	},

	async 'a template of a scope that the rule does not permit is not offered'(stage) {
		stage.held.begin([{ name: 'one_conversation', arguments: { n: 1 } }], around);
		const page = await stage.open();
		await stage.look(page, 'one_conversation');
		await stage.pressMore(page, 'Always allow…');
		const form = page.locator('.call form');
		await form.getByText('Everybody’s scripts: not for this call').waitFor();
		assert.equal(await form.getByRole('button', { name: 'Everybody’s scripts' }).count(), 0);
		assert.equal(await form.getByRole('button', { name: 'Scripts of the project' }).count(), 1);
	},

	async 'a typed pattern is refused where it is too wide'(stage) {
		stage.held.begin([script('lint')], around);
		const page = await stage.open();
		await stage.look(page, 'bash');
		await stage.pressMore(page, 'Always allow…');
		const form = page.locator('.call form');
		for (const box of await form.getByRole('checkbox').all()) await box.uncheck();
		assert.ok(await form.getByRole('button', { name: 'Approve and always allow' }).isDisabled());
		await form.getByLabel('Other patterns, one per line').fill('bash(*)');
		await form.locator('.error').waitFor();
		await form.getByRole('button', { name: 'Approve and always allow' }).click();
		await page.locator('.call form .error').first().waitFor();
		assert.equal((await stage.held.pending()).length, 1);
	},

	async 'a grant is written by hand, with a preview and a template'(stage) {
		const session = { ...around, session: `by-hand-${stage.size}` };
		const seen = stage.held.hold([script('seen')], session);
		const page = await stage.open();
		await stage.look(page, 'npm run seen');
		await page.locator('button.approve').click();
		await seen;
		await page.getByRole('link', { name: 'Grants' }).click();
		await page.getByRole('link', { name: 'New grant' }).click();
		await page.getByRole('heading', { name: 'New grant' }).waitFor();
		const allow = page.getByRole('button', { name: 'Allow from now on' });
		await allow.waitFor();
		assert.ok(await allow.isDisabled(), 'it has no pattern yet');
		assert.equal(await page.getByLabel('Tenant').inputValue(), 'acme', 'as recent requests have it');
		await page.getByLabel('Applies to').selectOption('session');
		await page.getByLabel('User').fill('ann');
		await page.getByLabel('Agent').fill('claude-code');
		await page.getByLabel('Conversation').fill(session.session);
		await page.getByLabel('Matching').fill('bash(*');
		await page.locator('.grant-form .error').waitFor();
		await page.getByLabel('Matching').fill('bash(npm run *)\nbash(make *)');
		await page.getByText('It would have covered 1 of the last').waitFor();
		await page.locator('.covered', { hasText: 'npm run seen' }).waitFor();
		await page.getByLabel('For how long').selectOption('1 day');
		await page.getByLabel('Note').fill('For <b>the</b> release.');
		await stage.check(page);
		await stage.shot(page, 'new-grant');
		await allow.click();
		const grant = page.locator('.grant', { hasText: session.session });
		await grant.getByText('For <b>the</b> release.').waitFor();
		assert.equal((await stage.held.hold([script('by-hand')], session)).choices[0].message.tool_calls.length, 1, 'nobody was asked');

		await page.goto(`${stage.held.console}/#/grants/new`);
		await page.getByRole('button', { name: 'Scripts of the project' }).click();
		await page.getByLabel('Conversation').fill('another');
		await page.getByRole('button', { name: 'Allow from now on' }).click();
		await page.locator('.grant', { hasText: 'another' }).waitFor();
		const { items } = await stage.held.api('GET', '/api/v1/grants?session_id=another');
		assert.equal(items[0].template, 'scripts');
		for (const { id } of items) await stage.held.api('DELETE', `/api/v1/grants/${id}`);
	},

	async 'a grant by hand that policy does not take is told why'(stage) {
		const page = await stage.open('/#/grants/new');
		await page.getByRole('radio', { name: 'deny' }).check();
		await page.getByLabel('Applies to').selectOption('tenant');
		await page.getByLabel('Tenant').fill('');
		await page.getByLabel('Matching').fill('bash(git push *)');
		await page.getByRole('button', { name: 'Deny from now on' }).click();
		await page.getByRole('alert').filter({ hasText: 'tenant is missing' }).waitFor();
		await page.getByRole('button', { name: 'Cancel' }).click();
		await page.getByRole('heading', { name: 'Grants' }).waitFor();
	},

	async 'a call is denied from now on'(stage) {
		const session = { ...around, session: `denied-${stage.size}` };
		const answer = stage.held.hold([{ name: 'bash', arguments: { command: 'git push --force' } }], session);
		const page = await stage.open();
		await stage.look(page, 'bash');
		if (stage.phone) await stage.pressMore(page, 'Always allow…');
		else await page.keyboard.press('r');
		await page.getByLabel('deny').check();
		await page.getByLabel('Note').fill('Never by force.');
		await page.getByRole('button', { name: 'Deny and always deny' }).click();
		await page.getByText('Denied and always denied: bash · git push --force').waitFor();
		assert.match((await answer).choices[0].message.content, /Understood/);
	},
}, { config: `
grants:
  templates:
    - {name: scripts, title: Scripts of the project, action: allow, patterns: ["bash(npm run *)"], scope: session, expires: 90m}
    - {name: everybody, title: Everybody’s scripts, action: allow, patterns: ["bash(npm test)"], scope: tenant}
` });
