import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { around, push } from '../stage/calls.js';
import { flows } from '../stage/browser.js';
import { signIn, tokenOf, withReviewers } from '../stage/reviewers.js';

flows('signing in', {
	async 'who is not signed in sees nothing, and a wrong token is told'(stage) {
		const page = await stage.open('/', { outside: true });
		await page.getByRole('heading', { name: 'Sign in' }).waitFor();
		await stage.check(page);
		await stage.shot(page, 'sign-in');
		await page.getByLabel('Token').fill('nonsense');
		await page.getByRole('button', { name: 'Sign in' }).click();
		await page.locator('.door .error').waitFor();
		await signIn(page, 'ann');
		await page.locator('#me', { hasText: 'ann' }).waitFor();
		await page.getByRole('button', { name: 'Sign out' }).click();
		await page.getByRole('heading', { name: 'Sign in' }).waitFor();
	},

	async 'a link with a token signs in, and the token leaves the address'(stage) {
		const page = await stage.open(`/#token=${tokenOf('ann')}`, { outside: true });
		await page.locator('#me', { hasText: 'ann' }).waitFor();
		assert.equal(await page.evaluate(() => location.hash), '#/');
		await page.getByRole('button', { name: 'Sign out' }).click();
		await page.getByRole('heading', { name: 'Sign in' }).waitFor();
		await page.goto(`${stage.held.console}/#token=nonsense`);
		await page.locator('.door .error').waitFor();
		assert.doesNotMatch(page.url(), /nonsense/);
		await page.goto(`${stage.held.console}/#token=${tokenOf('dan')}`);
		await page.locator('#me', { hasText: 'dan' }).waitFor();
	},

	async 'another port of the host gets the cookie, and nothing by it'(stage) {
		let cookie = '';
		const neighbour = createServer((request, response) => {
			cookie = request.headers.cookie ?? '';
			response.end();
		});
		await new Promise((resolve) => neighbour.listen(0, '127.0.0.1', resolve));
		try {
			const page = await stage.open('/', { outside: true });
			await signIn(page, 'ann');
			await page.reload();
			await page.locator('#connection.live').waitFor();
			const other = await page.context().newPage();
			await other.goto(`http://127.0.0.1:${neighbour.address().port}/`);
			assert.match(cookie, /heldcall_session=/);
			assert.equal((await fetch(`${stage.held.console}/api/v1/me`, { headers: { Cookie: cookie } })).status, 401);
			await page.getByRole('button', { name: 'Sign out' }).click();
			await page.getByRole('heading', { name: 'Sign in' }).waitFor();
			assert.equal(await page.evaluate(() => localStorage.getItem('session_key')), null);
		} finally {
			neighbour.close();
			neighbour.closeAllConnections();
		}
	},

	async 'an address that no page wrote breaks nothing'(stage) {
		const page = await stage.open('/#/runs/%', { outside: true });
		await signIn(page, 'ann');
		await page.getByRole('link', { name: 'Inbox' }).click();
		await page.locator('#inbox').waitFor();
	},

	async 'a session that ends leads back to the door'(stage) {
		stage.held.begin([push], around);
		const page = await stage.open('/', { outside: true });
		await signIn(page, 'ann');
		await page.locator('.row', { hasText: 'bash' }).waitFor();
		assert.equal(await page.locator('#door').innerHTML(), '', 'the form with the token that was typed is still on the page');
		await stage.held.halt();
		await stage.held.start();
		await page.getByRole('heading', { name: 'Sign in' }).waitFor();
		await page.locator('.row').waitFor({ state: 'detached' }); // nothing of it is left on the page
		await signIn(page, 'ann');
		await page.locator('.row', { hasText: 'bash' }).waitFor();
	},

	async 'an answer to the session before ends no session'(stage) {
		stage.held.begin([push], around);
		const page = await stage.open('/', { outside: true });
		await signIn(page, 'ann');
		await page.locator('.row', { hasText: 'bash' }).waitFor();
		let late; // the first request for the runs, which waits
		await page.route('**/api/v1/runs', (route) => { if (late) return route.continue(); late = route; });
		await Promise.all([page.waitForRequest('**/api/v1/runs'), page.locator('#nav').getByRole('link', { name: 'Runs' }).click()]);
		await stage.held.halt();
		await stage.held.start();
		await page.getByRole('heading', { name: 'Sign in' }).waitFor();
		await signIn(page, 'ann');
		const name = await page.locator('#me .name').elementHandle();
		const [answer] = await Promise.all([late.request().response(), late.continue()]);
		assert.equal(answer.status(), 401);
		await answer.finished();
		await page.locator('#nav').getByRole('link', { name: 'Inbox' }).click();
		await page.locator('.row', { hasText: 'bash' }).waitFor();
		assert.ok(await name.evaluate((element) => element.isConnected), 'the page has forgotten who is signed in');
	},
}, withReviewers);
