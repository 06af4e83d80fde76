import { describe, expect, it, onTestFinished } from 'vitest';
import { Differences } from '../../gateway/observability/differences.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import type { MethodSpec } from '../../gateway/spec/method-spec.ts';
import { startChromium, type Tab } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { rpcError } from '../support/fake-node.ts';
import {
  account,
  balanceCall,
  blocksTo,
  honest,
  receiptCall,
  transaction,
  withAudits,
  type WithAudits,
} from '../verify/audits/with-audits.ts';

const blocks = blocksTo();
const lie = '0xffff';
const withOps = { RECENT_CALLS_PARAMS: 'shown', OPS_PORT: '0', ADMIN_TOKEN: 'T0ken-0f-an-operator' };

interface Shown {
  readonly at: string;
  readonly count: number;
  readonly method: string;
  readonly block?: string;
  readonly params?: string;
  readonly reason: string;
  readonly member?: string;
  readonly upstreams: readonly string[];
  readonly values?: readonly { readonly upstream: string; readonly value: string }[];
}

const addressesOf = ({ gateway }: WithAudits): { readonly main: string; readonly ops: string } => {
  return { main: gateway.address, ops: `http://127.0.0.1:${gateway.gateway.opsPort ?? 0}` };
};

async function differencesOf(
  all: WithAudits,
  port: 'main' | 'ops',
): Promise<{ text: string; shown: readonly Shown[] }> {
  const response = await fetch(`${addressesOf(all)[port]}/test`, { headers: { accept: 'application/json' } });
  const text = await response.text();
  const { networks } = JSON.parse(text) as { networks: readonly { differences: readonly Shown[] }[] };
  return { text, shown: networks[0]?.differences ?? [] };
}

const undecided = 'two upstreams differ, and no third one decides';

it('two results that differ are on the page of their network, at the ops port with both values', async () => {
  const all = await withAudits([blocks, blocks], {}, [], withOps);
  expect((await differencesOf(all, 'main')).shown).toEqual([]);
  all.nodes[0]?.response('eth_getBalance', lie);
  await all.untilAudited(balanceCall, 'node-0', 'differs');
  const { shown } = await differencesOf(all, 'ops');
  expect(shown[0]).toMatchObject({
    ...{ method: 'eth_getBalance', reason: undecided, upstreams: ['node-0', 'node-1'] },
    values: [
      { upstream: 'node-0', value: lie },
      { upstream: 'node-1', value: expect.stringMatching(/^0x[0-9a-f]+$/) as string },
    ],
  });
  expect(shown[0]?.block).toMatch(/^0x/);
  expect(shown[0]?.params).toContain(account);

  const browser = await startChromium();
  onTestFinished(() => browser.close());
  const sectionAt = async (address: string): Promise<[string, Tab]> => {
    const tab = await browser.open(`${address}/test`);
    await tab.waitFor(`document.querySelector('#difference-table tbody tr') !== null`);
    return [await tab.evaluate<string>(`document.querySelector('#differences').innerText`), tab];
  };
  const { main, ops } = addressesOf(all);
  const [section, tab] = await sectionAt(ops);
  expect(section).toContain('Two upstreams cannot tell which of them is wrong when no third one decides.');
  expect(section).toMatch(/eth_getBalance[\s\S]*node-0: 0xffff\s+node-1: 0x[0-9a-f]+/);
  const [publicSection, publicTab] = await sectionAt(main);
  expect(publicSection).toMatch(/eth_getBalance[\s\S]*node-0, node-1[\s\S]*no third one decides/);
  expect(publicSection).not.toMatch(/0x/);
  expect([...tab.errors, ...publicTab.errors]).toEqual([]);
}, 90_000);

describe('the public page shows nothing that a caller requested or got', () => {
  const publicMembers = ['at', 'count', 'method', 'reason', 'upstreams'];

  it('as a block hash, a balance, a transaction or an account in a member', async () => {
    const all = await withAudits([blocks, blocks], { verify: { nulls: 'never', agree: { 'eth_*': 2 } } }, [], withOps);
    const { eth_getTransactionReceipt: receipt } = honest(blocks);
    const [first, second] = all.nodes;
    second?.response('eth_getTransactionReceipt', () => ({ ...receipt(), status: '0x0' }));
    const hash = blocks[5]?.hash ?? '';
    first?.response('eth_getBalance', lie);
    const slots = { address: account, storageProof: [{ key: '0x1', value: '0x2', proof: [] }] };
    first?.response('eth_getProof', slots);
    second?.response('eth_getProof', { ...slots, storageProof: [{ key: '0x1', value: '0x3', proof: [] }] });
    await all.send(receiptCall);
    await all.send(['eth_getBalance', [account, { blockHash: hash }]]);
    await all.send(['eth_getProof', [account, ['0x1'], 'latest']]);
    expect((await differencesOf(all, 'ops')).shown).toHaveLength(3);
    const { text, shown } = await differencesOf(all, 'main');
    expect(shown.map((row) => Object.keys(row).sort())).toEqual(Array.from({ length: 3 }, () => publicMembers));
    for (const secret of [account, transaction, hash, lie]) expect(text).not.toContain(secret);
  }, 90_000);

  it('and no message of an upstream is on any page: of an error, only the code', async () => {
    const all = await withAudits([blocks, blocks], { verify: { nulls: 'never', agree: { eth_call: 2 } } }, [], withOps);
    all.nodes[0]?.response('eth_call', rpcError(3, 'execution reverted', '0x'));
    all.nodes[1]?.response('eth_call', '0x01');
    expect(await all.send(['eth_call', [{ to: account }, 'latest']])).toHaveProperty('error');
    const { text, shown } = await differencesOf(all, 'ops');
    expect(text).not.toContain('reverted');
    expect(shown[0]?.values).toEqual([
      { upstream: 'node-0', value: 'error 3' },
      { upstream: 'node-1', value: '0x01' },
    ]);
    expect((await differencesOf(all, 'main')).text).not.toContain('reverted');
  }, 90_000);
});

it('what `agree` found has the first member that differs, of those that are compared', async () => {
  const all = await withAudits(
    [blocks, blocks],
    { verify: { nulls: 'never', agree: { eth_getTransactionReceipt: 2 } } },
    [],
    withOps,
  );
  const { eth_getTransactionReceipt: receipt } = honest(blocks);
  all.nodes[0]?.response('eth_getTransactionReceipt', () => ({ l1Fee: '0x1', ...receipt() }));
  all.nodes[1]?.response('eth_getTransactionReceipt', () => ({ l1Fee: '0x2', ...receipt(), status: '0x0' }));
  expect(await all.send(receiptCall)).toHaveProperty('error');
  const { shown } = await differencesOf(all, 'ops');
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

it('an upstream that differs from one other says so, until the file gives its name to another URL', async () => {
  const all = await withAudits([blocks, blocks], {}, [], withOps);
  all.nodes[0]?.response('eth_getBalance', lie);
  await all.untilAudited(balanceCall, 'node-0', 'differs');
  const degraded = async (): Promise<unknown> => {
    const response = await fetch(`${addressesOf(all).ops}/readyz`);
    return ((await response.json()) as { networks: { test: { degraded?: unknown } } }).networks.test.degraded;
  };
  await eventually(async () => (await degraded()) !== undefined);
  expect(await degraded()).toEqual({
    'node-0': 'audits: differs from node-1, no third decides, last now',
    'node-1': 'audits: differs from node-0, no third decides, last now',
  });
  all.nodes[0]?.response('eth_getBalance', honest(blocks).eth_getBalance);
  all.gateway.save(all.file({}, [{ url: `${all.nodes[0]?.url ?? ''}/other` }, {}]));
  await all.gateway.gateway.reload();
  await eventually(async () => {
    await all.send(balanceCall);
    return !Object.hasOwn((await degraded()) as object, 'node-0');
  });
}, 90_000);

describe('the rows', () => {
  const code = methods.find(({ name }) => name === 'eth_getCode') as MethodSpec;
  const balance = methods.find(({ name }) => name === 'eth_getBalance') as MethodSpec;
  const values = (value: unknown) => [
    { upstream: 'one', value },
    { upstream: 'other', value: { code: ['0x'] } },
  ];

  it('have at most 66 characters of each value, and no large object', () => {
    const differences = new Differences(undefined);
    const found = { method: code, params: ['0x1', '0x2'], reason: 'differ', path: [] };
    differences.add({ ...found, values: values(`0x${'a'.repeat(500)}`) });
    expect(differences.latest()[0]?.values.map(({ value }) => value)).toEqual([`0x${'a'.repeat(63)}…`, 'an object']);
    differences.add({ ...found, path: ['code', 'a'.repeat(500)], values: values('0x') });
    expect(differences.latest()[0]?.member).toHaveLength(100);
  });

  it('count what one method repeats, the latest one first, and are 20 at most', () => {
    const differences = new Differences(undefined);
    const add = (method: MethodSpec, reason: string, path: readonly string[], block: string): void => {
      differences.add({ method, params: ['0x1', block], reason, path, values: values('0x') });
    };
    add(balance, 'differ', [], '0x0');
    add(code, 'agree', [], '0x0');
    for (let count = 1; count <= 50; count++) add(code, 'differ', ['logs', String(count), 'data'], `0x${count}`);
    const shown = (): unknown[] => differences.latest().map(({ method, count, block }) => [method, count, block]);
    const [first, last] = [
      ['eth_getCode', 50, '0x50'],
      ['eth_getCode', 1, '0x0'],
    ];
    expect(shown()).toEqual([first, last, ['eth_getBalance', 1, '0x0']]);
    add(balance, 'differ', [], '0x9');
    expect(shown()).toEqual([['eth_getBalance', 2, '0x9'], first, last]);
    for (let count = 0; count < 30; count++) add(code, `reason ${count}`, [], '0x1');
    expect(differences.latest().map(({ reason }) => reason)).toEqual(
      Array.from({ length: 20 }, (_, index) => `reason ${29 - index}`),
    );
  });
});
