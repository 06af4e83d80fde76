import { clock } from '../../clock/clock.ts';
import { decodeTransaction, type Transaction } from './decode-transaction.ts';

/** The transaction that a call sends, and what is known of it. Decoded once, also if several upstreams get it. */
export class RawTransaction {
  readonly raw: string;
  /** Time of sending, by clock.now(). */
  readonly sentAt = clock.now();
  #decoded: Transaction | 'malformed' | undefined;
  /** Sender, or `malformed`. */
  #sender: string | undefined;
  /** All upstreams of its route get it at the same time. */
  isAtOnce = false;
  /** An upstream has accepted it, or had it before. */
  isAccepted = false;
  /** The caller has an error. */
  hasError = false;

  /** @param raw hexadecimal with 0x */
  constructor(raw: string) {
    this.raw = raw;
  }

  /** Decoded transaction; undefined for malformed bytes and for unknown types. */
  get decoded(): Transaction | undefined {
    this.#decoded ??= decodeTransaction(this.raw) ?? 'malformed';
    return this.#decoded === 'malformed' ? undefined : this.#decoded;
  }

  get sender(): string | undefined {
    this.#sender ??= this.decoded?.sender() ?? 'malformed';
    return this.#sender === 'malformed' ? undefined : this.#sender;
  }
}
