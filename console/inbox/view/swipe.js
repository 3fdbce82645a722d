// Swipes over the rows of a list on a screen that is touched: to the right to approve, to the left to deny.

const BEGIN = 12; // pixels until a touch is a swipe, or scrolls
const FAR = 88; // pixels that a swipe goes at least
const WORDS = { approve: 'Approve…', deny: 'Deny…' };

/** @typedef {{x: number, y: number, by: number, row: HTMLElement}} Swipe */

/**
 * Listens to swipes over the rows of a list. The row moves along, and goes back.
 * @param {HTMLElement} list
 * @param {(row: HTMLElement, action: 'approve'|'deny') => void} swiped
 */
export function listenToSwipes(list, swiped) {
	/** @type {Swipe|null} */
	let swipe = null;
	const end = () => {
		if (swipe) move(swipe, 0);
		swipe = null;
	};
	list.addEventListener('touchstart', (event) => {
		end();
		const row = event.target instanceof Element && event.target.closest('.row');
		const [{ clientX: x, clientY: y }] = event.touches;
		if (event.touches.length === 1 && row instanceof HTMLElement) swipe = { x, y, by: 0, row };
	}, { passive: true });
	list.addEventListener('touchmove', (event) => {
		if (!swipe) return;
		const [{ clientX, clientY }] = event.touches;
		const [by, down] = [clientX - swipe.x, Math.abs(clientY - swipe.y)];
		if (swipe.by === 0 && down >= BEGIN && down >= Math.abs(by)) return end();
		if (swipe.by !== 0 || Math.abs(by) >= BEGIN) move(swipe, by);
	}, { passive: true });
	list.addEventListener('touchcancel', end);
	list.addEventListener('touchend', () => {
		const ended = swipe;
		const by = ended?.by ?? 0;
		end();
		if (ended?.row.isConnected && Math.abs(by) >= FAR) swiped(ended.row, by > 0 ? 'approve' : 'deny');
	});
}

/** @param {Swipe} swipe @param {number} by pixels to the right; 0: back in its place */
function move(swipe, by) {
	swipe.by = by;
	swipe.row.style.translate = by === 0 ? '' : `${Math.round(by)}px`;
	swipe.row.classList.toggle('far', Math.abs(by) >= FAR);
	if (by === 0) delete swipe.row.dataset.swipe;
	else swipe.row.dataset.swipe = by > 0 ? WORDS.approve : WORDS.deny;
}
