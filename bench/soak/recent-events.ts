import { clock } from '../../gateway/clock/clock.ts';

const MAX_SHOWN = 200;
const MAX_TEXT = 100;
/** Changes of nodes are rare, and explain exchanges long after them. */
const MAX_CHANGES = 60;
/** More than are shown, because only those of one call may be shown. */
const MAX_EXCHANGES = 3_000;

interface Event {
  readonly at: number;
  readonly text: string;
}

/**
 * Remembers the last events of one network of the soak: changes of its nodes, and exchanges between clients, gateways and
 * nodes. They show the cause of a violation.
 */
export class RecentEvents {
  readonly #changes: Event[] = [];
  readonly #exchanges: Event[] = [];

  /** A node changed, or a fault began or ended. */
  addChange(text: string, at = clock.now()): void {
    add(this.#changes, { at, text: `** ${text}` }, MAX_CHANGES);
  }

  /** A node or a client got a message. */
  addExchange(text: string, at = clock.now()): void {
    add(this.#exchanges, { at, text }, MAX_EXCHANGES);
  }

  /**
   * The last 200 events, oldest first, one per line.
   * @param startedAt of the run: times are seconds since then
   * @param related only exchanges with one of these texts. Default: all
   */
  describe(startedAt: number, related: readonly string[] = ['']): string {
    const exchanges = this.#exchanges.filter(({ text }) => related.some((one) => text.includes(one)));
    const shown = exchanges.slice(-(MAX_SHOWN - this.#changes.length));
    const events = [...this.#changes, ...shown].sort((one, other) => one.at - other.at);
    return events.map(({ at, text }) => `    ${((at - startedAt) / 1_000).toFixed(3)} ${text}`).join('\n');
  }
}

function add(events: Event[], event: Event, max: number): void {
  events.push(event);
  // Seldom, because it moves all others.
  if (events.length >= 2 * max) events.splice(0, events.length - max);
}

/** A short text of a call: the method, and its parameters with short hashes. */
export function callText(method: string, params: unknown): string {
  return `${method} ${shorten(JSON.stringify(params ?? []))}`;
}

interface NamedBlock {
  readonly number?: string;
  readonly hash?: string;
  readonly blockNumber?: string;
  readonly blockHash?: string;
}

/** A short text of a response, or of what a notification contains: its block, or its first characters. */
export function responseText(response: object): string {
  const { result = response, error } = response as { readonly result?: unknown; readonly error?: unknown };
  const first = (Array.isArray(result) ? result[0] : result) as NamedBlock | null | undefined;
  const number = first?.blockNumber ?? first?.number;
  if (number !== undefined) return `block ${Number(number)} ${(first?.blockHash ?? first?.hash ?? '').slice(0, 10)}`;
  return shorten(JSON.stringify(error ?? result)).slice(0, MAX_TEXT);
}

function shorten(text: string): string {
  return text.replaceAll(/(0x[0-9a-f]{8})[0-9a-f]{22,}([0-9a-f]{6})/g, '$1…$2');
}
