// Amounts of money as people read them, beside the value that the call has.

const DECIMAL = /^-?\d{1,18}(?:\.\d{1,12})?$/;

/** @type {Set<string>} */
const CURRENCIES = new Set(Intl.supportedValuesOf('currency'));

/**
 * An amount with its currency, such as 1,250.00 EUR; '' if either is not plain. A currency in small letters is none: APIs
 * that write it so count the amount in cents.
 * @param {unknown} amount a number, or a text with one
 * @param {unknown} currency
 */
export function amountText(amount, currency) {
	if (typeof currency !== 'string' || !CURRENCIES.has(currency)) return '';
	const digits = typeof amount === 'number' || typeof amount === 'string' ? String(amount) : '';
	if (!DECIMAL.test(digits)) return '';
	const least = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().minimumFractionDigits;
	const format = new Intl.NumberFormat('en', { minimumFractionDigits: least, maximumFractionDigits: 20 });
	return `${format.format(/** @type {any} */ (digits))} ${currency}`; // a text keeps each digit
}
