// Passkeys (WebAuthn): the browser asks the person at the page to use one, for what heldcall
// asks it to confirm.

import { Failure, addPasskey, challengeApproval, challengePasskeys, listPasskeys, newPasskey, revokePasskey } from './api.js';

/** @typedef {import('./types.js').Request} Request */
/** @typedef {import('./api.js').Choice} Choice */

/** Why a passkey was not used, for the person at the page. */
class NoPasskey extends Error {}

/** The message for an error of what follows. @param {unknown} error */
export function whyNot(error) {
	if (error instanceof NoPasskey || error instanceof Failure) return error.message;
	switch (error instanceof DOMException ? error.name : '') {
		case 'NotAllowedError': return 'No passkey was used: it was cancelled, took too long, or none of yours is on this device.';
		case 'InvalidStateError': return 'This device has one of your passkeys already.';
		case 'SecurityError': return 'The browser has no passkeys for this address.';
	}
	return 'The passkey could not be used. Reload the page and try again.';
}

/** The passkeys of the person at the page, which this page can use. It fails where it cannot. */
async function usable() {
	const passkeys = await listPasskeys();
	const why = hindrance(passkeys, location.hash);
	if (why) throw new NoPasskey(why);
	return passkeys.items;
}

/** Why this page cannot use passkeys, '' if it can. @param {import('./types.js').Passkeys} passkeys @param {string} page its address below the origin */
export function hindrance({ origin, unusable }, page) {
	if (unusable) return `Passkeys cannot be used here: ${unusable}.`;
	if (location.origin !== origin) return `Passkeys work at ${origin} only. Open ${origin}/${page}`;
	if (!('PublicKeyCredential' in window) || !('parseRequestOptionsFromJSON' in PublicKeyCredential)) return 'This browser has no passkeys, or is too old for them.';
	return '';
}

/** Has a passkey answer a challenge. @param {{publicKey: any}} asked @returns {Promise<unknown>} */
async function answer({ publicKey }) {
	const options = PublicKeyCredential.parseRequestOptionsFromJSON(publicKey);
	return json(await navigator.credentials.get({ publicKey: options }));
}

/** @param {Credential|null} credential */
function json(credential) {
	if (!(credential instanceof PublicKeyCredential)) throw new NoPasskey('The browser returned no passkey.');
	return credential.toJSON();
}

/** The assertion that an approval needs. @param {Request} request @param {Choice} choice */
export async function confirmApproval(request, choice) {
	const items = await usable();
	if (items.length === 0) throw new NoPasskey('You have no passkey yet. Register one on the page Passkeys, then approve.');
	return answer(await challengeApproval(request.id, choice));
}

/** Registers a passkey of this device. Where there are others, one of them confirms it. @param {string} name */
export async function register(name) {
	const items = await usable();
	const { publicKey } = await newPasskey(name);
	const credential = json(await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) }));
	const made = { name, credential };
	const assertion = items.length > 0 ? await answer(await challengePasskeys({ add: made })) : undefined;
	return addPasskey(assertion === undefined ? made : { ...made, assertion });
}

/** Revokes a passkey, as one of them confirms. @param {string} id */
export async function revoke(id) {
	await usable();
	await revokePasskey(id, await answer(await challengePasskeys({ revoke: id })));
}
