import { clock } from '../../gateway/clock/clock.ts';
import type { Random } from '../random.ts';
import { checkedReads } from './checked-reads.ts';
import type { CheckedRead, ConsistencyChecker, RpcReply } from './consistency-checker.ts';
import type { SentCall } from './exchange.ts';
import { RESPONSE_TIMEOUT_MS, type Client } from './client.ts';
import { callText, responseText } from './recent-events.ts';
import { ancestorAt, logFilters, type TrueBlock } from './true-chain.ts';

export interface ChainCallerParts {
  /** Makes a client of the gateway with connections of its own. */
  readonly connect: () => Client;
  readonly checker: ConsistencyChecker;
  readonly random: Random;
  /** Maximum time between two calls of one client. */
  readonly maxPauseMs: number;
  /** The end of new calls, by clock.now(). */
  readonly deadline: number;
  /** Listener for a description of each message to this client. */
  readonly onMessage: (text: string) => void;
}

interface PendingRead {
  readonly read: CheckedRead;
  readonly sent: SentCall;
}

type IdentifiedReply = RpcReply & { readonly id?: unknown };

const MAX_BATCH = 6;
const MAX_DEPTH = 45;
const MAX_FIRST = 8;
/** Blocks of a range up to the newest block: with all blocks, a call of the last hour would cost more than one of the first. */
const MAX_RANGE = 300;

/** A random read, about one of the newest blocks that this gateway served. */
export function pickRead(checker: ConsistencyChecker, random: Random, now = clock.now()): CheckedRead {
  const newest = checker.newest(now);
  if (newest === undefined || random.next() < 0.45) return random.pick(newestReads)();
  const target = below(newest, pickDepth(newest, random));
  const from = below(target, random.between(0, 10));
  const { address } = random.pick(logFilters);
  return random.pick<() => CheckedRead>([
    () => checkedReads.blockByNumber(target),
    () => checkedReads.blockByHash(target),
    () => checkedReads.receipt(target, random.next() < 0.5 ? 0 : 1),
    () => checkedReads.blockReceipts(target),
    () => checkedReads.balanceAt(target),
    () => checkedReads.rawBlock(target),
    () => checkedReads.logs(from, target, address),
    () =>
      checkedReads.logs(newest.number - from.number > MAX_RANGE ? below(newest, MAX_RANGE) : from, undefined, address),
    () => checkedReads.logsOfBlock(target),
  ])();
}

const newestReads: readonly (() => CheckedRead)[] = [
  checkedReads.blockNumber,
  () => checkedReads.taggedBlock('latest'),
  () => checkedReads.taggedBlock('latest'),
  () => checkedReads.taggedBlock('safe'),
  () => checkedReads.taggedBlock('finalized'),
  () => checkedReads.nonce('latest'),
  () => checkedReads.nonce(),
  checkedReads.balance,
  () => checkedReads.call('latest'),
  () => checkedReads.call(),
  checkedReads.rawNewest,
];

/** Mostly of the newest blocks, which a lagging upstream does not have, and of the first ones, which are cached as final. */
function pickDepth({ number }: TrueBlock, random: Random): number {
  const chance = random.next();
  if (chance < 0.6) return random.between(0, 3);
  return chance < 0.8 ? random.between(0, MAX_DEPTH) : number - random.between(1, MAX_FIRST);
}

function below(block: TrueBlock, depth: number): TrueBlock {
  return ancestorAt(block, Math.max(block.number - Math.max(depth, 0), 0)) ?? block;
}

/** The calls of one connection that have no response yet. */
class PendingReads {
  readonly #checker: ConsistencyChecker;
  readonly #onMessage: ChainCallerParts['onMessage'];
  readonly #pending = new Map<unknown, PendingRead>();
  #id = 0;

  constructor({ checker, onMessage }: ChainCallerParts) {
    this.#checker = checker;
    this.#onMessage = onMessage;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** @returns the request object */
  add(read: CheckedRead): object {
    const id = ++this.#id;
    this.#pending.set(id, { read, sent: this.#checker.send(clock.now()) });
    return { jsonrpc: '2.0', id, method: read.method, params: read.params };
  }

  receive(text: string): void {
    const at = clock.now();
    for (const reply of [JSON.parse(text) as IdentifiedReply | IdentifiedReply[]].flat()) {
      const pending = this.#pending.get(reply.id);
      this.#pending.delete(reply.id);
      if (pending !== undefined) {
        const { read, sent } = pending;
        const call = callText(read.method, read.params);
        this.#onMessage(`${call}: ${responseText(reply)} after ${(at - sent.at).toFixed(0)} ms`);
        this.#checker.receive(read, sent, at, reply);
      } else this.#checker.violate('unanswered', { at, of: 'a response' }, 'the id of a call', reply);
    }
  }

  /** The connection ended, or time is up. */
  drop(reason: string): void {
    const at = clock.now();
    for (const { read, sent } of this.#pending.values()) {
      const of = `${read.method} ${JSON.stringify(read.params)}`;
      this.#checker.violate('unanswered', { at, of }, 'a response', `${reason} after ${(at - sent.at).toFixed(0)} ms`);
    }
    this.#pending.clear();
  }
}

/** Sends one read or batch after the other over HTTP. */
export async function readOverHttp(parts: ChainCallerParts): Promise<void> {
  const { checker, random, deadline, maxPauseMs } = parts;
  const client = parts.connect();
  const pending = new PendingReads(parts);
  while (clock.now() < deadline) {
    const size = random.next() < 0.2 ? random.between(1, MAX_BATCH) : 0;
    const requests = Array.from({ length: Math.max(size, 1) }, () => pending.add(pickRead(checker, random)));
    try {
      pending.receive(await client.post(JSON.stringify(size === 0 ? requests[0] : requests)));
    } catch (error) {
      pending.drop(String(error));
    }
    pending.drop('no response in the batch');
    await clock.sleep(random.between(0, maxPauseMs));
  }
  client.close();
}

/** Sends reads over one WebSocket, without waiting for the responses before. */
export async function readOverWebSocket(parts: ChainCallerParts): Promise<void> {
  const { checker, random, deadline, maxPauseMs } = parts;
  const pending = new PendingReads(parts);
  const socket = await parts.connect().openSocket((text) => {
    pending.receive(text);
  });
  while (clock.now() < deadline && socket.isOpen) {
    socket.send(JSON.stringify(pending.add(pickRead(checker, random))));
    await clock.sleep(random.between(0, maxPauseMs));
  }
  const end = clock.now() + RESPONSE_TIMEOUT_MS;
  while (pending.size > 0 && clock.now() < end && socket.isOpen) await clock.sleep(20);
  pending.drop(`the socket is ${socket.isOpen ? 'open' : 'closed'}`);
  socket.terminate();
}
