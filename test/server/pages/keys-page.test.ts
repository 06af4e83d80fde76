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

async function open(adminToken = token): Promise<Tab> {
  const tab = await browser.open(`${ops}/keys`);
  await tab.evaluate(`document.querySelector('#token').value = '${adminToken}'; login.requestSubmit()`);
  return tab;
}
const textOf = (tab: Tab, id: string): Promise<string> =>
  tab.evaluate<string>(`document.getElementById('${id}').innerText`);
const waitForMessage = (tab: Tab, text: string): Promise<void> =>
  tab.waitFor(`message.innerText.includes(${JSON.stringify(text)})`);
const call = (key: string, method = 'eth_blockNumber') =>
  fetch(`${gateway.address}/five/v3/${key}`, { method: 'POST', body: `{"jsonrpc":"2.0","id":1,"method":"${method}"}` });

describe('the keys page', () => {
  it('is on the ops port only, and shows nothing without the token', async () => {
    expect((await fetch(`${gateway.address}/keys`, { headers: { accept: 'text/html' } })).status).toBe(404);
    const tab = await open('a-token-that-is-wrong');
    await waitForMessage(tab, 'expected the token of ADMIN_TOKEN');
    expect(await tab.evaluate('content.hidden')).toBe(true);
    expect(await tab.evaluate(`document.body.innerText.includes('test')`)).toBe(false);
  });

  it('creates a key, shows it once, changes its permissions, rotates and revokes it', async () => {
    const tab = await open();
    await tab.waitFor('!content.hidden');
    const field = (id: string, value: string) => tab.evaluate(`document.getElementById('${id}').value = '${value}'`);
    await field('name', 'alice');
    await field('new-methods', 'eth');
    await tab.evaluate('create.requestSubmit()');
    await waitForMessage(tab, 'Created key ');
    const key = await textOf(tab, 'credentials-text');
    expect((await call(key)).status).toBe(200);
    expect((await call(key, 'net_version')).status).toBe(403);

    await tab.evaluate(`[...list.querySelectorAll('button')].find(({ innerText }) => innerText === 'alice').click()`);
    await tab.waitFor(`document.getElementById('selected-title').innerText === 'alice'`);
    expect(await tab.evaluate(`document.getElementById('permission-methods').value`)).toBe('eth');
    await field('permission-rate', 'fast');
    await tab.evaluate('permissions.requestSubmit()');
    await waitForMessage(
      tab,
      'rate: expected number above 0, to 1000000000000, with at most 6 decimals (request units per second), got text',
    );
    await field('permission-rate', '50');
    await field('permission-methods', '');
    await tab.evaluate('permissions.requestSubmit()');
    await waitForMessage(tab, 'Saved permissions and limits of alice.');
    await tab.waitFor(`document.getElementById('permission-rate').value === '50'`);
    expect((await call(key, 'net_version')).status).toBe(200);

    await tab.evaluate('rotate.requestSubmit()');
    await waitForMessage(tab, 'replaces the old key, which stays valid for 24h.');
    const next = await textOf(tab, 'credentials-text');
    expect(next).not.toBe(key);
    expect((await call(next)).status).toBe(200);
    await tab.evaluate('revoke.click()');
    expect(await textOf(tab, 'revoke')).toBe('Confirm revocation');
    expect((await call(next)).status).toBe(200);
    await tab.evaluate('revoke.click()');
    await waitForMessage(tab, 'Revoked the key of alice.');
    expect((await call(next)).status).toBe(401);
    expect(
      await tab.evaluate(`[...document.getElementById('permissions').elements].every(({ disabled }) => disabled)`),
    ).toBe(true);
    expect(tab.errors.filter((text) => !text.includes('status of 400'))).toEqual([]);
  });

  it('plots the usage of a key by day and by method', async () => {
    await Promise.all([call(gateway.key), call(gateway.key), call(gateway.key, 'eth_getCode')]);
    const tab = await open();
    const choose = `[...list.querySelectorAll('button')].find(({ innerText }) => innerText === 'test').click()`;
    await tab.waitFor('!content.hidden');
    // Usage is written each second.
    await tab.waitFor(`(${choose}, usage.innerText.includes('3 calls, 1 error'))`);
    const bars = await tab.evaluate<string[]>(
      `[...usage.querySelectorAll('.bars code')].map(({ innerText }) => innerText)`,
    );
    expect(bars).toEqual(['eth_blockNumber', 'eth_getCode']);
    expect(await tab.evaluate(`usage.querySelector('svg title').textContent`)).toBe('3 calls, 1 error');
    expect(await tab.evaluate(`usage.querySelectorAll('.plot rect.calls').length`)).toBe(32);
  });

  it('shows the stored field `permissions` as capabilities', async () => {
    const tab = await open();
    await tab.waitFor('!content.hidden');
    const label = await tab.evaluate<string>(`document.querySelector('label[for=new-permissions]').textContent`);
    expect(label).toMatch(/^capabilities explain /);
  });

  it('fits a phone', async () => {
    const tab = await browser.open(`${ops}/keys`, { width: 360, height: 740, colours: 'dark' });
    await tab.evaluate(`document.querySelector('#token').value = '${token}'; login.requestSubmit()`);
    await tab.waitFor('!content.hidden');
    await tab.evaluate(`list.querySelector('button').click(); document.querySelector('details').open = true`);
    await tab.waitFor(`!document.getElementById('selected').hidden`);
    expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth && innerWidth')).toBe(360);
  });
});
