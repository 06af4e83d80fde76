import { startFaultProxy } from '../../test/faults/fault-proxy.ts';
import { startFakeNode } from '../../test/support/fake-node.ts';
import { Random } from '../random.ts';
import { FaultSchedule, type Breakable } from './fault-schedule.ts';
import { callOverHttp, callOverWebSocket } from './known-callers.ts';
import { CHAIN_ID, knownResponses } from './known-calls.ts';
import { OutcomeCounts } from './outcome-counts.ts';
import { callText, type RecentEvents } from './recent-events.ts';
import type { ExcusedOutcomes } from './verdict.ts';

const HTTP_CALLERS = 6;
const WEBSOCKET_CALLERS = 2;

export interface KnownLoadOptions {
  readonly seed: number;
  readonly hasFaults: boolean;
  /** Timeout of an attempt. */
  readonly timeoutMs: number;
  readonly wasDelayed: (since: number) => boolean;
  readonly onWrong: (text: string, call: string) => void;
  /** Latest events; undefined: they are not remembered. */
  readonly events: RecentEvents | undefined;
}

/**
 * Two nodes whose responses never change, under mixed calls and batches while they fail at random. Every call must get
 * exactly one correct response, and no error while a node works.
 */
export class KnownLoad {
  readonly #options: KnownLoadOptions;
  readonly #upstreams: readonly [Breakable, Breakable];
  readonly #schedule: FaultSchedule;
  readonly #outcomes: OutcomeCounts;
  readonly #clearing: NodeJS.Timeout;

  private constructor(options: KnownLoadOptions, upstreams: readonly [Breakable, Breakable]) {
    const { seed, wasDelayed, onWrong, events } = options;
    this.#options = options;
    this.#upstreams = upstreams;
    const schedule = new FaultSchedule(new Random(seed), upstreams, events);
    this.#schedule = schedule;
    this.#outcomes = new OutcomeCounts(
      {
        hadNoUpstream: (since) => schedule.hadNoUpstream(since),
        hadFault: (since) => schedule.hadFault(since),
        // A node that seemed to fail during a delay is not used for a second at least.
        wasDelayed: (since) => wasDelayed(since - 1_000),
      },
      (text, call) => {
        onWrong(`${text} (last fault:${schedule.lastFault})`, call);
      },
      events,
    );
    // The recorded calls are not needed and would fill the memory of this process.
    this.#clearing = setInterval(() => {
      for (const { node } of upstreams) node.calls.length = 0;
    }, 1_000);
  }

  static async start(options: KnownLoadOptions): Promise<KnownLoad> {
    return new KnownLoad(options, [await startBreakable(0, options.events), await startBreakable(1, options.events)]);
  }

  /** The network file for a gateway. @param client path by which nodes identify the gateway */
  file(client = ''): object {
    const upstreams = this.#upstreams.map(({ proxy }, index) => ({
      ...{
        name: `node-${index}`,
        url: `http://127.0.0.1:${proxy.port}/${client}`,
        failsafe: { timeoutMs: this.#options.timeoutMs },
      },
    }));
    return { name: 'Known', chainId: CHAIN_ID, upstreams };
  }

  /** @param urls of this network at each gateway @param deadline on the clock of performance.now() */
  async run(urls: readonly string[], deadline: number): Promise<void> {
    const { seed, hasFaults } = this.#options;
    const callers = Array.from({ length: HTTP_CALLERS + WEBSOCKET_CALLERS }, (_, index) => {
      const url = urls[index % urls.length] ?? '';
      const parts = { url, outcomes: this.#outcomes, random: new Random(seed * 1_000 + index), deadline };
      return index < HTTP_CALLERS ? callOverHttp(parts) : callOverWebSocket(parts);
    });
    await Promise.all([...callers, hasFaults ? this.#schedule.run(deadline) : undefined]);
  }

  get excused(): ExcusedOutcomes {
    const { sent, excused } = this.#outcomes.counts;
    return { kind: 'known calls', excused, total: sent };
  }

  /** Failures at the end of the run. @returns what was not as promised */
  failures(): string[] {
    const { counts } = this.#outcomes;
    console.log(
      `known calls: ${JSON.stringify({ ...counts, slowestMs: Math.round(counts.slowestMs), faults: this.#schedule.faults })}`,
    );
    const hasWrong = counts.wrong + counts.unexpected + counts.pending + counts.failedUnexpectedly > 0;
    return [
      ...(hasWrong ? ['not every call got exactly one correct response'] : []),
      ...(counts.correct + counts.failed + counts.incomplete !== counts.sent ? ['the counts do not add up'] : []),
    ];
  }

  async close(): Promise<void> {
    clearInterval(this.#clearing);
    for (const { node, proxy } of this.#upstreams) {
      await proxy.close();
      await node.close();
    }
  }
}

async function startBreakable(index: number, events: RecentEvents | undefined): Promise<Breakable> {
  const node = await startFakeNode({
    ...{ chainId: CHAIN_ID, responses: knownResponses },
    onCall: ({ method, params, path }) => {
      events?.addExchange(`node ${index} ← ${path}: ${callText(method, params)}`);
    },
  });
  return { node, proxy: await startFaultProxy(Number(new URL(node.url).port)) };
}
