import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChromium, type Chromium, type Tab } from '../../support/chromium.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';

const token = 'a-token-for-the-keys-page';
let browser: Chromium;
let node: FakeNode;
let gateway: TestGateway;
let ops: string;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_blockNumber: '0x10' } });
  const env = { OPS_PORT: '0', ADMIN_TOKEN: token };
  [browser, gateway] = await Promise.all([startChromium(), startGateway({ five: network(5, [node.url]) }, env)]);
  ops = `http://127.0.0.1:${gateway.gateway.opsPort ?? 0}`;
}, 60_000);
afterAll(async () => {
  await browser.close();
  await gateway.stop();
  await node.close();
});

async function open(given = token): Promise<Tab> {
  const tab = await browser.open(`${ops}/keys`);
  await tab.evaluate(`document.querySelector('#token').value = '${given}'; door.requestSubmit()`);
  return tab;
}
const textOf = (tab: Tab, id: string): Promise<string> =>
  tab.evaluate<string>(`document.getElementById('${id}').innerText`);
const said = (tab: Tab, words: string): Promise<void> =>
  tab.waitFor(`answer.innerText.includes(${JSON.stringify(words)})`);
const call = (key: string, method = 'eth_blockNumber') =>
  fetch(`${gateway.address}/five/v3/${key}`, { method: 'POST', body: `{"jsonrpc":"2.0","id":1,"method":"${method}"}` });

describe('the keys page', () => {
  it('is on the ops port only, and shows nothing without the token', async () => {
    expect((await fetch(`${gateway.address}/keys`, { headers: { accept: 'text/html' } })).status).toBe(404);
    const tab = await open('a-wrong-token-of-somebody');
    await said(tab, 'expected the token of ADMIN_TOKEN');
    expect(await tab.evaluate('inside.hidden')).toBe(true);
    expect(await tab.evaluate(`document.body.innerText.includes('test')`)).toBe(false);
  });

  it('makes a key, shows it once, changes what it may do, rotates and revokes it', async () => {
    const tab = await open();
    await tab.waitFor('!inside.hidden');
    const field = (id: string, value: string) => tab.evaluate(`document.getElementById('${id}').value = '${value}'`);
    await field('name', 'alice');
    await field('new-methods', 'eth');
    await tab.evaluate('create.requestSubmit()');
    await said(tab, 'alice has the key ');
    const key = await textOf(tab, 'once-text');
    expect((await call(key)).status).toBe(200);
    expect((await call(key, 'net_version')).status).toBe(403);

    await tab.evaluate(`[...list.querySelectorAll('button')].find(({ innerText }) => innerText === 'alice').click()`);
    await tab.waitFor(`document.getElementById('one-title').innerText === 'alice'`);
    expect(await tab.evaluate(`document.getElementById('rule-methods').value`)).toBe('eth');
    await field('rule-rate', 'fast');
    await tab.evaluate('rules.requestSubmit()');
    await said(tab, 'rate: expected request units per second');
    await field('rule-rate', '50');
    await field('rule-methods', '');
    await tab.evaluate('rules.requestSubmit()');
    await said(tab, 'What alice may do is changed.');
    await tab.waitFor(`document.getElementById('rule-rate').value === '50'`);
    expect((await call(key, 'net_version')).status).toBe(200);

    await tab.evaluate('rotate.requestSubmit()');
    await said(tab, 'takes the place of the old key, which goes on for 24h.');
    const next = await textOf(tab, 'once-text');
    expect(next).not.toBe(key);
    expect((await call(next)).status).toBe(200);
    await tab.evaluate('revoke.click()');
    expect(await textOf(tab, 'revoke')).toBe('Really revoke it?');
    expect((await call(next)).status).toBe(200);
    await tab.evaluate('revoke.click()');
    await said(tab, 'alice is revoked.');
    expect((await call(next)).status).toBe(401);
    expect(await tab.evaluate(`[...document.getElementById('rules').elements].every(({ disabled }) => disabled)`)).toBe(
      true,
    );
    expect(tab.errors.filter((one) => !one.includes('status of 400'))).toEqual([]);
  });

  it('draws what a key did, by day and by method', async () => {
    await Promise.all([call(gateway.key), call(gateway.key), call(gateway.key, 'eth_getCode')]);
    const tab = await open();
    const choose = `[...list.querySelectorAll('button')].find(({ innerText }) => innerText === 'test').click()`;
    await tab.waitFor('!inside.hidden');
    // Usage is written each second.
    await tab.waitFor(`(${choose}, usage.innerText.includes('3 calls, 1 error'))`);
    const bars = await tab.evaluate<string[]>(
      `[...usage.querySelectorAll('.bars code')].map(({ innerText }) => innerText)`,
    );
    expect(bars).toEqual(['eth_blockNumber', 'eth_getCode']);
    expect(await tab.evaluate(`usage.querySelector('svg title').textContent`)).toBe('3 calls, 1 error');
    expect(await tab.evaluate(`usage.querySelectorAll('.plot rect.calls').length`)).toBe(32);
  });

  it('fits a phone', async () => {
    const tab = await browser.open(`${ops}/keys`, { width: 360, height: 740, colours: 'dark' });
    await tab.evaluate(`document.querySelector('#token').value = '${token}'; door.requestSubmit()`);
    await tab.waitFor('!inside.hidden');
    await tab.evaluate(`list.querySelector('button').click(); document.querySelector('details').open = true`);
    await tab.waitFor('!one.hidden');
    expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth && innerWidth')).toBe(360);
  });
});
