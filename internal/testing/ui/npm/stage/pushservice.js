// A push service on loopback, and the browser that has subscribed with it, which
// reads what is sent as RFC 8291 has it.

import { createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';

/** Starts a push service with one browser. */
export async function startPushService() {
	const browser = createECDH('prime256v1');
	const key = browser.generateKeys();
	const secret = randomBytes(16);
	const came = [];
	let wake = () => {};
	const server = createServer(async (request, response) => {
		const pieces = [];
		for await (const piece of request) pieces.push(piece);
		const body = Buffer.concat(pieces);
		came.push({ payload: decrypt(body), topic: request.headers.topic, urgency: request.headers.urgency });
		response.writeHead(201).end();
		wake();
	});
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

	/** @param {Buffer} body */
	const decrypt = (body) => {
		const [salt, sender, sealed] = [body.subarray(0, 16), body.subarray(21, 86), body.subarray(86)];
		const info = Buffer.concat([Buffer.from('WebPush: info\0'), key, sender]);
		const material = Buffer.from(hkdfSync('sha256', browser.computeSecret(sender), secret, info, 32));
		const part = (name, size) => Buffer.from(hkdfSync('sha256', material, salt, Buffer.from(`Content-Encoding: ${name}\0`), size));
		const decipher = createDecipheriv('aes-128-gcm', part('aes128gcm', 16), part('nonce', 12));
		decipher.setAuthTag(sealed.subarray(-16));
		const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
		return padded.subarray(0, padded.lastIndexOf(2)).toString();
	};

	return {
		subscription: {
			endpoint: `http://127.0.0.1:${server.address().port}/push/secret`, expirationTime: null,
			keys: { p256dh: key.toString('base64url'), auth: secret.toString('base64url') },
		},
		came,
		/** The next message. */
		async next() {
			while (came.length === 0) await new Promise((resolve) => { wake = resolve; });
			return came.shift();
		},
		stop() {
			server.close();
			server.closeAllConnections();
		},
	};
}

/** Has pages subscribe with that service: the browser's own is not reached from here. */
export function stubPush(subscription) {
	const stub = (key) => ({ ...subscription, options: { applicationServerKey: key }, toJSON: () => subscription, unsubscribe: async () => { sessionStorage.removeItem('stub'); return true; } });
	const kept = () => Uint8Array.from(JSON.parse(sessionStorage.getItem('stub') ?? '[]')).buffer;
	PushManager.prototype.getSubscription = async () => (sessionStorage.getItem('stub') ? stub(kept()) : null);
	PushManager.prototype.subscribe = async ({ applicationServerKey, userVisibleOnly }) => {
		if (!userVisibleOnly) throw new Error('a subscription that shows nothing');
		sessionStorage.setItem('stub', JSON.stringify([...applicationServerKey]));
		return stub(applicationServerKey.buffer);
	};
}
