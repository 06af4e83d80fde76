import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChromium, type Chromium } from '../../support/chromium.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';

let browser: Chromium;
let node: FakeNode;
let gateway: TestGateway;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 10, responses: { eth_getBalance: '0x2a' } });
  const methods = ['eth', 'debug_traceCall'];
  const five = network(5, [node.url], { name: 'Five' });
  [browser, gateway] = await Promise.all([
    startChromium(),
    startGateway({ ten: network(10, [node.url], { name: 'Ten', methods }), five }),
  ]);
}, 60_000);
afterAll(async () => {
  await browser.close();
  await gateway.stop();
  await node.close();
});

describe('the method reference', () => {
  it('describes each method of the network, opens the one in the URL, and sends a call', async () => {
    const tab = await browser.open(`${gateway.address}/ten/docs#eth_getBalance`);
    await tab.waitFor(`document.querySelector('#eth_getBalance')?.open`);
    expect(await tab.evaluate('document.title')).toBe('Ten: methods · Gatehouse');
    const card = await tab.evaluate<string>(`document.querySelector('#eth_getBalance').innerText`);
    for (const text of ['20-byte address', 'block number or tag', 'optional', '-32602', 'hexadecimal quantity'])
      expect(card).toContain(text);
    expect(await tab.evaluate(`document.querySelectorAll('#methods > details').length`)).toBeGreaterThan(25);
    expect(await tab.evaluate(`document.querySelector('#net_version')`)).toBeNull();
    await tab.evaluate(`key.value = '${gateway.key}'; document.querySelector('#eth_getBalance button').click()`);
    await tab.waitFor(
      `document.querySelector('#eth_getBalance pre[role=status]').innerText.includes('"result": "0x2a"')`,
    );
    expect(node.callsOf('eth_getBalance')).toHaveLength(1);
    expect(tab.errors).toEqual([]);
  });

  it('links to every type that it names', async () => {
    const tab = await browser.open(`${gateway.address}/docs`);
    await tab.waitFor(`document.querySelector('#types article') !== null`);
    const brokenLinks = `[...document.querySelectorAll('main a')].map((a) => a.hash.slice(1)).filter((id) => !document.getElementById(id))`;
    expect(await tab.evaluate(brokenLinks)).toEqual([]);
    expect(await tab.evaluate(`[...base.options].map(({ text }) => text)`)).toEqual([
      `${gateway.address}/five`,
      `${gateway.address}/ten`,
    ]);
  });

  it('shows why a call cannot be sent', async () => {
    const tab = await browser.open(`${gateway.address}/ten/docs#debug_traceCall`);
    await tab.waitFor(`document.querySelector('#debug_traceCall')?.open`);
    const response = `document.querySelector('#debug_traceCall pre[role=status]').innerText`;
    await tab.evaluate(`document.querySelector('#debug_traceCall button').click()`);
    await tab.waitFor(`${response}.startsWith('Enter your key first')`);
    await tab.evaluate(
      `key.value = 'x'; document.querySelector('#debug_traceCall textarea').value = '['; document.querySelector('#debug_traceCall button').click()`,
    );
    await tab.waitFor(`${response}.startsWith('The request failed')`);
    expect(tab.errors).toEqual([]);
  });

  it('finds methods by a part of their name, and fits a phone', async () => {
    const tab = await browser.open(`${gateway.address}/ten/docs`, { width: 360, height: 740, colours: 'dark' });
    await tab.waitFor(`document.querySelector('#methods details') !== null`);
    await tab.evaluate(`search.value = 'getblockby'; search.dispatchEvent(new Event('input')); 1`);
    const shown = `[...document.querySelectorAll('#methods > details:not([hidden])')].map(({ id }) => id)`;
    expect(await tab.evaluate(shown)).toEqual(['eth_getBlockByHash', 'eth_getBlockByNumber']);
    await tab.evaluate(
      `document.querySelectorAll('details').forEach((each) => { each.hidden = false; each.open = true; })`,
    );
    expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth && innerWidth')).toBe(360);
  });
});
