import { Writable } from 'node:stream';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { eventually } from '../../support/eventually.ts';
import { rpcError, startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type JsonRpcResponse, type TestGateway } from '../../support/gateway.ts';
import { hashedBlock, hex, type HashedBlock } from '../proofs/hashed-block.ts';

const CHAIN_ID = 7;
export const [account, transaction, topic] = [`0x${'ab'.repeat(20)}`, `0x${'cd'.repeat(32)}`, `0x${'ef'.repeat(32)}`];
export const balanceCall = ['eth_getBalance', [account, 'latest']] as const;
export const receiptCall = ['eth_getTransactionReceipt', [transaction]] as const;
export const logsCall = ['eth_getLogs', [{ fromBlock: hex(102), toBlock: 'latest', address: account }]] as const;
export const blockCall = ['eth_getBlockByNumber', [hex(104), false]] as const;

type Call = readonly [method: string, params: readonly unknown[]];
export type Outcome = 'agrees' | 'differs' | 'cannot-tell';

/** Blocks 100 to 110. @param forkAt the first block of another branch; undefined: none */
export function blocksTo(last = 110, forkAt?: number): HashedBlock[] {
  const blocks: HashedBlock[] = [];
  for (let number = 100; number <= last; number++)
    blocks.push(hashedBlock(number, blocks.at(-1)?.hash ?? topic, forkAt !== undefined && number >= forkAt ? 1 : 0));
  return blocks;
}

/** What a node with these blocks returns. The balance is another one in each block; block 102 has the transaction. */
export function honest(blocks: readonly HashedBlock[]) {
  const find = (block: unknown): HashedBlock | undefined => {
    const hash = typeof block === 'object' && block !== null ? (block as { blockHash?: unknown }).blockHash : undefined;
    if (block === 'latest') return blocks.at(-1);
    return blocks.find((one) => one.number === block || one.hash === (hash ?? block));
  };
  const log = (): object => ({
    ...{ address: account, topics: [topic], data: '0x01', blockNumber: hex(102), blockHash: find(hex(102))?.hash },
    ...{ transactionHash: transaction, transactionIndex: '0x0', logIndex: '0x0', removed: false },
  });
  const receipt = (): object => ({
    ...{
      transactionHash: transaction,
      transactionIndex: '0x0',
      blockNumber: hex(102),
      blockHash: find(hex(102))?.hash,
    },
    ...{ from: account, to: account, contractAddress: null, cumulativeGasUsed: '0x5208', gasUsed: '0x5208' },
    ...{ effectiveGasPrice: '0x7', type: '0x2', status: '0x1', logsBloom: `0x${'00'.repeat(256)}`, logs: [log()] },
  });
  const block = ([which]: readonly unknown[]): unknown => find(which) ?? null;
  return {
    ...{ eth_getBlockByNumber: block, eth_getBlockByHash: block, eth_blockNumber: () => blocks.at(-1)?.number },
    eth_getBalance: ([, which]: readonly unknown[]) => find(which)?.number ?? rpcError(-32_000, 'header not found'),
    eth_getTransactionReceipt: receipt,
    eth_getLogs: ([filter]: readonly { readonly fromBlock: string; readonly toBlock: string }[]) => {
      const last = blocks.at(-1)?.number ?? '0x0';
      const to = filter?.toBlock === 'latest' ? last : (filter?.toBlock ?? last);
      return Number(filter?.fromBlock) <= 102 && Number(to) >= 102 ? [log()] : [];
    },
  };
}

export interface WithAudits {
  readonly gateway: TestGateway;
  readonly nodes: readonly FakeNode[];
  /** The lines of the log, parsed. */
  readonly logLines: Readonly<Record<string, unknown>>[];
  readonly send: (call: Call) => Promise<JsonRpcResponse>;
  /** How many audits of an upstream had this outcome. Waits until no audit is in progress. */
  readonly count: (upstream: string, outcome: Outcome) => Promise<number>;
  /** Repeats a call until audits of an upstream had this outcome so often. @returns its last result */
  readonly untilAudited: (call: Call, upstream: string, outcome: Outcome, times?: number) => Promise<unknown>;
  /** A network file with these nodes. */
  readonly file: (more?: object, keys?: readonly object[]) => Record<string, object>;
}

/** Options of a network that audits a share of the reads. @param share undefined: it audits none */
export function observing(share?: number): object {
  return { verify: { nulls: 'never', ...(share !== undefined && { level: 'observe', share }) } };
}

/**
 * Starts a gateway that audits every read, in front of one node for each chain, until the test ends. Node 0 gets the calls.
 * @param keys of each upstream in the network file, beside name and url
 */
export async function withAudits(
  chains: readonly (readonly HashedBlock[])[],
  more: object = {},
  keys: readonly object[] = [],
  env: Record<string, string> = {},
): Promise<WithAudits> {
  const nodes = await Promise.all(
    chains.map((blocks) => startFakeNode({ chainId: CHAIN_ID, responses: honest(blocks) })),
  );
  const logLines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write: (line: Buffer, _, done) => {
      logLines.push(JSON.parse(line.toString()) as Record<string, unknown>);
      done();
    },
  });
  const file: WithAudits['file'] = (changed = {}, changedKeys = keys) => {
    const upstreams = nodes.map(({ url }, index) => ({
      name: `node-${index}`,
      url,
      batch: false,
      ...changedKeys[index],
    }));
    const options = {
      methods: ['eth'],
      failsafe: { hedgeAfterMs: 'off' },
      cache: 'off',
      ...observing(1),
      upstreams,
    };
    return { test: network(CHAIN_ID, [], { ...options, ...more, ...changed }) };
  };
  const gateway = await startGateway(file(), { CACHE_MAX_BYTES: '0', ...env }, pino({ level: 'info' }, stream));
  onTestFinished(async () => {
    await gateway.stop();
    await Promise.all(nodes.map((node) => node.close()));
  });
  const send: WithAudits['send'] = ([method, params]) => gateway.call('test', method, params);
  const count: WithAudits['count'] = async (upstream, outcome) => {
    let counted = 0;
    await eventually(async () => {
      const { opsPort } = gateway.gateway;
      const { value } = await readMetrics(opsPort === undefined ? gateway.address : `http://127.0.0.1:${opsPort}`);
      counted = value('gatehouse_audits_total', { network: 'test', upstream, outcome }) ?? 0;
      return (value('gatehouse_audits_in_progress', { network: 'test' }) ?? 0) === 0;
    });
    return counted;
  };
  return {
    ...{ gateway, nodes, logLines, send, count, file },
    untilAudited: async (call, upstream, outcome, times = 1) => {
      let result: unknown;
      await eventually(async () => {
        ({ result } = await send(call));
        return (await count(upstream, outcome)) >= times;
      }, 60_000);
      return result;
    },
  };
}
