import fc from 'fast-check';
import { clock } from '../../gateway/clock/clock.ts';
import { breachOfBody, dueOfText, leakIn, type Due } from '../e2e/fuzz-contract.ts';
import { brokenEnvelopes, callText, fuzzedCalls, goodCalls } from '../e2e/fuzz-requests.ts';
import { startAnvil } from '../support/anvil.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { Random } from './random.ts';
import { makeFrame, RawWebSocket } from './raw-web-socket.ts';
import type { Session } from './session.ts';
import { Counts, inParallel, short, type FuzzTarget } from './target.ts';

const SOCKETS = 24;
const AT_ONCE = 8;
const MAX_STEPS = 25;
const RESPONSE_MS = 15_000;
const MINE_MS = 500;

type Json = Readonly<Record<string, unknown>>;

/** WebSockets that send messages, frames, subscriptions and filters by a script that follows from the seed. */
export async function openWebSocketTarget(): Promise<FuzzTarget> {
  const anvil = await startAnvil({ chainId: 4_243 });
  const counts = new Counts();
  const timer = setInterval(() => {
    void fetch(anvil.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: callText('evm_mine', [], '1'),
    }).catch(() => undefined);
  }, MINE_MS);
  const good = fc.constantFrom(...goodCalls(anvil.chain));
  const call = fc.oneof(good, fuzzedCalls(anvil.chain));
  return {
    networks: { local: { name: 'Local', chainId: 4_243, upstreams: [{ name: 'node', url: anvil.url }] } },
    counts: () => counts.all,
    async stop() {
      clearInterval(timer);
      await anvil.stop();
    },
    async playRound(session, seed) {
      const secrets = [...session.secrets, anvil.url, new URL(anvil.url).host];
      const calls = fc.sample(call, { seed, numRuns: SOCKETS * MAX_STEPS });
      const broken = fc.sample(fc.oneof(brokenEnvelopes(), fc.json({ maxDepth: 3 }), fc.string()), {
        seed,
        numRuns: 200,
      });
      const findings: string[] = [];
      await inParallel(
        Array.from({ length: SOCKETS }, (_, index) => index),
        AT_ONCE,
        async (_, index) => {
          const script = new Script(
            session,
            new Random(`${seed} ${index}`),
            calls.slice(index * MAX_STEPS),
            broken,
            secrets,
            counts,
          );
          findings.push(...(await script.play()).map((finding) => `socket ${index}, ${finding}`));
        },
      );
      return findings;
    },
  };
}

/** What one WebSocket does. */
class Script {
  readonly #random: Random;
  readonly #calls: readonly { method: unknown; params: unknown }[];
  readonly #broken: readonly string[];
  readonly #secrets: readonly string[];
  readonly #counts: Counts;
  readonly #socket: RawWebSocket;
  readonly #due: { readonly text: string; readonly items: NonNullable<Due['items']> }[] = [];
  readonly #findings: string[] = [];
  readonly #subscriptions: string[] = [];
  readonly #filters: string[] = [];
  readonly #notified = new Set<string>();
  readonly #pings: string[] = [];
  readonly #steps: string[] = [];
  #lastId = 0;

  constructor(
    { port, key }: Session,
    random: Random,
    calls: readonly { method: unknown; params: unknown }[],
    broken: readonly string[],
    secrets: readonly string[],
    counts: Counts,
  ) {
    this.#random = random;
    this.#calls = calls;
    this.#broken = broken;
    this.#secrets = secrets;
    this.#counts = counts;
    this.#socket = new RawWebSocket(port, `/local/ws/v3/${key}`, (text) => {
      this.#receive(text);
    });
  }

  async play(): Promise<string[]> {
    const random = this.#random;
    await this.#until(() => this.#socket.isOpen, 'the WebSocket does not open');
    const steps = 1 + random.below(MAX_STEPS);
    for (let step = 0; step < steps && this.#socket.closeCode === undefined; step++) {
      this.#step(step);
      if (random.chance(0.3)) await scenarioPause(random.pick([1, 20, 150]));
    }
    if (random.chance(0.3)) {
      await this.#end();
      return this.#findings;
    }
    await this.#until(
      () => this.#due.length === 0 && this.#socket.pongs.length >= this.#pings.length,
      'a response is missing',
    );
    const { closeCode, pongs } = this.#socket;
    if (closeCode !== undefined)
      this.#findings.push(`closed with ${closeCode} after valid frames: ${this.#steps.join(', ')}`);
    else if (pongs.join() !== this.#pings.join()) this.#findings.push('the pongs are not those of the pings');
    this.#socket.socket.destroy();
    for (const id of this.#notified) {
      if (!this.#subscriptions.includes(id)) this.#findings.push(`a notification of ${id}, which no response has`);
    }
    return this.#findings;
  }

  async #until(isTrue: () => boolean, problem: string): Promise<void> {
    const end = clock.now() + RESPONSE_MS;
    while (!isTrue() && this.#socket.closeCode === undefined) {
      if (clock.now() > end) {
        this.#findings.push(`${problem}: ${this.#due.map(({ text }) => short(text, 300)).join('\n    ')}`);
        return;
      }
      await scenarioPause(2);
    }
  }

  #step(step: number): void {
    const random = this.#random;
    random.pick<() => void>([
      () => {
        this.#sendCall(this.#calls[step]);
      },
      () => {
        this.#sendCall(this.#calls[step]);
      },
      () => {
        this.#sendBatch(step);
      },
      () => {
        this.#send(random.pick(this.#broken));
      },
      () => {
        this.#sendCall({ method: 'eth_subscribe', params: random.pick(subscriptionParams) });
      },
      () => {
        const ids = [...this.#subscriptions, '0x1', '', 'x', 5, null, '0xdeadbeef'];
        this.#sendCall({ method: 'eth_unsubscribe', params: random.pick([[random.pick(ids)], [], [{}]]) });
      },
      () => {
        const method = random.pick(['eth_newFilter', 'eth_newBlockFilter', 'eth_newPendingTransactionFilter']);
        this.#sendCall({ method, params: method === 'eth_newFilter' ? [random.pick(logFilters)] : [] });
      },
      () => {
        const method = random.pick(['eth_getFilterChanges', 'eth_getFilterLogs', 'eth_uninstallFilter']);
        this.#sendCall({ method, params: [random.pick([...this.#filters, '0x1', '', null, 'x'])] });
      },
      () => {
        const size = random.pick([1_000, 60_000, 70_000, 1_000_000]);
        this.#sendCall({
          method: random.pick(['eth_call', 'nope_x']),
          params: [{ data: `0x${'0'.repeat(size)}` }, 'latest'],
        });
      },
      () => {
        for (let count = 1 + random.below(5); count > 0; count--) {
          const payload = 'p'.repeat(random.below(126));
          this.#pings.push(payload);
          this.#steps.push('ping');
          this.#socket.write(makeFrame({ opcode: 9, payload: Buffer.from(payload) }));
        }
      },
      () => {
        this.#socket.write(makeFrame({ opcode: 10, payload: Buffer.from('x') }));
      },
    ])();
  }

  /** An id in one of its spellings, which no other message of this socket has. */
  #nextId(): string {
    const number = ++this.#lastId;
    return this.#random.pick([
      ...[`${number}`, `${number}.0`, `${number}e3`, `-${number}`, `"${number}"`, `"\\u0041${number}"`],
      ...[`"😀${number}"`, `9007199254740993${number}`, `${number}E+2`],
    ]);
  }

  #sendCall(call: { method: unknown; params: unknown } | undefined): void {
    if (call === undefined) return;
    this.#send(callText(call.method, call.params, this.#random.chance(0.05) ? undefined : this.#nextId()));
  }

  #sendBatch(step: number): void {
    const length = this.#random.below(6);
    const texts = this.#calls
      .slice(step, step + length)
      .map(({ method, params }) => callText(method, params, this.#nextId()));
    if (this.#random.chance(0.2)) texts.push(this.#random.pick(['5', '[]', 'null', '{}']));
    this.#send(`[${texts.join()}]`);
  }

  /** Sends a message whole or in fragments, with control frames between them. */
  #send(text: string): void {
    const random = this.#random;
    const { items } = dueOfText(text);
    if (items !== undefined) this.#due.push({ text, items });
    const bytes = Buffer.from(text);
    this.#steps.push(`message of ${bytes.length} bytes`);
    const opcode = random.pick([1, 1, 1, 2]);
    const cuts = random.chance(0.5)
      ? []
      : Array.from({ length: 1 + random.below(6) }, () => random.below(bytes.length + 1)).sort((a, b) => a - b);
    if (cuts.length > 0 && random.chance(0.5)) cuts.push(cuts.at(-1) as number);
    this.#counts.add(cuts.length > 0 ? 'fragmented messages' : 'whole messages');
    const ends = [...cuts, bytes.length];
    const frames = ends.map((end, index) => {
      const payload = bytes.subarray(ends[index - 1] ?? 0, end);
      return makeFrame({ opcode: index === 0 ? opcode : 0, payload, fin: index === ends.length - 1 });
    });
    for (const frame of frames) {
      if (frames.length > 1 && random.chance(0.2)) {
        this.#pings.push('between');
        this.#socket.write(makeFrame({ opcode: 9, payload: Buffer.from('between') }));
      }
      if (random.chance(0.1)) {
        const at = random.below(frame.length);
        this.#socket.write(frame.subarray(0, at));
        this.#socket.write(frame.subarray(at));
      } else this.#socket.write(frame);
    }
  }

  /** Ends with an invalid frame, a close or an abort; what is not yet received does not count. */
  async #end(): Promise<void> {
    const random = this.#random;
    const close = (code: number): Buffer => makeFrame({ opcode: 8, payload: Buffer.from([code >> 8, code & 255]) });
    const text = Buffer.from('{}');
    const ends: Readonly<Record<string, Buffer | undefined>> = {
      'no mask': makeFrame({ opcode: 1, payload: text, isMasked: false }),
      'a reserved bit': makeFrame({ opcode: 1, payload: text, reservedBits: random.pick([1, 2, 4]) }),
      'a reserved opcode': makeFrame({ opcode: random.pick([3, 7, 11, 15]), payload: text }),
      'a control frame in fragments': makeFrame({ opcode: 9, payload: text, fin: false }),
      'a long control frame': makeFrame({ opcode: 9, payload: Buffer.alloc(126) }),
      'a continuation of nothing': makeFrame({ opcode: 0, payload: text }),
      'a text in a message': Buffer.concat([
        makeFrame({ opcode: 1, payload: text, fin: false }),
        makeFrame({ opcode: 1, payload: text }),
      ]),
      'text that is not UTF-8': makeFrame({ opcode: 1, payload: Buffer.from([0xc3, 0x28]) }),
      'a length of 2^63': Buffer.from([0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]),
      'a huge message': makeFrame({ opcode: 1, payload: Buffer.alloc(6_000_000, ' ') }),
      'a close': close(1000),
      'a close without code': makeFrame({ opcode: 8, payload: Buffer.alloc(0) }),
      'a close with code 1005': close(1005),
      'an abort': undefined,
      'an abort in a frame': Buffer.from([0x81, 0xfe, 0x10]),
    };
    const [name, bytes] = random.pick(Object.entries(ends));
    this.#counts.add(`ended by ${name}`);
    if (bytes !== undefined) this.#socket.write(bytes);
    if (name.startsWith('an abort')) this.#socket.socket.resetAndDestroy();
    const end = clock.now() + RESPONSE_MS;
    while (this.#socket.closeCode === undefined && clock.now() < end) await scenarioPause(2);
    const { closeCode } = this.#socket;
    this.#counts.add(`close code ${String(closeCode)}`);
    if (closeCode === undefined) this.#findings.push(`not closed after ${name}`);
    this.#socket.socket.destroy();
  }

  #receive(text: string): void {
    const leak = leakIn(text, this.#secrets);
    if (leak !== undefined) this.#findings.push(`the message has ${leak}: ${short(text)}`);
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      this.#findings.push(`not JSON: ${short(text)}`);
      return;
    }
    if (text.includes('"code":-32603')) this.#findings.push(`an internal error: ${short(text)}`);
    const { method, params, result } = (message ?? {}) as Json;
    if (method === 'eth_subscription') {
      this.#counts.add('notifications');
      this.#notified.add(String((params as Json)['subscription']));
      return;
    }
    this.#counts.add(text.includes('"error"') ? 'errors' : 'results');
    const index = this.#due.findIndex(
      ({ items }) => breachOfBody(text, items, Array.isArray(items) ? 200 : statusOf(text)) === undefined,
    );
    const due = this.#due[index];
    if (due === undefined) {
      this.#findings.push(
        `a response to no message: ${short(text)}\n    open: ${this.#due.map(({ text: sent }) => short(sent, 200)).join('\n    ')}`,
      );
      return;
    }
    this.#due.splice(index, 1);
    if (typeof result !== 'string') return;
    if (due.text.includes('"eth_subscribe"')) this.#subscriptions.push(result);
    else if (due.text.includes('Filter"')) this.#filters.push(result);
  }
}

/** A WebSocket has no status: that of the same response over HTTP. */
function statusOf(text: string): number {
  return /"code":-32(600|700)/.test(text) ? 400 : 200;
}

const logFilters = [
  {},
  { fromBlock: 'latest' },
  { address: `0x${'11'.repeat(20)}`, topics: [null, [`0x${'22'.repeat(32)}`]] },
  { address: [] },
  { address: 5 },
  { topics: 'x' },
  { topics: [[], [null], null, null, null] },
  { Address: '0x' },
  { unknown: 'x'.repeat(10_000) },
  null,
  [],
];
const subscriptionParams = [
  ...[['newHeads'], ['newHeads'], ['newPendingTransactions'], ['newPendingTransactions', true], ['syncing'], [], ['']],
  ...[['nope'], [5], [null], ['newHeads', {}], ['newHeads', null, 5], [['newHeads']], {}, ['logs']],
  ...logFilters.map((filter) => ['logs', filter]),
];
