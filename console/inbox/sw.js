// The service worker: shows notifications while no page is open, and serves the files
// of the inbox, without data, while heldcall cannot be reached.

const SHELL = 'inbox';
const PAGE = '/inbox/index.html';

const RISKS = { low: 'low risk', medium: 'medium risk', high: 'high risk', critical: 'critical risk' };
/** What an agent does that asks a question of this kind, as approvals.WordsFor has it. */
const ASKS = { clarification: 'asks a question', decision: 'asks for a decision', env_var: 'asks for values', combined: 'asks several questions' };
/** Several requests of this kind; of other kinds they are requests. */
const MANY = { permission: 'calls', result: 'results' };
const ENDS = { approved: 'approved', denied: 'denied', answered: 'answered', expired: 'expired', cancelled: 'cancelled', ended: 'ended' };

self.addEventListener('install', (event) => {
	// Where browsers support it, requests of the API bypass this worker.
	if ('addRoutes' in event) event.addRoutes({ condition: { urlPattern: new URLPattern({ pathname: '/api/*' }) }, source: 'network' }).catch(() => {});
	event.waitUntil(self.skipWaiting());
});

self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

/** A page sends the list of its files. */
self.addEventListener('message', (event) => {
	const { keep } = event.data ?? {};
	if (Array.isArray(keep)) event.waitUntil(keepFiles([PAGE, ...keep]));
});

async function keepFiles(paths) {
	const shell = await caches.open(SHELL);
	const wanted = new Set(paths.filter((path) => typeof path === 'string' && path.startsWith('/inbox/')));
	await shell.addAll([...wanted]);
	for (const { url } of await shell.keys()) if (!wanted.has(new URL(url).pathname)) await shell.delete(url);
}

/** The server's answer always comes first; kept files are used if there is none. */
self.addEventListener('fetch', (event) => {
	const { pathname, origin } = new URL(event.request.url);
	if (event.request.method !== 'GET' || origin !== self.location.origin) return;
	const path = event.request.mode === 'navigate' && pathname === '/' ? PAGE : pathname;
	if (path.startsWith('/inbox/')) event.respondWith(fetch(event.request).catch(async (error) => (await (await caches.open(SHELL)).match(path)) ?? Promise.reject(error)));
});

self.addEventListener('push', (event) => event.waitUntil(notify(event.data)));

/** Shows a message of heldcall in place of the page's own notification of the same request. */
async function notify(data) {
	const message = data ? data.json() : {};
	const tag = /^[\w-]{1,64}$/.test(message.id) ? message.id : 'heldcall';
	const shown = await self.registration.getNotifications({ tag });
	const asks = Object.hasOwn(ASKS, message.kind) && message.count === 1 ? ASKS[message.kind] : '';
	const what = subject(message, asks);
	const options = { tag, icon: '/inbox/icon.svg', data: { id: tag }, renotify: false };
	if (message.ended) {
		const by = message.by ? ` by ${message.by}` : '';
		await self.registration.showNotification(`${what}: ${Object.hasOwn(ENDS, message.ended) ? ENDS[message.ended] : 'ended'}${by}`, { ...options, silent: true });
		if (shown.length === 0) for (const late of await self.registration.getNotifications({ tag })) late.close();
		return;
	}
	const body = [message.heading, [!asks && message.agent, Object.hasOwn(RISKS, message.risk) && RISKS[message.risk]].filter(Boolean).join(' · '), message.preview].filter(Boolean).join('\n');
	const title = asks ? `${message.agent || 'An agent'} ${asks}` : `${what} ${message.count > 1 ? 'wait' : 'waits'} for an answer`;
	await self.registration.showNotification(title, { ...options, body });
}

/** What a message is about. */
function subject({ count, kind, tool, agent }, asks) {
	if (count > 1) return `${count} ${Object.hasOwn(MANY, kind) ? MANY[kind] : 'requests'}`;
	if (asks) return `Question of ${agent || 'an agent'}`;
	return kind === 'result' ? `Result of ${tool || 'a call'}` : tool || 'A call';
}

self.addEventListener('notificationclick', (event) => {
	event.notification.close();
	event.waitUntil(open(event.notification.data?.id ?? ''));
});

/** Opens a request, in a page that is there already if there is one. */
async function open(id) {
	const address = id && id !== 'heldcall' ? `/#/requests/${id}` : '/';
	const [page] = await self.clients.matchAll({ type: 'window' });
	if (!page) return self.clients.openWindow(address);
	page.postMessage({ open: address.slice(1) });
	return page.focus();
}
