// A request over HTTP: the request line, its headers, its body.

import { isObject, show } from '../text/json.js';

/** @typedef {import('../present.js').Found} Found */
/** @typedef {import('../present.js').Part} Part */

const URLS = ['url', 'uri', 'endpoint'];
const METHODS = ['method', 'http_method', 'verb'];
const BODIES = ['body', 'data', 'json', 'payload'];
const LINE = /^[^\s]+$/;

/** @param {Map<string, any>} rest @returns {Found|null} */
export function http(rest) {
	const isWord = (/** @type {string} */ name) => typeof rest.get(name) === 'string' && LINE.test(rest.get(name));
	const [url, method] = [URLS.find(isWord), METHODS.find(isWord)];
	if (!url || !method) return null;
	/** @type {Part[]} */
	const parts = [{ type: 'text', label: `${method}, ${url}`, text: `${rest.get(method)} ${rest.get(url)}`, language: 'http' }];
	const [, host = ''] = /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(rest.get(url)) ?? [];
	rest.delete(url);
	rest.delete(method);
	const headers = rest.get('headers');
	if (isObject(headers) && Object.keys(headers).length > 0) {
		parts.push({ type: 'headers', label: 'headers', pairs: Object.entries(headers) });
		rest.delete('headers');
	}
	const body = BODIES.find((name) => rest.get(name) !== undefined && rest.get(name) !== null);
	if (body) {
		const value = rest.get(body);
		parts.push(isObject(value) ? { type: 'fields', label: body, pairs: Object.entries(value) } : { type: 'text', label: body, text: show(value), language: 'slash' });
		rest.delete(body);
	}
	return { does: 'send an HTTP request', parts, matters: [host].filter(Boolean) };
}
