import { setTimeout as delay } from 'node:timers/promises';
import type { FaultProxy, Stage, ConnectionFault } from '../test/faults/fault-proxy.ts';
import * as behaviours from '../test/support/behaviours.ts';
import type { FakeNode } from '../test/support/fake-node.ts';
import type { Random } from './random.ts';

/** A node and the wire to it. */
export interface Breakable {
  readonly node: FakeNode;
  readonly proxy: FaultProxy;
}

/** Longer than an attempt: what began under one fault is over before the next one begins elsewhere. */
const QUIET_MS = 1_500;

const stages: readonly Stage[] = ['accept', 'request', 'response', 'headers', 'body-start', 'body'];
const nodeResponses: readonly behaviours.Behaviour[] = [
  ...[401, 404, 429, 500, 502, 503, 504].map((code) => behaviours.status(code)),
  ...[behaviours.status(200), behaviours.body(''), behaviours.body('{"jsonrpc":"2.0","id":1,"re'), behaviours.hang],
  ...[behaviours.cutInHeaders, behaviours.cutInBody, behaviours.withId(0), behaviours.withId('no'), behaviours.huge(2)],
  ...[behaviours.slow(100), behaviours.slow(5_000), behaviours.redirect('http://127.0.0.1:1/')],
  behaviours.body(
    JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32005, message: 'rate limit exceeded' } }),
  ),
];

/** Breaks one upstream after the other, now and then both, in ways and for times that the seed decides. */
export class FaultSchedule {
  readonly #random: Random;
  readonly #upstreams: readonly [Breakable, Breakable];
  #bothUntil = -Infinity;
  #faults = 0;
  #now = 'none yet';

  constructor(random: Random, upstreams: readonly [Breakable, Breakable]) {
    this.#random = random;
    this.#upstreams = upstreams;
  }

  /** How many there were. */
  get faults(): number {
    return this.#faults;
  }

  /** The last fault, for people. */
  get now(): string {
    return this.#now;
  }

  /** Whether no upstream was good at some time since. */
  wasAllBad(since: number): boolean {
    return this.#bothUntil >= since;
  }

  /** @param until on the clock of performance.now() */
  async run(until: number): Promise<void> {
    // A process that has just begun is slow by itself.
    await delay(QUIET_MS);
    while (performance.now() < until) {
      const areBoth = this.#random.next() < 0.1;
      const broken = areBoth ? this.#upstreams : [this.#random.pick(this.#upstreams)];
      if (areBoth) this.#bothUntil = Infinity;
      this.#now = '';
      for (const upstream of broken) await this.#break(upstream);
      await delay(this.#random.between(100, 3_000));
      for (const { node, proxy } of broken) {
        node.always(undefined);
        await proxy.fail(undefined);
      }
      await delay(QUIET_MS);
      if (areBoth) this.#bothUntil = performance.now();
    }
  }

  async #break({ node, proxy }: Breakable): Promise<void> {
    const which = this.#upstreams.findIndex((upstream) => upstream.node === node);
    this.#faults++;
    if (this.#random.next() < 0.5) {
      const at = this.#random.between(0, nodeResponses.length - 1);
      node.always(nodeResponses[at]);
      this.#now += ` node ${which} says ${at};`;
    } else {
      const fault = this.#wireFault();
      await proxy.fail(fault);
      this.#now += ` wire ${which} ${JSON.stringify(fault)};`;
    }
  }

  #wireFault(): ConnectionFault {
    const kind = this.#random.pick(['refuse', 'vanish', 'dribble', 'reset', 'close', 'hang'] as const);
    return kind === 'refuse' || kind === 'vanish' || kind === 'dribble'
      ? { kind }
      : { kind, at: this.#random.pick(stages) };
  }
}
