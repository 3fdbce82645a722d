import assert from 'node:assert/strict';
import { around, push } from '../stage/calls.js';
import { flows } from '../stage/browser.js';

const { PROVIDER, PROVIDER_CONSOLE } = process.env;
const [, port] = PROVIDER_CONSOLE.split(':');

const organization = `
  url: http://${PROVIDER_CONSOLE}
  oidc: {issuer: "${PROVIDER}", client_id: heldcall, client_secret: the-client-has-this, scopes: [openid, email], email_domains: [corp.example], role: reviewer}
  reviewers:
    - {name: root, token_sha256: 2df3941b31d5e48c21a68fd21b70b4c33c24e143f90fbc37499c97e4d0997a35, role: admin}
`;

/** Goes to the provider and gives a name there. */
async function goAs(page, name) {
	await page.getByRole('button', { name: 'Sign in with your organization' }).click();
	await page.waitForURL(`${PROVIDER}/**`);
	await page.getByLabel('Name').fill(name);
	await page.getByRole('button', { name: 'Sign in' }).click();
	await page.waitForURL(`http://${PROVIDER_CONSOLE}/**`);
}

flows('organization', {
	async 'who signs in there decides here, where they were'(stage) {
		const answer = stage.held.hold([push], around);
		const page = await stage.open('/#/runs', { outside: true });
		await page.getByRole('button', { name: 'Sign in with your organization' }).waitFor();
		await stage.check(page);
		await stage.shot(page, 'sign-in-organization');
		await goAs(page, 'ann');
		await page.locator('#me', { hasText: 'ann@corp.example' }).waitFor();
		assert.equal(page.url(), `http://${PROVIDER_CONSOLE}/#/runs`);
		await page.getByRole('link', { name: 'Inbox' }).click();
		await stage.look(page, 'bash');
		await page.locator('button.approve').click();
		assert.equal((await answer).choices[0].message.tool_calls.length, 1);
		await page.reload();
		await page.locator('#me', { hasText: 'ann@corp.example' }).waitFor();
		await page.getByRole('button', { name: 'Sign out' }).click();
		await page.getByRole('heading', { name: 'Sign in' }).waitFor();
	},

	async 'who may not come in is told why'(stage) {
		const page = await stage.open('/', { outside: true });
		await goAs(page, 'eve');
		await page.getByText('eve@other.example has no verified e-mail address of a domain that may sign in here').waitFor();
		assert.equal(page.url(), `http://${PROVIDER_CONSOLE}/`);
		assert.equal(await page.evaluate(() => sessionStorage.getItem('sign_in')), null);
	},

	async 'whom the provider refuses is told'(stage) {
		const page = await stage.open('/', { outside: true });
		await goAs(page, 'nobody');
		await page.getByText('The provider did not sign you in (access_denied).').waitFor();
	},

	async 'an answer that this tab did not ask for is worth nothing'(stage) {
		const page = await stage.open('/auth/oidc/callback?code=stolen&state=another&error_description=Call+this+number', { outside: true });
		await page.getByRole('heading', { name: 'Sign in' }).waitFor();
		assert.equal(page.url(), `http://${PROVIDER_CONSOLE}/`);
		assert.equal(await page.locator('.error').count(), 0);
		assert.equal(await page.getByText('Call this number').count(), 0);
	},
}, { console: organization, port, token: 'token-of-root-which-is-long-enough' });
