// JSON that loses nothing: a number that JavaScript cannot hold keeps the digits
// it was written with, so that the page shows the value that runs.

/**
 * @typedef {null|boolean|number|string|JSONValue[]|{[name: string]: JSONValue}} JSONValue
 */

/**
 * Parses JSON. A number that would change becomes a raw value, which
 * {@link write} writes with its own digits.
 * @param {string} text
 * @returns {any}
 */
export function parse(text) {
	return JSON.parse(text, keepDigits);
}

/** @param {string} _name @param {unknown} value @param {{source?: string}} [context] */
function keepDigits(_name, value, context) {
	if (typeof value !== 'number' || !context?.source || String(value) === context.source) return value;
	return /** @type {any} */ (JSON).rawJSON(context.source);
}

/**
 * Writes a value as JSON.
 * @param {unknown} value
 * @param {number} [indent]
 */
export function write(value, indent = 0) {
	return JSON.stringify(value, null, indent) ?? '';
}

/** Reports whether a value is an object with names of its own. @param {unknown} value @returns {value is Record<string, any>} */
export function isObject(value) {
	return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRaw(value);
}

/** @param {unknown} value */
function isRaw(value) {
	return /** @type {any} */ (JSON).isRawJSON?.(value) ?? false;
}

/**
 * A value for a table: a string as it is, everything else as JSON.
 * @param {unknown} value
 */
export function show(value) {
	return typeof value === 'string' ? value : write(value, 2);
}
