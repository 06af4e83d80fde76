import { expect, it, onTestFinished } from 'vitest';
import { startFakeNode } from '../../support/fake-node.ts';
import { network, startGateway } from '../../support/gateway.ts';
import { diagnosticsOf, good } from '../../network-files/load.ts';

it('wallets get the currency and explorer of the network file, or else those of the known chain', async () => {
  const node = await startFakeNode({ chainId: 424_242 });
  const own = { currency: 'GLD', explorer: 'https://explorer.example.org' };
  const gateway = await startGateway({
    own: network(424_242, [node.url], own),
    unknown: network(424_242, [node.url]),
    polygon: network(137, [node.url], { explorer: 'http://10.0.0.9:4000/polygon' }),
  });
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  const factsOf = async (slug: string): Promise<unknown> => {
    const response = await fetch(`${gateway.address}/${slug}`, { headers: { accept: 'application/json' } });
    const { networks } = (await response.json()) as { networks: Record<string, unknown>[] };
    return { currency: networks[0]?.['currency'], explorer: networks[0]?.['explorer'] };
  };
  expect(await factsOf('own')).toEqual({ ...own, currency: { name: 'GLD', symbol: 'GLD', decimals: 18 } });
  expect(await factsOf('unknown')).toEqual({ currency: { name: 'Ether', symbol: 'ETH', decimals: 18 } });
  expect(await factsOf('polygon')).toEqual({
    currency: { name: 'POL', symbol: 'POL', decimals: 18 },
    explorer: 'http://10.0.0.9:4000/polygon',
  });
});

it.each([
  ['currency: Gold coins', '6:11 currency: expected symbol of 1 to 11 letters and digits'],
  ['explorer: explorer.example.org', '6:11 explorer: expected http or https URL without user'],
])('%s is an error', (line, diagnostic) => {
  expect(diagnosticsOf([...good, line])).toEqual([diagnostic]);
});
