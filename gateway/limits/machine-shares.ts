import type { PublicShare } from '../auth/permissions/key-limits.ts';
import { clock, type Timer } from '../clock/clock.ts';
import type { MessageRouter } from '../workers/message-router.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import { ShareCounts, type ShareOutcome, type ShareUse } from './share-counts.ts';

const TOPIC = 'charge-shares';
/** Charges that need no response are reported after this time, together. */
const REPORT_INTERVAL_MS = 50;
/** All workers together may have taken this part of a limit without a report. */
const UNREPORTED_PART = 1 / 4;

interface ShareCharge {
  readonly share: PublicShare;
  readonly units: number;
  /** Whether they are taken only if the limits allow it. */
  readonly isChecked: boolean;
}

interface ShareResponse extends ShareUse {
  readonly isTaken: boolean;
}

/** Counts the shares of callers without a key for all workers of one machine, in its primary. */
export function serveShares(router: MessageRouter, counts = new ShareCounts()): void {
  router.on(TOPIC, (charges: readonly ShareCharge[]): ShareResponse[] =>
    charges.map(({ share, units, isChecked }) => {
      const isTaken = !isChecked || counts.take(share, units).shortage === undefined;
      if (!isChecked) counts.add(share, units);
      return { isTaken, ...counts.useOf(share) };
    }),
  );
}

interface Unsent {
  readonly share: PublicShare;
  units: number;
  /** Function for the decision of the primary; undefined: it takes the units in any case. */
  readonly decide?: (isTaken: boolean) => void;
}

/**
 * Charges shares at the primary, from one of its workers. A message costs the primary more than a charge. So the worker itself
 * charges an address that has used little, and reports it later, with others. The responses have what all workers have counted.
 */
export class WorkerShares {
  readonly #link: WorkerLink;
  readonly #counts: ShareCounts;
  readonly #maxUnreportedPart: number;
  /** Unsent reports by account. */
  #reports = new Map<string, Unsent>();
  #checks: Unsent[] = [];
  #timer: Timer | undefined;

  /** @param counts of this worker, which the responses replace */
  constructor(link: WorkerLink, counts: ShareCounts) {
    this.#link = link;
    this.#counts = counts;
    this.#maxUnreportedPart = UNREPORTED_PART / link.count;
  }

  /** Whether other workers may have taken what this one has taken. */
  mustCheck({ usedPart, hasPlace }: ShareOutcome): boolean {
    return usedPart > this.#maxUnreportedPart || !hasPlace;
  }

  /** Takes units that this worker has taken. @returns false: the limits reject them, and it has given them back */
  charge(share: PublicShare, units: number): Promise<boolean> {
    return new Promise((decide) => {
      this.#checks.push({ share, units, decide });
      // Runs after all requests that have arrived are read, so that they share the round trip.
      if (this.#checks.length === 1) clock.setImmediate(() => void this.#send());
    });
  }

  /** Takes units that this worker has taken, without checking the limits. Negative ones are given back. */
  report(share: PublicShare, units: number): void {
    const report = this.#reports.get(share.account);
    if (report === undefined) this.#reports.set(share.account, { share, units });
    else report.units += units;
    this.#timer ??= clock.setTimeout(() => void this.#send(), REPORT_INTERVAL_MS).unref();
  }

  async #send(): Promise<void> {
    const sent = [...this.#reports.values(), ...this.#checks];
    clock.clearTimeout(this.#timer);
    this.#reports = new Map();
    this.#checks = [];
    this.#timer = undefined;
    if (sent.length === 0) return;
    // Structured clone copies an object once per message: limits that several shares have are sent once.
    const charges = sent.map(({ share, units, decide }): ShareCharge => ({
      share,
      units,
      isChecked: decide !== undefined,
    }));
    const responses = await this.#link.request('primary', TOPIC, charges);
    for (const [index, { share, units, decide }] of sent.entries()) {
      const response = (responses as readonly ShareResponse[] | undefined)?.[index];
      if (response !== undefined) this.#follow(share, units, response);
      decide?.(response?.isTaken ?? true);
    }
  }

  #follow(share: PublicShare, units: number, response: ShareResponse): void {
    const isKnown = this.#counts.set(share, response);
    if (!isKnown && !response.isTaken) this.#counts.add(share, -units);
    const later = this.#reports.get(share.account);
    if (isKnown && later !== undefined) this.#counts.add(share, later.units);
  }
}
