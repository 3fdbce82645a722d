// The service worker: tells of requests while no page is open, and shows the pages
// of the inbox, without what they show, while heldcall cannot be reached.

const SHELL = 'inbox';
const PAGE = '/inbox/index.html';

const RISKS = { low: 'low risk', medium: 'medium risk', high: 'high risk', critical: 'critical risk' };
const ENDS = { approved: 'approved', denied: 'denied', answered: 'answered', expired: 'nobody answered', cancelled: 'cancelled', ended: 'ended' };

self.addEventListener('install', (event) => {
	// Where browsers can, what is no page or file goes past this worker.
	if ('addRoutes' in event) event.addRoutes({ condition: { urlPattern: new URLPattern({ pathname: '/api/*' }) }, source: 'network' }).catch(() => {});
	event.waitUntil(self.skipWaiting());
});

self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

/** A page says which files make it up. */
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

/** heldcall's own answer comes first, always: what is kept is for when there is none. */
self.addEventListener('fetch', (event) => {
	const { pathname, origin } = new URL(event.request.url);
	if (event.request.method !== 'GET' || origin !== self.location.origin) return;
	const path = event.request.mode === 'navigate' && pathname === '/' ? PAGE : pathname;
	if (path.startsWith('/inbox/')) event.respondWith(fetch(event.request).catch(async (error) => (await (await caches.open(SHELL)).match(path)) ?? Promise.reject(error)));
});

self.addEventListener('push', (event) => event.waitUntil(tell(event.data)));

/** Shows what heldcall says; a page's own notification of the same gives way. */
async function tell(data) {
	const told = data ? data.json() : {};
	const tag = /^[\w-]{1,64}$/.test(told.id) ? told.id : 'heldcall';
	const shown = await self.registration.getNotifications({ tag });
	const what = told.count > 1 ? `${told.count} calls` : told.tool || 'A call';
	const options = { tag, icon: '/inbox/icon.svg', data: { id: tag }, renotify: false };
	if (told.ended) {
		const by = told.by ? ` by ${told.by}` : '';
		await self.registration.showNotification(`${what}: ${Object.hasOwn(ENDS, told.ended) ? ENDS[told.ended] : 'ended'}${by}`, { ...options, silent: true });
		if (shown.length === 0) for (const late of await self.registration.getNotifications({ tag })) late.close();
		return;
	}
	const body = [[told.agent, Object.hasOwn(RISKS, told.risk) && RISKS[told.risk]].filter(Boolean).join(' · '), told.preview].filter(Boolean).join('\n');
	await self.registration.showNotification(`${what} ${told.count > 1 ? 'wait' : 'waits'} for an answer`, { ...options, body });
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
