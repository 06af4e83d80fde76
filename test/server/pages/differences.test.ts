import { expect, it, onTestFinished } from 'vitest';
import { Differences } from '../../../gateway/observability/differences.ts';
import { methods } from '../../../gateway/spec/methods.generated.ts';
import { startChromium } from '../../support/chromium.ts';
import {
  balanceCall,
  blocksTo,
  honest,
  receiptCall,
  withAudits,
  type WithAudits,
} from '../../verify/observe/with-audits.ts';

const blocks = blocksTo();
const lie = '0xffff';

interface Shown {
  readonly method: string;
  readonly block?: string;
  readonly params?: string;
  readonly reason: string;
  readonly values: readonly { readonly upstream: string; readonly value: string }[];
}

async function differencesOf({ gateway }: WithAudits): Promise<{ text: string; shown: readonly Shown[] }> {
  const response = await fetch(`${gateway.address}/test`, { headers: { accept: 'application/json' } });
  const text = await response.text();
  const { networks } = JSON.parse(text) as { networks: readonly { differences: readonly Shown[] }[] };
  return { text, shown: networks[0]?.differences ?? [] };
}

it('two results that differ are on the page of their network, with both values, also if no third upstream decides', async () => {
  const all = await withAudits([blocks, blocks], {}, [], { RECENT_CALLS_PARAMS: 'shown' });
  expect((await differencesOf(all)).shown).toEqual([]);
  all.nodes[0]?.response('eth_getBalance', lie);
  await all.untilAudited(balanceCall, 'node-0', 'differs');
  const { text, shown } = await differencesOf(all);
  expect(shown[0]).toMatchObject({
    ...{ method: 'eth_getBalance', reason: 'two upstreams differ, and no third one decides' },
    values: [
      { upstream: 'node-0', value: lie },
      { upstream: 'node-1', value: expect.stringMatching(/^0x[0-9a-f]+$/) as string },
    ],
  });
  expect(shown[0]?.block).toMatch(/^0x/);
  // The page is public: it does not show what callers request.
  expect(text).not.toContain(balanceCall[1][0]);

  const browser = await startChromium();
  onTestFinished(() => browser.close());
  const tab = await browser.open(`${all.gateway.address}/test`);
  await tab.waitFor(`document.querySelector('#difference-table tbody tr') !== null`);
  const section = await tab.evaluate<string>(`document.querySelector('#differences').innerText`);
  expect(section).toContain('Two upstreams cannot tell which of them is wrong when no third one decides.');
  expect(section).toMatch(/eth_getBalance[\s\S]*node-0: 0xffff\s+node-1: 0x[0-9a-f]+/);
  expect(tab.errors).toEqual([]);
}, 90_000);

it('what `agree` found has the first member that differs', async () => {
  const all = await withAudits([blocks, blocks], { audit: 0, agree: { eth_getTransactionReceipt: 2 } });
  const { eth_getTransactionReceipt: receipt } = honest(blocks);
  all.nodes[1]?.response('eth_getTransactionReceipt', () => ({ ...receipt(), status: '0x0' }));
  expect(await all.send(receiptCall)).toHaveProperty('error');
  const { shown } = await differencesOf(all);
  expect(shown).toMatchObject([
    {
      ...{ method: 'eth_getTransactionReceipt', member: 'status', reason: 'agree: 2 upstreams must return the same' },
      values: [
        { upstream: 'node-0', value: '0x1' },
        { upstream: 'node-1', value: '0x0' },
      ],
    },
  ]);
}, 90_000);

it('the latest 20 are kept, at most 66 characters of each value, and no large object', () => {
  const differences = new Differences(undefined);
  const method = methods.find(({ name }) => name === 'eth_getCode');
  if (method === undefined) throw new Error('no such method');
  const values = [
    { upstream: 'one', value: `0x${'a'.repeat(500)}` },
    { upstream: 'other', value: { code: ['0x'] } },
  ];
  for (let count = 0; count < 25; count++) differences.add(method, ['0x1', `0x${count}`], 'differ', values);
  const rows = differences.latest();
  expect([rows.length, rows[0]?.block, rows.at(-1)?.block]).toEqual([20, '0x24', '0x5']);
  expect(rows[0]?.values.map(({ value }) => value)).toEqual([`0x${'a'.repeat(63)}…`, 'an object']);
});
