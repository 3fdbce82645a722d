// Server-sent events, read from text as it comes in.

/**
 * @typedef {Object} ServerEvent
 * @property {string} id '' where the event has none
 * @property {string} name
 * @property {string} data
 */

/** Reads the text of an event stream piece by piece. */
export class EventReader {
	#rest = '';
	/** @type {ServerEvent} */
	#event = { id: '', name: '', data: '' };
	#lines = 0;

	/**
	 * Takes the next piece and returns the events that it completed. Comments
	 * complete none.
	 * @param {string} text
	 * @returns {ServerEvent[]}
	 */
	push(text) {
		/** @type {ServerEvent[]} */
		const events = [];
		const lines = (this.#rest + text).split('\n');
		this.#rest = lines.pop() ?? '';
		for (const line of lines) {
			if (line === '') this.#end(events);
			else this.#field(line);
		}
		return events;
	}

	/** @param {string} line */
	#field(line) {
		const colon = line.indexOf(':');
		if (colon === 0) return;
		const name = colon < 0 ? line : line.slice(0, colon);
		const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
		if (name === 'id') this.#event.id = value;
		else if (name === 'event') this.#event.name = value;
		else if (name === 'data') this.#event.data += (this.#lines++ ? '\n' : '') + value;
	}

	/** @param {ServerEvent[]} events */
	#end(events) {
		if (this.#lines > 0) events.push(this.#event);
		this.#event = { id: '', name: '', data: '' };
		this.#lines = 0;
	}
}
