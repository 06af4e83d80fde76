import { onTestFinished } from 'vitest';
import { RLP } from '@ethereumjs/rlp';
import { Random } from '../../bench/random.ts';
import { MemoryNode } from '../../bench/simulation/memory-node.ts';
import { SimulatedGateway } from '../../bench/simulation/simulated-gateway.ts';
import { clock, installClock } from '../../gateway/clock/clock.ts';
import { keccak256 } from '../../gateway/collections/keccak.ts';
import { encodeHeader } from '../../gateway/verify/proofs/check-header.ts';
import { hashOf } from '../../gateway/verify/proofs/hex.ts';
import { EMPTY_CODE, EMPTY_LIST, EMPTY_ROOT } from '../../gateway/verify/proofs/tree.ts';
import type { JsonRpcResponse } from '../support/gateway.ts';
import { endSimulation } from '../support/simulate-time.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

/** Account whose balance is the number of the block. */
export const account = `0x${'ab'.repeat(20)}`;
const FIRST_NUMBER = 1_000;
/** Unix time of the first block, and of the start of a simulated clock. */
const STARTED_S = Date.UTC(2026, 0, 1) / 1_000;

type Block = Readonly<Record<string, unknown>> & { readonly number: string; readonly hash: string };

/** How a node differs from one that returns the truth at once. */
export interface SimulatedNode {
  /** Time after which it has a block. */
  readonly lateMs?: number;
  /** Head from this number on. */
  readonly stuckAt?: number;
  /** Node that returns the newest state for a block that does not exist yet. */
  readonly ignoresFuture?: boolean;
  /** Whether it returns an error for a request: `method params`. */
  readonly fails?: (text: string) => boolean;
  /**
   * From this number on, it forges blocks, with true hashes and proofs: a branch of its own that is so many blocks `ahead` of the
   * head, or another block on each head.
   */
  readonly forges?: { readonly from: number; readonly ahead: number | 'on each head' };
  /** Heads that are sent over a WebSocket. */
  readonly sendsHeads?: boolean;
  /** What its upstream has in the network file. */
  readonly upstream?: object;
}

interface SimulatedRequest {
  readonly text: string;
  readonly at: number;
  /** The place of its node. */
  readonly node: number;
}

export interface SimulatedNetwork {
  readonly time: SimulatedClock;
  /** Time of the first block. */
  readonly startedAt: number;
  /** The number of the newest block. */
  readonly head: () => number;
  readonly servers: readonly MemoryNode[];
  /** The requests that all nodes have got, as `method params`, and when. */
  readonly requests: SimulatedRequest[];
  readonly call: (method: string, params?: readonly unknown[]) => Promise<JsonRpcResponse>;
  /** The same with what proves the result; undefined: it is an error, or results are not proven. */
  readonly proven: (
    method: string,
    params?: readonly unknown[],
  ) => Promise<JsonRpcResponse & { readonly proof: string | undefined }>;
  /** All notifications of new heads, from the next block on. */
  readonly watchHeads: () => Promise<Block[]>;
  /** Whether a node has forged the block with this hash. */
  readonly isForged: (hash: unknown) => boolean;
  /** The sum of the metrics with these texts. */
  readonly sum: (...texts: readonly string[]) => Promise<number>;
  /** The reasons of what is wrong now. */
  readonly troubles: () => string[];
}

/** A gateway in simulated time, until the test ends, with nodes of a chain whose blocks are empty and can be proven. */
export function simulateNetwork(nodes: readonly SimulatedNode[], blockMs: number, options: object): SimulatedNetwork {
  const time = new SimulatedClock();
  installClock(time);
  onTestFinished(() => endSimulation(time));
  const blockAt = emptyBlocks(blockMs);
  const startedAt = time.now();
  const headAfter = (ms: number): number => FIRST_NUMBER + Math.floor((time.now() - startedAt - ms) / blockMs);
  const requests: SimulatedRequest[] = [];
  const servers = nodes.map(
    ({ lateMs = 0, stuckAt = Infinity, ignoresFuture = false, fails, forges, sendsHeads = false }, at) => {
      const forged =
        forges?.ahead === 'on each head' ? undefined : forges && emptyBlocks(blockMs, forges.from, blockAt);
      const onHeads = new Map<number, Block>();
      const forgedAt = (number: number, top: number): Block => {
        if (forged !== undefined) return forged(number);
        if (number <= top) return blockAt(number);
        const block = onHeads.get(number) ?? emptyBlocks(blockMs, number, blockAt)(number);
        onHeads.set(number, block);
        return block;
      };
      const view = (): readonly [blockAt: (number: number) => Block, head: number] => {
        const head = Math.min(headAfter(lateMs), stuckAt);
        if (forges === undefined || head < forges.from) return [blockAt, head];
        return [(number) => forgedAt(number, head), head + (forges.ahead === 'on each head' ? 1 : forges.ahead)];
      };
      let subscriptions = 0;
      const respondTo = (
        { id, method, params = [] }: { id?: unknown; method: string; params?: readonly unknown[] },
        _: string,
        ids?: Set<string>,
      ) => {
        if (method === 'eth_subscribe') {
          const subscription = `0x${(++subscriptions).toString(16)}`;
          ids?.add(subscription);
          return { jsonrpc: '2.0', id, result: subscription };
        }
        const text = `${method} ${JSON.stringify(params)}`;
        requests.push({ text, at: time.now(), node: at });
        if (fails?.(text) === true) return { jsonrpc: '2.0', id, error: { code: -32000, message: 'internal error' } };
        const asked = ignoresFuture && method === 'eth_getBalance' ? [params[0], 'latest'] : params;
        return { jsonrpc: '2.0', id, ...resultOf(method, asked, ...view()) };
      };
      const server = new MemoryNode(at + 1, { respondTo }, new Random(at + 1));
      if (sendsHeads) sendHeads(server, view, blockMs);
      return server;
    },
  );
  const upstreams = servers.map(({ port }, at) => {
    const { sendsHeads, upstream } = nodes[at] ?? {};
    const webSocket = sendsHeads === true && { websocketUrl: `ws://127.0.0.1:${port}` };
    return { name: `node-${port}`, url: `http://127.0.0.1:${port}`, batch: false, ...webSocket, ...upstream };
  });
  const file = {
    name: 'Test',
    chainId: 7,
    methods: ['eth'],
    failsafe: { hedgeAfterMs: 'off' },
    cache: 'off',
    upstreams,
    ...options,
  };
  const gateway = new SimulatedGateway({ options: { name: 'test' }, file: () => file } as never, servers);
  const client = gateway.connect();
  const call: SimulatedNetwork['call'] = async (method, params = []) =>
    JSON.parse(
      await time.advanceUntil(client.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))),
    ) as JsonRpcResponse;
  return {
    ...{ time, startedAt, servers, requests, head: () => headAfter(0), call },
    proven: async (method, params) => ({ ...(await call(method, params)), proof: gateway.proof }),
    watchHeads: async () => {
      const heads: Block[] = [];
      const socket = await client.openSocket((text) => {
        const head = (JSON.parse(text) as { params?: { result?: Block } }).params?.result;
        if (head !== undefined) heads.push(head);
      });
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }));
      return heads;
    },
    isForged: (hash) => forgedHashes.has(String(hash)),
    sum: async (...texts) => {
      const all = (await gateway.metrics()).split('\n').filter((line) => !line.startsWith('#'));
      const lines = all.filter((line) => texts.every((text) => line.includes(text)));
      return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    },
    troubles: () => gateway.conditions().map(({ reason }) => reason),
  };
}

/** Sends the head of a node to its subscribers with each block time. */
function sendHeads(
  server: MemoryNode,
  view: () => readonly [blockAt: (number: number) => Block, head: number],
  blockMs: number,
): void {
  let last = '';
  const timer = clock.setInterval(() => {
    const [blockAt, head] = view();
    const block = blockAt(head);
    if (block.hash === last) return;
    last = block.hash;
    server.notify((subscription) =>
      JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription, result: block } }),
    );
  }, blockMs);
  onTestFinished(() => {
    clock.clearInterval(timer);
  });
}

function resultOf(
  method: string,
  params: readonly unknown[],
  blockAt: (number: number) => Block,
  head: number,
): object {
  const find = (named: unknown): Block | undefined => {
    const { blockHash, blockNumber = named } = (typeof named === 'object' && named !== null ? named : {}) as {
      readonly blockHash?: unknown;
      readonly blockNumber?: unknown;
    };
    for (let number = head; number >= FIRST_NUMBER && blockHash !== undefined; number--)
      if (blockAt(number).hash === blockHash) return blockAt(number);
    const number = String(blockNumber).startsWith('0x') ? Number(blockNumber) : head;
    return blockHash !== undefined || number > head ? undefined : blockAt(number);
  };
  /** @param result of the balance of the account */
  const ofBlock = (named: unknown, result: (balance: number) => unknown): object => {
    const block = find(named);
    return block === undefined
      ? { error: { code: -32000, message: 'header not found' } }
      : { result: result(Number(block.number) + (forgedHashes.has(block.hash) ? FORGED : 0)) };
  };
  switch (method) {
    case 'eth_chainId':
      return { result: '0x7' };
    case 'eth_blockNumber':
      return { result: hex(head) };
    case 'eth_getBlockByNumber':
      return { result: find(params[0]) ?? null };
    case 'eth_getBlockByHash':
      return { result: find({ blockHash: params[0] }) ?? null };
    case 'eth_getBalance':
      return ofBlock(params[1], hex);
    case 'eth_call':
      return ofBlock(params[1], (number) => `0x${number.toString(16).padStart(64, '0')}`);
    case 'eth_getProof':
      return ofBlock(params[2], (number) => ({
        ...{ address: account, accountProof: [stateOf(number).node], balance: hex(number), codeHash: EMPTY_CODE },
        ...{ nonce: '0x0', storageHash: EMPTY_ROOT, storageProof: [] },
      }));
    case 'eth_getLogs':
      return { result: [] };
    default:
      return { error: { code: -32601, message: 'the method does not exist' } };
  }
}

const forgedHashes = new Set<string>();

/** The balance in forged blocks is higher by this. */
export const FORGED = 1_000_000;

/**
 * The blocks of a chain by their numbers. They do not change.
 * @param first the number of the first forged block
 * @param before the blocks below that
 */
function emptyBlocks(
  blockMs: number,
  first = FIRST_NUMBER,
  before?: (number: number) => Block,
): (number: number) => Block {
  const blocks: Block[] = [];
  const added = before === undefined ? 0 : FORGED;
  return (number) => {
    if (before !== undefined && number < first) return before(number);
    for (let next = first + blocks.length; next <= number; next++) {
      const parent = blocks.at(-1)?.hash ?? before?.(next - 1).hash;
      const header = {
        ...{ parentHash: parent ?? word('11'), sha3Uncles: EMPTY_LIST, miner: account },
        ...{ stateRoot: stateOf(next + added).root, transactionsRoot: EMPTY_ROOT, receiptsRoot: EMPTY_ROOT },
        ...{ logsBloom: `0x${'00'.repeat(256)}`, difficulty: '0x0', number: hex(next), gasLimit: '0x1c9c380' },
        ...{
          gasUsed: '0x0',
          timestamp: hex(STARTED_S + Math.floor(((next - FIRST_NUMBER) * blockMs) / 1_000)),
          extraData: '0x',
        },
        ...{ mixHash: word('22'), nonce: '0x0000000000000000', baseFeePerGas: '0x7' },
      };
      const hash = hashOf(encodeHeader(header) as Buffer);
      if (added > 0) forgedHashes.add(hash);
      blocks.push({ ...header, hash, size: '0x200', transactions: [], uncles: [] });
    }
    return blocks[number - first] as Block;
  };
}

/** A trie of one leaf: the account. */
function stateOf(balance: number): { readonly root: string; readonly node: string } {
  const value = RLP.encode([new Uint8Array(), balance, bytes(EMPTY_ROOT), bytes(EMPTY_CODE)]);
  const node = RLP.encode([Buffer.concat([Uint8Array.of(0x20), keccak256(bytes(account))]), value]);
  return { root: hashOf(node), node: `0x${Buffer.from(node).toString('hex')}` };
}

function bytes(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex');
}

function word(byte: string): string {
  return `0x${byte.repeat(32)}`;
}

function hex(number: number): string {
  return `0x${number.toString(16)}`;
}
