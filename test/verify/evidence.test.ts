import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { hashedBlock, hex, unclesHash, type HashedBlock } from './proofs/hashed-block.ts';
import { withVerification } from './with-verification.ts';

const CHAIN_ID = 1337;
const limit = { timeout: 120_000 };

describe('a block with uncles', limit, () => {
  const EMPTY_ROOT = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421';
  const EMPTY_LIST = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347';
  const empty = { transactionsRoot: EMPTY_ROOT, receiptsRoot: EMPTY_ROOT, withdrawalsRoot: EMPTY_ROOT } as const;
  const uncle = hashedBlock(99, `0x${'cd'.repeat(32)}`, 1);

  /** All but the last one have an uncle. */
  function blocksWithUncles(): HashedBlock[] {
    const blocks: HashedBlock[] = [];
    for (let number = 100; number <= 108; number++) {
      const uncles = number === 108 ? [] : [uncle];
      const sha3Uncles = uncles.length === 0 ? EMPTY_LIST : unclesHash(uncles);
      const parent = blocks.at(-1)?.hash ?? `0x${'ef'.repeat(32)}`;
      const block = hashedBlock(number, parent, 0, { ...empty, sha3Uncles });
      blocks.push({ ...block, uncles: uncles.map(({ hash }) => hash) });
    }
    return blocks;
  }

  it('is proven, and proves what it has, however many there are in a row', async () => {
    const blocks = blocksWithUncles();
    const find = ([which]: readonly unknown[]): HashedBlock | undefined =>
      which === 'latest' ? blocks.at(-1) : blocks.find(({ number, hash }) => number === which || hash === which);
    const responses = {
      ...{ eth_getBlockByNumber: (params: readonly unknown[]) => find(params) ?? null },
      ...{ eth_getBlockByHash: (params: readonly unknown[]) => find(params) ?? null, eth_blockNumber: hex(108) },
      eth_getBlockTransactionCountByHash: '0x0',
      eth_getUncleCountByBlockHash: (params: readonly unknown[]) => hex((find(params)?.['uncles'] as []).length),
      eth_getUncleByBlockHashAndIndex: ([, index]: readonly unknown[]) => (index === '0x0' ? uncle : null),
    };
    const nodes = await Promise.all([0, 1].map(() => startFakeNode({ chainId: CHAIN_ID, responses })));
    onTestFinished(() => Promise.all(nodes.map((node) => node.close())).then(() => undefined));
    const { send, count } = await withVerification(
      CHAIN_ID,
      nodes.map(({ url }) => url),
    );
    const calls: readonly (readonly [method: string, ...params: boolean[]])[] = [
      ['eth_getBlockTransactionCountByHash'],
      ['eth_getUncleCountByBlockHash'],
      ['eth_getBlockByHash', true],
      ['eth_getBlockByHash', false],
    ];
    for (const { hash } of blocks)
      for (const [method, ...more] of calls) {
        const { error, verified } = await send(method, [hash, ...more]);
        expect([method, error, verified]).toEqual([method, undefined, 'root']);
      }
    for (const node of ['node-0', 'node-1']) expect(await count(node, 'differs')).toBe(0);
  });
});

describe('evidence', limit, () => {
  let anvil: Anvil;
  beforeAll(async () => {
    anvil = await startAnvil({ chainId: CHAIN_ID });
  });
  afterAll(() => anvil.stop());

  const receipt = () => ['eth_getTransactionReceipt', [anvil.chain.setTransaction]] as const;
  const logs = () =>
    ['eth_getLogs', [{ blockHash: anvil.chain.blockHash, address: anvil.chain.counter.address }]] as const;

  it('that does not arrive in the time of the first caller is requested again for one with time left', async () => {
    const env = { CALL_TIMEOUT_MS: '12000' };
    const { send, nodes } = await withVerification(CHAIN_ID, [anvil.url, anvil.url], undefined, env);
    await send('eth_blockNumber', []);
    // Each node hangs at its first request.
    const requests = [0, 0];
    for (const [at, node] of nodes.entries())
      node.lie('eth_getBlockReceipts', async (receipts) => {
        requests[at] = (requests[at] ?? 0) + 1;
        if (requests[at] === 1) await new Promise(() => undefined);
        return receipts;
      });
    const first = send(...receipt());
    await eventually(() => requests[1] === 1);
    await scenarioPause(6_000);
    const second = send(...logs());
    expect((await first).error).toBeDefined();
    expect(await second).toMatchObject({ verified: 'root', result: [{ address: anvil.chain.counter.address }] });
    expect(requests).toEqual([0, 2]);
  });

  it('is requested once for callers who wait for it, and their departure ends it only together', async () => {
    const { send, nodes, gateway } = await withVerification(CHAIN_ID, [anvil.url, anvil.url]);
    await send('eth_blockNumber', []);
    let requests = 0;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    nodes[1]?.lie('eth_getBlockReceipts', async (receipts) => {
      requests++;
      await held;
      return receipts;
    });
    const [method, params] = receipt();
    const departure = new AbortController();
    const first = fetch(`${gateway.address}/test/v3/${gateway.key}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: departure.signal,
    });
    await eventually(() => requests === 1);
    const second = send(...logs());
    await eventually(() => nodes[0]?.methods.includes('eth_getLogs') === true);
    // The second one joins the first.
    await scenarioPause(2_000);
    departure.abort();
    await expect(first).rejects.toThrow('aborted');
    await scenarioPause(300);
    release();
    expect(await second).toMatchObject({ verified: 'root' });
    expect(requests).toBe(1);
  });

  it('takes its bytes from the memory budget, for its caller', async () => {
    const env = { BODIES_MAX_BYTES: '4000000' };
    const { send, nodes } = await withVerification(CHAIN_ID, [anvil.url, anvil.url], undefined, env);
    await send('eth_blockNumber', []);
    const padding = 'x'.repeat(3_000_000);
    nodes[1]?.lie('eth_getBlockReceipts', ([one, ...more]: readonly object[]) => [{ ...one, padding }, ...more]);
    const { error, verified } = await send(...receipt());
    expect(error?.message).toMatch(/memory|buffer|in progress/);
    expect(verified).toBeNull();
    nodes[1]?.lie('eth_getBlockReceipts', undefined);
    expect((await send(...receipt())).verified).toBe('root');
  });

  it('for which there is no memory leaves the result unproven with `enforce`', async () => {
    const env = { BODIES_MAX_BYTES: '4000000' };
    const { send, nodes } = await withVerification(CHAIN_ID, [anvil.url, anvil.url], { verify: 'enforce' }, env);
    await send('eth_blockNumber', []);
    const padding = 'x'.repeat(3_000_000);
    nodes[1]?.lie('eth_getBlockReceipts', ([one, ...more]: readonly object[]) => [{ ...one, padding }, ...more]);
    const { error, result, verified } = await send(...receipt());
    expect([error, verified]).toEqual([undefined, 'no']);
    expect(result).toMatchObject({ transactionHash: anvil.chain.setTransaction });
  });

  it('and its result count towards the memory budget until the check ends', async () => {
    const { send, nodes, gateway } = await withVerification(CHAIN_ID, [anvil.url, anvil.url]);
    await send('eth_blockNumber', []);
    const padding = 'x'.repeat(200_000);
    nodes[0]?.lie('eth_getLogs', (logs: readonly object[]) => logs.map((log) => ({ ...log, padding })));
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let requests = 0;
    nodes[1]?.lie('eth_getBlockReceipts', async (receipts) => {
      requests++;
      await held;
      return receipts;
    });
    const buffered = async (): Promise<number> =>
      (await readMetrics(gateway.address)).value('gatehouse_buffered_bytes') ?? NaN;
    const before = await buffered();
    const response = send(...logs());
    await eventually(() => requests === 1);
    expect((await buffered()) - before).toBeGreaterThan(padding.length);
    release();
    await response;
    await eventually(async () => (await buffered()) <= before);
  });
});
