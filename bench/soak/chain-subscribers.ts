import { clock } from '../../gateway/clock/clock.ts';
import type { ChainCallerParts } from './chain-callers.ts';
import type { ClientSocket } from './client.ts';
import type { RpcReply } from './consistency-checker.ts';
import { DeliveredHeads } from './delivered-heads.ts';
import { DeliveredLogs } from './delivered-logs.ts';
import { responseText } from './recent-events.ts';
import { logFilters, type TrueBlock } from './true-chain.ts';

/** How subscriptions and filters ended, by cause. */
export type EndCounts = Record<string, number>;

interface Delivered {
  has(block: TrueBlock, at: number): boolean;
  add(value: never, at: number): void;
  finish(newest: TrueBlock, at: number): void;
}

interface SubscriptionMessage extends RpcReply {
  readonly id?: number;
  readonly params?: { readonly subscription: string; readonly result: Readonly<Record<string, unknown>> };
}

/** A subscription is followed for this long, then a new one is opened. */
const MIN_FOLLOWED_MS = 20_000;
const MAX_FOLLOWED_MS = 60_000;
const MAX_POLL_PAUSE_MS = 2_500;
/** Time for the blocks before the end of the run to be delivered. All nodes are healthy then. */
const DELIVERY_MS = 10_000;
const POLL_MS = 100;

/** Follows new heads and logs over WebSockets, one after the other. */
export async function subscribe(parts: ChainCallerParts, ends: EndCounts): Promise<void> {
  while (clock.now() < parts.deadline) await followSocket(parts, ends);
}

/** Follows a block filter and a log filter over HTTP. */
export async function pollFilters(parts: ChainCallerParts, ends: EndCounts): Promise<void> {
  while (clock.now() < parts.deadline) await followFilters(parts, ends);
}

async function followSocket(parts: ChainCallerParts, ends: EndCounts): Promise<void> {
  const { checker, random, deadline, onMessage } = parts;
  const filter = random.pick(logFilters);
  const { address } = filter;
  const kinds = [['newHeads'], ['logs', filter]] as const;
  const delivered = new Map<string, Delivered>();
  const receive = (text: string): void => {
    const at = clock.now();
    const { id, result, error, params } = JSON.parse(text) as SubscriptionMessage;
    if (params !== undefined) {
      const isRemoved = params.result['removed'] === true ? ' removed' : '';
      onMessage(`notification ${params.subscription.slice(0, 8)}${isRemoved}: ${responseText(params.result)}`);
      const target = delivered.get(params.subscription);
      if (target instanceof DeliveredHeads) target.add(params.result['hash'], at);
      else if (target instanceof DeliveredLogs) target.add(params.result, at);
      else checker.violate('unanswered', { at, of: 'a notification' }, 'one after its response', params);
    } else if (error !== undefined) count(ends, `eth_subscribe ${error.code}`);
    else if (id === 0) delivered.set(String(result), new DeliveredHeads(checker, 'eth_subscribe newHeads', at));
    else delivered.set(String(result), new DeliveredLogs(checker, `eth_subscribe logs ${address ?? ''}`, at, address));
  };
  let socket: ClientSocket;
  try {
    socket = await parts.connect().openSocket(receive);
  } catch {
    count(ends, 'WebSocket rejected');
    await clock.sleep(200);
    return;
  }
  for (const [id, params] of kinds.entries()) {
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params }));
  }
  const end = Math.min(clock.now() + random.between(MIN_FOLLOWED_MS, MAX_FOLLOWED_MS), deadline);
  const ended = new AbortController();
  const waiting = clock.sleep(Math.max(0, end - clock.now()), { signal: ended.signal }).catch(() => undefined);
  const code = await Promise.race([socket.closed, waiting]);
  ended.abort();
  if (code !== undefined) count(ends, `WebSocket closed with ${code}`);
  else if (end === deadline) await finishAll(parts, [...delivered.values()], () => clock.sleep(POLL_MS));
  socket.terminate();
}

async function followFilters(parts: ChainCallerParts, ends: EndCounts): Promise<void> {
  const { checker, random, deadline } = parts;
  const client = parts.connect();
  const call = async (method: string, params: readonly unknown[]): Promise<RpcReply> =>
    JSON.parse(await client.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))) as RpcReply;
  const filter = random.pick(logFilters);
  const { address } = filter;
  const blocks = await call('eth_newBlockFilter', []);
  const heads = new DeliveredHeads(checker, 'eth_newBlockFilter', clock.now());
  const logFilter = await call('eth_newFilter', [filter]);
  const logs = new DeliveredLogs(checker, `eth_newFilter ${address ?? ''}`, clock.now(), address);
  const poll = async (): Promise<boolean> => {
    const replies = [
      await call('eth_getFilterChanges', [blocks.result]),
      await call('eth_getFilterChanges', [logFilter.result]),
    ];
    const at = clock.now();
    for (const reply of replies) parts.onMessage(`eth_getFilterChanges: ${responseText(reply)}`);
    for (const hash of (replies[0]?.result ?? []) as unknown[]) heads.add(hash, at);
    for (const log of (replies[1]?.result ?? []) as Readonly<Record<string, unknown>>[]) logs.add(log, at);
    const error = replies.find((reply) => reply.error !== undefined)?.error;
    if (error !== undefined) count(ends, `eth_getFilterChanges ${error.code}`);
    return error === undefined;
  };
  const end = Math.min(clock.now() + random.between(MIN_FOLLOWED_MS, MAX_FOLLOWED_MS), deadline);
  let isUsable = blocks.error === undefined && logFilter.error === undefined;
  if (!isUsable) count(ends, 'filter rejected');
  while (isUsable && clock.now() < end) {
    await clock.sleep(Math.max(0, Math.min(random.between(50, MAX_POLL_PAUSE_MS), end - clock.now())));
    isUsable = await poll();
  }
  if (isUsable && end === deadline) await finishAll(parts, [heads, logs], poll);
  else if (!isUsable) await clock.sleep(200);
  client.close();
}

/** Waits until the head of the end of the run is delivered, and checks that nothing before it is missing. */
async function finishAll(
  { checker }: ChainCallerParts,
  delivered: readonly Delivered[],
  poll: () => Promise<unknown>,
): Promise<void> {
  const newest = checker.history.headAt(clock.now());
  const end = clock.now() + DELIVERY_MS;
  while (clock.now() < end && !delivered.every((one) => one.has(newest, clock.now()))) await poll();
  for (const one of delivered) one.finish(newest, clock.now());
}

function count(ends: EndCounts, cause: string): void {
  ends[cause] = (ends[cause] ?? 0) + 1;
}
