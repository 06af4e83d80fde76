import { describe, expect, it, onTestFinished } from 'vitest';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway } from '../support/gateway.ts';

const block = (number: string) => ({
  number,
  hash: `0x${number.slice(2).padStart(64, 'a')}`,
  parentHash: `0x${'a'.repeat(64)}`,
  gasLimit: '0x1c9c380',
  timestamp: '0x65000000',
  transactions: [],
});

/** Polls request blocks without transactions; the callers of these tests request them with transactions. */
function isPoll({ params }: { params: unknown }): boolean {
  return (params as [unknown, unknown])[1] === false;
}

describe('one upstream whose nodes differ in height', () => {
  const isRead = ({ params }: { params: unknown }): boolean => !isPoll({ params });

  /** A network with one upstream, whose successive responses are from nodes with these heads; the last one repeats. */
  async function oneAt(chainId = 7) {
    const node = await startFakeNode({ chainId });
    // No poll raises the head: the tests serve the blocks.
    node.response('eth_getBlockByNumber', () => block('0x5'));
    const gateway = await startGateway({ test: network(chainId, [node.url]) }, { CACHE_MAX_BYTES: '0' });
    onTestFinished(async () => {
      await gateway.stop();
      await node.close();
    });
    const next = (method: string, ...results: unknown[]): void => {
      node.response(method, (params: unknown) =>
        isPoll({ params }) ? block('0x5') : results.length > 1 ? results.shift() : results[0],
      );
    };
    const response = (method: string, params: unknown[] = []) => gateway.call('test', method, params);
    const result = async (method: string, params: unknown[] = []) =>
      (await response(method, params)).result as { number: string } | null | string;
    const requests = (method: string): number => node.callsOf(method).filter(isRead).length;
    const serve = async (number: string): Promise<void> => {
      next('eth_getBlockByNumber', block(number));
      expect(await result('eth_getBlockByNumber', ['latest', true])).toMatchObject({ number });
    };
    await serve('0x11');
    return { node, next, response, result, requests, serve };
  }

  it.each(['latest', 'safe', 'finalized'])(
    'gets a call once more if the %s block is older than a served one',
    async (tag) => {
      const { node, next, response, result, requests, serve } = await oneAt();
      if (tag !== 'latest') await result('eth_getBlockByNumber', [tag, true]);
      const before = requests('eth_getBlockByNumber');
      next('eth_getBlockByNumber', block('0x10'), block('0x11'));
      expect(await result('eth_getBlockByNumber', [tag, true])).toMatchObject({ number: '0x11' });
      expect(requests('eth_getBlockByNumber')).toBe(before + 2);
      // An older block is never served.
      next('eth_getBlockByNumber', block('0x10'), block('0xf'));
      expect(await response('eth_getBlockByNumber', [tag, true])).toMatchObject({ error: { code: -32603 } });
      const again = node.callsOf('eth_getBlockByNumber').filter(isRead).at(-1);
      expect(again?.params).toEqual([tag === 'latest' ? tag : '0x11', true]);
      expect(requests('eth_getBlockByNumber')).toBe(before + 4);
      await serve('0x12');
      expect(requests('eth_getBlockByNumber')).toBe(before + 5);
    },
  );

  it('gets a call once more if it returns null for a served block', async () => {
    const { next, result, requests } = await oneAt();
    next('eth_getBlockByNumber', null, block('0x11'));
    expect(await result('eth_getBlockByNumber', ['0x11', true])).toMatchObject({ number: '0x11' });
    expect(requests('eth_getBlockByNumber')).toBe(3);
    // This block was not served.
    next('eth_getBlockByNumber', null);
    expect(await result('eth_getBlockByNumber', ['0x12', true])).toBeNull();
    expect(requests('eth_getBlockByNumber')).toBe(4);
  });

  it('returns null twice for a served block: the call fails', async () => {
    const { next, response, requests } = await oneAt();
    next('eth_getBlockByNumber', null);
    expect(await response('eth_getBlockByNumber', ['0x11', true])).toMatchObject({ error: { code: -32603 } });
    expect(requests('eth_getBlockByNumber')).toBe(3);
  });

  it('does not decrease the result of eth_blockNumber', async () => {
    const { node, result } = await oneAt();
    node.response('eth_blockNumber', '0x10');
    expect(await result('eth_blockNumber')).toBe('0x11');
    node.response('eth_blockNumber', '0x12');
    expect(await result('eth_blockNumber')).toBe('0x12');
  });

  it('gets repeated calls within the retry budget', async () => {
    const { next, result, requests } = await oneAt();
    next('eth_getBlockByNumber', block('0x10'));
    for (let calls = 0; calls < 50; calls++) await result('eth_getBlockByNumber', ['latest', true]);
    // 20, and 20 % of the calls.
    expect(requests('eth_getBlockByNumber')).toBeGreaterThanOrEqual(51 + 20);
    expect(requests('eth_getBlockByNumber')).toBeLessThanOrEqual(51 + 20 + 11);
  });

  it('may go back at once on a development chain', async () => {
    const { node, next, result, requests } = await oneAt(1337);
    next('eth_getBlockByNumber', block('0x10'));
    node.response('eth_blockNumber', '0x10');
    expect(await result('eth_getBlockByNumber', ['latest', true])).toMatchObject({ number: '0x10' });
    expect(await result('eth_blockNumber')).toBe('0x10');
    expect(requests('eth_getBlockByNumber')).toBe(2);
  });
});
