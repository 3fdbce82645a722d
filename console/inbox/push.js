// Notifications while no page is open: the service worker, and this browser's
// subscription with its push service, which is sent to heldcall.

import { getPush, subscribe, unsubscribe } from './api.js';

const WORKER = '/inbox/sw.js';
const KEY = 'push'; // under which the id of this browser's subscription is kept

/** Reports whether this browser can show notifications while no page is open. */
export function canPush() {
	return 'serviceWorker' in navigator && 'PushManager' in window;
}

/** Reports whether this browser has a subscription. */
export function isOn() {
	return canPush() && localStorage.getItem(KEY) !== null;
}

/** Starts the worker, and has it keep the files of the page for when heldcall cannot be reached. */
export async function startWorker() {
	if (!('serviceWorker' in navigator)) return;
	navigator.serviceWorker.addEventListener('message', (event) => {
		if (/^#\/(?:requests\/[\w-]+)?$/.test(event.data?.open)) location.hash = event.data.open;
	});
	try {
		const { trustedTypes } = /** @type {any} */ (window);
		const address = trustedTypes ? trustedTypes.createPolicy('worker', { createScriptURL: () => WORKER }).createScriptURL('') : WORKER;
		await navigator.serviceWorker.register(address, { scope: '/' });
		const { active } = await navigator.serviceWorker.ready;
		active?.postMessage({ keep: files() });
	} catch {
		// Without the worker the page works as long as it is open.
	}
}

/** The files that make up the page. */
function files() {
	const loaded = performance.getEntriesByType('resource').map(({ name }) => new URL(name)).filter(({ origin }) => origin === location.origin);
	return [...new Set(loaded.map(({ pathname }) => pathname).filter((path) => path.startsWith('/inbox/')))];
}

/** Subscribes this browser. It fails if the browser or heldcall refuses. */
export async function turnOn() {
	const registration = await navigator.serviceWorker.ready;
	const { public_key: key } = await getPush();
	const applicationServerKey = bytes(key);
	let subscription = await registration.pushManager.getSubscription();
	if (subscription && !isFor(subscription, applicationServerKey)) {
		await subscription.unsubscribe();
		subscription = null;
	}
	subscription ??= await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
	const { id } = await subscribe(subscription.toJSON());
	localStorage.setItem(KEY, id);
}

/** Ends the subscription of this browser, if it has one. */
export async function turnOff() {
	const id = localStorage.getItem(KEY);
	if (!canPush() || id === null) return;
	localStorage.removeItem(KEY);
	const registration = await navigator.serviceWorker.ready;
	const subscription = await registration.pushManager.getSubscription();
	await Promise.all([unsubscribe(id), subscription?.unsubscribe()]);
}

/** Sends the subscription to heldcall again, which may have lost it, or another person has signed in. */
export async function renew() {
	if (isOn()) await turnOn();
}

/** @param {PushSubscription} subscription @param {Uint8Array} key */
function isFor(subscription, key) {
	const has = new Uint8Array(subscription.options.applicationServerKey ?? new ArrayBuffer(0));
	return has.length === key.length && has.every((byte, i) => byte === key[i]);
}

/** @param {string} text base64url */
function bytes(text) {
	return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
}
