import { expect, it, onTestFinished } from 'vitest';
import { slow } from '../support/behaviours.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway } from '../support/gateway.ts';
import { blockAt, storageParams, word } from './with-nodes.ts';

const CHAIN_ID = 7;
const slugs = Array.from({ length: 12 }, (_, index) => `network-${index}`);
const unknown = `0x${'ab'.repeat(32)}`;
const lookups: readonly [string, ...unknown[]][] = [
  ['eth_getTransactionByHash', unknown],
  ['eth_getTransactionReceipt', unknown],
  ['eth_getBlockByHash', unknown, false],
  ['eth_getTransactionByBlockHashAndIndex', unknown, '0x0'],
];

// The first call starts a poll of each upstream, whose response comes while the lookups are in progress.
it.each([0, 20, 150])('the first lookups of a network are null where upstreams %i ms away have null', async (ms) => {
  const responses = {
    eth_getStorageAt: word(1),
    eth_getBlockByNumber: blockAt('0x10'),
    ...Object.fromEntries(lookups.map(([method]) => [method, null])),
  };
  const nodes = await Promise.all([1, 2].map(() => startFakeNode({ chainId: CHAIN_ID, responses })));
  for (const node of nodes) {
    node.always(slow(ms), 'eth_getBlockByNumber');
    for (const [method] of lookups) node.always(slow(ms + 50), method);
  }
  const file = network(
    CHAIN_ID,
    nodes.map(({ url }) => url),
    { failsafe: { hedgeAfterMs: 'off' } },
  );
  const gateway = await startGateway(Object.fromEntries(slugs.map((slug) => [slug, file])));
  onTestFinished(async () => {
    await gateway.stop();
    await Promise.all(nodes.map((node) => node.close()));
  });
  const found = await Promise.all(
    slugs.map(async (slug) => {
      expect(await gateway.call(slug, 'eth_getStorageAt', storageParams)).toMatchObject({ result: word(1) });
      const responses = await Promise.all(lookups.map(([method, ...params]) => gateway.call(slug, method, params)));
      return responses.map(({ result, error }) => error ?? result);
    }),
  );
  expect(found.flat().filter((result) => result !== null)).toEqual([]);
});
