import { createHash } from 'node:crypto';
import { clock } from '../../gateway/clock/clock.ts';
import { RecentEvents } from '../soak/recent-events.ts';

/** All events of a simulation, of which it keeps the number and a digest: equal runs have equal digests. */
export class RecordedEvents extends RecentEvents {
  count = 0;
  readonly #hash = createHash('sha256');

  /** SHA-256 of all events until now, with their times. */
  digest(): string {
    return this.#hash.copy().digest('hex');
  }

  override addChange(text: string): void {
    this.#add(text);
    super.addChange(text);
  }

  override addExchange(text: string): void {
    this.#add(text);
    super.addExchange(text);
  }

  #add(text: string): void {
    this.count++;
    this.#hash.update(`${clock.now()} ${text}\n`);
  }
}
