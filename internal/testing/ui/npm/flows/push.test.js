import assert from 'node:assert/strict';
import { around, push } from '../stage/calls.js';
import { flows } from '../stage/browser.js';
import { startPushService, stubPush } from '../stage/pushservice.js';

/** What notifications the worker of a page shows. */
const shown = (page) => page.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications()).map(({ title, body, tag }) => ({ title, body, tag })));

/** Hands the worker a message, as the browser does when its push service has one. */
async function deliver(page, payload) {
	const session = await page.context().newCDPSession(page);
	const registered = new Promise((resolve) => session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => registrations[0] && resolve(registrations[0])));
	await session.send('ServiceWorker.enable');
	const { registrationId, scopeURL } = await registered;
	await session.send('ServiceWorker.deliverPushMessage', { origin: new URL(scopeURL).origin, registrationId, data: payload });
	await session.detach();
}

/** Hands the worker a message, again where the browser has lost it, until the page sees something. */
async function tell(page, payload, seen) {
	for (let tries = 0; ; tries++) {
		if (tries % 100 === 0) await deliver(page, payload);
		const all = await shown(page);
		if (seen(all)) return all;
		await page.waitForTimeout(50);
	}
}

/** What the worker of a page is about, and which files it has, for the error of a page that does not open. */
async function workerState(page) {
	const states = page.context().serviceWorkers().map((worker) => worker.evaluate(async () => {
		const kept = await caches.open('inbox');
		const files = (await kept.keys()).map(({ url }) => new URL(url).pathname);
		const fetched = await fetch('/inbox/index.html').then(({ status }) => status, String);
		return { active: self.registration.active?.state, files, page: (await kept.match('/inbox/index.html'))?.status, fetched };
	}).catch(String));
	return JSON.stringify(await Promise.all(states));
}

/** Has the browser keep a file of an older version, before the inbox is opened. */
async function keepOld(context, origin) {
	const page = await context.newPage();
	await page.goto(`${origin}/inbox/icon.svg`); // a page without scripts, thus without the worker
	await page.evaluate(async () => (await caches.open('inbox')).put('/inbox/old.js', new Response('')));
	await page.close();
}

flows('in the browser', {
	async 'it can be installed'(stage) {
		const page = await stage.open('/', { worker: true });
		const session = await page.context().newCDPSession(page);
		const { errors, data } = await session.send('Page.getAppManifest');
		assert.deepEqual(errors, []);
		const manifest = JSON.parse(data);
		assert.deepEqual([manifest.start_url, manifest.display], ['/', 'standalone']);
		for (const { src, type } of manifest.icons) {
			const icon = await fetch(stage.held.console + src);
			assert.deepEqual([icon.status, icon.headers.get('content-type')], [200, type], src);
		}
		const { installabilityErrors } = await session.send('Page.getInstallabilityErrors');
		assert.deepEqual(installabilityErrors.filter(({ errorId }) => errorId !== 'in-incognito'), []);
	},

	async 'without heldcall the page opens, and says that it knows nothing'(stage) {
		stage.held.begin([push], around);
		const page = await stage.open('/', { worker: true, before: (context) => keepOld(context, stage.held.console) });
		const keepsAll = () => page.evaluate(async () => { // the worker has removed the files of an older version, which it does last
			const files = new Set(performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname).filter((path) => /^\/inbox\/.*\.(js|css)$/.test(path)));
			const kept = new Set((await (await caches.open('inbox')).keys()).map(({ url }) => new URL(url).pathname));
			const { active } = await navigator.serviceWorker.ready;
			return active?.state === 'activated' && kept.size > 30 && !kept.has('/inbox/old.js') && files.add('/inbox/index.html').isSubsetOf(kept);
		});
		while (!await keepsAll()) await page.waitForTimeout(50); // waitForFunction takes a promise for true
		await stage.held.halt();
		try {
			await page.reload();
		} catch (cause) {
			throw new Error(`without heldcall the page does not open; its worker: ${await workerState(page)}`, { cause });
		}
		await page.getByRole('alert').filter({ hasText: 'Can’t reach heldcall' }).waitFor();
		assert.equal(await page.locator('.row').count(), 0, 'nothing that may be over is shown');
		await stage.check(page);
		await stage.shot(page, 'unreachable');
		await stage.held.start();
		await page.locator('#connection.live').waitFor({ state: 'attached' });
		await page.getByRole('alert').waitFor({ state: 'hidden' });
	},

	async 'a closed inbox is told by push, and of the end too'(stage) {
		const service = await startPushService();
		try {
			const page = await stage.open('/', { worker: true, before: async (context) => {
				await context.grantPermissions(['notifications'], { origin: stage.held.console });
				await context.addInitScript(stubPush, service.subscription);
			} });
			const bell = page.getByRole('button', { name: 'Notify me' });
			assert.equal(await bell.getAttribute('aria-pressed'), 'false');
			await bell.click();
			await page.getByText('Notifications are on, even when this page is closed.').waitFor();
			await stage.check(page);
			assert.equal(await bell.getAttribute('aria-pressed'), 'true');
			await page.reload();
			await page.locator('#connection.live').waitFor({ state: 'attached' });
			assert.equal(await bell.getAttribute('aria-pressed'), 'true');

			stage.held.begin([{ name: 'bash', arguments: { command: 'echo <b>opensesame</b>' } }], around);
			const told = await service.next();
			assert.ok(!told.payload.includes('opensesame'), told.payload);
			const [request] = await stage.held.pending();
			assert.equal(told.topic, request.id);
			const [notification] = await tell(page, told.payload, (all) => all.length === 1);
			assert.deepEqual(notification, { title: 'bash waits for an answer', body: 'Has unknown effects in 1 call\nclaude-code · medium risk', tag: request.id });

			await page.goto(`${stage.held.console}/#/history`);
			const [worker] = page.context().serviceWorkers();
			await worker.evaluate(async () => {
				const [notification] = await self.registration.getNotifications();
				self.dispatchEvent(new NotificationEvent('notificationclick', { notification }));
			});
			await page.getByRole('heading', { name: 'claude-code wants to call bash' }).or(page.getByRole('heading', { name: 'claude-code wants to run a command' })).waitFor();
			while ((await shown(page)).length > 0) await page.waitForTimeout(50); // it is closed by the press

			await tell(page, told.payload, (all) => all.length === 1);
			await page.locator('button.approve').click();
			await page.getByText('Approved: bash').waitFor();
			const ended = await service.next();
			await tell(page, ended.payload, (all) => all.length === 1 && all[0].title === 'bash: approved by local');

			await bell.click();
			await page.waitForFunction(() => localStorage.getItem('push') === null);
			while (await page.evaluate(async () => (await (await fetch('/api/v1/push')).json()).browsers.length) > 0) await page.waitForTimeout(50);
		} finally {
			service.stop();
		}
	},

	async 'the page notifies with what calls do, without their arguments'(stage) {
		const page = await stage.open('/', { before: (context) => context.addInitScript(() => {
			localStorage.setItem('notify', 'on');
			globalThis.told = [];
			globalThis.Notification = class {
				static permission = 'granted';
				constructor(title, { body }) { globalThis.told.push({ title, body }); }
			};
			Object.defineProperty(document, 'hidden', { get: () => true });
		}) });
		const told = async (command) => {
			stage.held.begin([{ name: 'terminal', arguments: { command } }], { run: `${command} ${stage.size}` });
			await page.waitForFunction(() => globalThis.told.length > 0);
			return page.evaluate(() => globalThis.told.splice(0));
		};
		assert.deepEqual(await told('rm -rf /srv/data'), [{ title: 'terminal waits for an answer, critical risk', body: 'Destroys /srv/data (cannot be undone)' }]);
		const [{ body }] = await told('rm -rf /srv/token-of-ann');
		assert.equal(body, 'Destroys data in 1 call (cannot be undone)');
	},

	async 'what is pushed is a text, whatever it says'(stage) {
		const page = await stage.open('/', { worker: true, before: (context) => context.grantPermissions(['notifications'], { origin: stage.held.console }) });
		await page.evaluate(() => navigator.serviceWorker.ready);
		const [notification] = await tell(page, JSON.stringify({ id: '../../evil', count: 1, tool: '<img src=x onerror=alert(1)>', agent: 'a', risk: 'constructor' }), (all) => all.length === 1);
		assert.deepEqual(notification, { title: '<img src=x onerror=alert(1)> waits for an answer', body: 'a', tag: 'heldcall' });
		const all = await tell(page, JSON.stringify({ id: '01ABC', count: 3, kind: 'permission', tool: 'bash', agent: 'bot', risk: 'critical', heading: 'Edits 3 files', preview: 'rm' }), (now) => now.length === 2);
		assert.ok(all.some(({ title, body }) => title === '3 calls wait for an answer' && body === 'Edits 3 files\nbot · critical risk\nrm'), JSON.stringify(all));
		for (const [id, message, want] of [
			['01ASK', { count: 1, kind: 'decision', tool: 'request_decision' }, { title: 'bot asks for a decision', body: 'low risk' }],
			['01RES', { count: 1, kind: 'result', tool: 'bash' }, { title: 'Result of bash waits for an answer', body: 'bot · low risk' }],
			['01MIX', { count: 2, kind: '', tool: 'bash' }, { title: '2 requests wait for an answer', body: 'bot · low risk' }],
		]) {
			const told = await tell(page, JSON.stringify({ id, agent: 'bot', risk: 'low', ...message }), (now) => now.some(({ tag }) => tag === id));
			assert.deepEqual(told.find(({ tag }) => tag === id), { ...want, tag: id });
			await tell(page, JSON.stringify({ id, agent: 'bot', ended: 'answered', by: 'ann', ...message }), (now) => now.some(({ tag, title }) => tag === id && title.endsWith('answered by ann') && (id !== '01ASK' || title.startsWith('Question of bot:'))));
			await page.evaluate(async (tag) => { const { ready } = navigator.serviceWorker; for (const one of await (await ready).getNotifications({ tag })) one.close(); }, id);
		}
		await deliver(page, JSON.stringify({ id: '01XYZ', count: 1, tool: 'bash', ended: 'expired' })); // of what was never shown the end is not either
		await tell(page, JSON.stringify({ id: '01END', count: 1, tool: 'bash' }), (now) => now.length === 3 && now.some(({ tag }) => tag === '01END') && now.every(({ tag }) => tag !== '01XYZ'));
	},
}, { push: true, console: '\n  push: {private_services: true}' });
