import { setTimeout as delay } from 'node:timers/promises';
import type { FaultProxy, Stage, ConnectionFault } from '../../test/faults/fault-proxy.ts';
import * as behaviours from '../../test/support/behaviours.ts';
import type { FakeNode } from '../../test/support/fake-node.ts';
import type { Random } from '../random.ts';
import type { RecentEvents } from './recent-events.ts';

/** A node and the proxy in front of it. */
export interface Breakable {
  readonly node: FakeNode;
  readonly proxy: FaultProxy;
}

/** The pause between faults. It is longer than an attempt, so that no attempt sees two faults. */
const PAUSE_MS = 1_500;

const stages: readonly Stage[] = ['accept', 'request', 'response', 'headers', 'body-start', 'body'];
const nodeBehaviours: readonly behaviours.Behaviour[] = [
  ...[401, 404, 429, 500, 502, 503, 504].map((code) => behaviours.status(code)),
  ...[behaviours.status(200), behaviours.body(''), behaviours.body('{"jsonrpc":"2.0","id":1,"re'), behaviours.hang],
  ...[behaviours.cutInHeaders, behaviours.cutInBody, behaviours.withId(0), behaviours.withId('no'), behaviours.huge(2)],
  ...[behaviours.slow(100), behaviours.slow(5_000), behaviours.redirect('http://127.0.0.1:1/')],
  behaviours.body(
    JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32005, message: 'rate limit exceeded' } }),
  ),
];

/** Makes random upstreams fail, one at a time or both, with faults and durations that depend on the seed. */
export class FaultSchedule {
  readonly #random: Random;
  readonly #upstreams: readonly [Breakable, Breakable];
  readonly #events: RecentEvents | undefined;
  #bothUntil = -Infinity;
  #oneUntil = -Infinity;
  #faults = 0;
  #lastFault = 'none yet';

  constructor(random: Random, upstreams: readonly [Breakable, Breakable], events?: RecentEvents) {
    this.#events = events;
    this.#random = random;
    this.#upstreams = upstreams;
  }

  /** The number of faults so far. */
  get faults(): number {
    return this.#faults;
  }

  /** A description of the last fault. */
  get lastFault(): string {
    return this.#lastFault;
  }

  /** Whether both upstreams failed together at some time since. */
  hadNoUpstream(since: number): boolean {
    return this.#bothUntil >= since;
  }

  /** Whether an upstream failed at some time since. */
  hadFault(since: number): boolean {
    return this.#oneUntil >= since;
  }

  /** @param deadline on the clock of performance.now() */
  async run(deadline: number): Promise<void> {
    // A process that has just started is slow.
    await delay(PAUSE_MS);
    while (performance.now() < deadline) {
      const hasBoth = this.#random.next() < 0.1;
      const failing = hasBoth ? this.#upstreams : [this.#random.pick(this.#upstreams)];
      this.#oneUntil = Infinity;
      if (hasBoth) this.#bothUntil = Infinity;
      this.#lastFault = '';
      for (const upstream of failing) await this.#fail(upstream);
      this.#events?.addChange(`fault begins:${this.#lastFault}`);
      await delay(this.#random.between(100, 3_000));
      for (const { node, proxy } of failing) {
        node.always(undefined);
        await proxy.fail(undefined);
      }
      this.#events?.addChange('fault ends');
      await delay(PAUSE_MS);
      this.#oneUntil = performance.now();
      if (hasBoth) this.#bothUntil = performance.now();
    }
  }

  async #fail({ node, proxy }: Breakable): Promise<void> {
    const index = this.#upstreams.findIndex((upstream) => upstream.node === node);
    this.#faults++;
    if (this.#random.next() < 0.5) {
      const at = this.#random.between(0, nodeBehaviours.length - 1);
      node.always(nodeBehaviours[at]);
      this.#lastFault += ` node ${index} behaviour ${at};`;
    } else {
      const fault = this.#pickConnectionFault();
      await proxy.fail(fault);
      this.#lastFault += ` connection ${index} ${JSON.stringify(fault)};`;
    }
  }

  #pickConnectionFault(): ConnectionFault {
    const kind = this.#random.pick(['refuse', 'vanish', 'dribble', 'reset', 'close', 'hang'] as const);
    return kind === 'refuse' || kind === 'vanish' || kind === 'dribble'
      ? { kind }
      : { kind, at: this.#random.pick(stages) };
  }
}
