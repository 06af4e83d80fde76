import { clock } from '../../clock/clock.ts';
import type { Gate } from '../../admission/gate.ts';
import { Deadlines } from '../../admission/deadlines.ts';
import { Batch } from './batch.ts';
import { BatchTimes } from './batch-times.ts';
import type { Cancellation } from './cancellation.ts';
import type { SecretTexts } from './credentials.ts';
import type { HttpResponse } from './http-exchange.ts';
import type { HttpUpstream } from './http-upstream.ts';
import type { BatchedGroup, ConnectionEvents, SentRequest, Transport, WithoutBatches } from './transport.ts';
import { withSlot } from './with-slot.ts';

/** Time without batches after the upstream was slower with them. */
const SERIAL_MS = 10_000;

/**
 * Calls of a batch: a response waits for all of them. Evidence is needed together, and a header has 2 kB: a range of blocks takes few
 * requests. Providers and nodes permit 100 or more.
 */
const maxCalls: Readonly<Record<BatchedGroup, number>> = { lookup: 10, execution: 10, header: 100, block: 10 };

/** Longer calls are sent alone: nodes reject bodies of 1 to 5 MB. Ten shorter ones have 200 kB. */
const MAX_ITEM_CHARS = 20_000;

/** Calls of a group take similar times, so that none waits for a much slower one of its batch. */
class Group {
  /** The batches of this turn of the event loop that have space, by the client's batch. */
  readonly open = new Map<object, Batch>();
  /** Times of batches; undefined: these are not compared with single calls. */
  readonly times: BatchTimes | undefined;
  /** The upstream works on the calls of a batch one after the other. */
  isSerial = false;
  /** Time when batches are tried again, by clock.now(). */
  pausedUntil = -Infinity;
  /** Time until which no batch has more calls than one of lookups: the upstream has rejected a longer one. */
  longRejectedUntil = -Infinity;

  constructor(comparesTimes: boolean) {
    if (comparesTimes) this.times = new BatchTimes();
  }
}

/**
 * Sends the lookups of a client's batch that begin in one turn of the event loop to an upstream as batches, and its calls that
 * execute code as others. It adds no delay to collect more calls. Each call takes a slot, as it would alone, so that a batch
 * takes no more of the upstream than its calls. Calls of different requests do not share a batch: each would hold its slot until
 * the slowest one has its response, and at 30 ms with jitter and 1,200 calls per second the median was 184 ms in place of 32
 * (2026-11-24). Traces, lists and whole blocks are sent alone, because they are large or slow. The evidence that one check needs is
 * sent as batches too, with more calls: the check waits for all of it anyway.
 *
 * Now and then the calls of a batch are sent alone. If batches take as long as their calls one after the other, the group gets
 * none for 10 s. If it is that of lookups, there are none at all: most batches have too few calls
 * that execute code for a comparison.
 *
 * HTTP/2 is not offered. It costs undici 113 µs of CPU per call; HTTP/1.1 over the same TLS costs 50 µs (2026-11-21,
 * AMD EPYC, Node 20, undici 7, 64 calls at once over one connection or four, medians of 9 rounds). When a node closed
 * its connection with GOAWAY, all 32 calls in flight failed, and all later calls until the next connection was open.
 */
export class BatchingUpstream implements Transport {
  readonly secrets: SecretTexts;
  readonly slots: Gate;
  readonly #http: HttpUpstream;
  readonly #rejectedMs: number;
  /** Deadlines of requests in batches. */
  readonly #deadlines = new Deadlines();
  readonly #groups: Readonly<Record<BatchedGroup, Group>>;
  /** All batches of this turn. */
  #turn: Batch[] = [];
  #rejectedUntil = -Infinity;
  #events: ConnectionEvents | undefined;

  /**
   * @param rejectedMs time without batches after the upstream rejected one
   * @param comparesTimes whether batches are compared with single calls, and paused while they are slower
   */
  constructor(http: HttpUpstream, rejectedMs: number, comparesTimes = false) {
    this.#http = http;
    this.#rejectedMs = rejectedMs;
    this.secrets = http.secrets;
    this.slots = http.slots;
    const [header, block] = [new Group(false), new Group(false)];
    this.#groups = { lookup: new Group(comparesTimes), execution: new Group(comparesTimes), header, block };
  }

  send(request: SentRequest, cancellation?: Cancellation): Promise<HttpResponse> {
    const { clientBatch, batchedGroup = 'lookup', body } = request;
    if (clientBatch === undefined || body.length > MAX_ITEM_CHARS) return this.#http.send(request, cancellation);
    const group = this.#groups[batchedGroup];
    const pausedUntil = Math.max(this.#rejectedUntil, this.#groups.lookup.pausedUntil, group.pausedUntil);
    if (clock.now() < pausedUntil) return this.#http.send(request, cancellation);
    return withSlot(this.slots, request, cancellation, () =>
      this.#batchFor(clientBatch, batchedGroup, cancellation).add(request, cancellation),
    );
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  watch(events: ConnectionEvents): void {
    this.#events = events;
    this.#http.watch(events);
  }

  get withoutBatches(): WithoutBatches | undefined {
    const now = clock.now();
    if (now < this.#rejectedUntil) return 'rejected';
    const { lookup, execution } = this.#groups;
    return [lookup, execution].some(({ pausedUntil }) => now < pausedUntil) ? 'serial' : undefined;
  }

  #batchFor(clientBatch: object, name: BatchedGroup, cancellation: Cancellation | undefined): Batch {
    const group = this.#groups[name];
    const open = group.open.get(clientBatch);
    if (open?.isFull === false) return open;
    const batch = new Batch(this.#http, cancellation?.owner, {
      maxCalls: clock.now() < group.longRejectedUntil ? maxCalls.lookup : maxCalls[name],
      deadlines: this.#deadlines,
      times: group.times,
      onRejected: (calls) => {
        this.#handleRejection(name, calls);
      },
      onCompared: (isSerial) => {
        if (isSerial) group.pausedUntil = clock.now() + SERIAL_MS;
        if (isSerial === group.isSerial) return;
        group.isSerial = isSerial;
        this.#events?.batchesChanged(this.withoutBatches, SERIAL_MS);
      },
    });
    group.open.set(clientBatch, batch);
    if (this.#turn.push(batch) === 1) clock.setImmediate(this.#sendTurn);
    return batch;
  }

  #handleRejection(name: BatchedGroup, calls: number): void {
    const group = this.#groups[name];
    const until = clock.now() + this.#rejectedMs;
    if (calls > maxCalls.lookup) group.longRejectedUntil = until;
    // Evidence has large responses, which the upstream may reject only there.
    else if (name === 'header' || name === 'block') group.pausedUntil = until;
    else {
      const isFirst = clock.now() >= this.#rejectedUntil;
      this.#rejectedUntil = until;
      if (isFirst) this.#events?.batchesChanged('rejected', this.#rejectedMs);
    }
  }

  readonly #sendTurn = (): void => {
    const turn = this.#turn;
    this.#turn = [];
    for (const { open } of Object.values(this.#groups)) open.clear();
    for (const batch of turn) batch.send();
  };
}
