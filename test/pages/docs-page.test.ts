import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { runCurlLine } from '../e2e/curl.ts';
import { startChromium, type Chromium, type Tab } from '../support/chromium.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

const run = promisify(execFile);

let browser: Chromium;
let node: FakeNode;
let gateway: TestGateway;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 10, responses: { eth_getBalance: '0x2a' } });
  const methods = ['eth', 'debug_traceCall'];
  const five = network(5, [node.url], { name: 'Five' });
  // Its page is drawn in a fraction of the time.
  const small = network(10, [node.url], { name: 'Small', methods: ['eth_getBalance', 'debug_traceCall'] });
  [browser, gateway] = await Promise.all([
    startChromium(),
    startGateway({ ten: network(10, [node.url], { name: 'Ten', methods }), five, small }),
  ]);
}, 60_000);
afterAll(async () => {
  await browser.close();
  await gateway.stop();
  await node.close();
});

/** Opens the reference at a method, whose form is then shown. */
async function openMethod(method: string, slug: 'ten' | 'small' = 'ten'): Promise<Tab> {
  const tab = await browser.open(`${gateway.address}/${slug}/docs#${method}`);
  await tab.waitFor(`document.querySelector('#${method} textarea') !== null`);
  return tab;
}
const type = (tab: Tab, selector: string, text: string): Promise<unknown> =>
  tab.evaluate(
    `(input => { input.value = ${JSON.stringify(text)}; input.dispatchEvent(new Event('input')); })(document.querySelector('${selector}'))`,
  );
const click = (tab: Tab, selector: string): Promise<unknown> =>
  tab.evaluate(`document.querySelector('${selector}').click()`);
const textOf = (tab: Tab, selector: string): Promise<string> =>
  tab.evaluate(`document.querySelector('${selector}').innerText`);
const shownMethods = (tab: Tab): Promise<string[]> =>
  tab.evaluate(`[...document.querySelectorAll('#methods > details:not([hidden])')].map(({ id }) => id)`);

describe('the method reference', () => {
  it('describes each method of the network, opens the one in the URL, and sends a call', async () => {
    const tab = await openMethod('eth_getBalance');
    expect(await tab.evaluate('document.title')).toBe('Ten: methods · Gatehouse');
    const card = await textOf(tab, '#eth_getBalance');
    for (const text of ['20-byte address', 'block number or tag', 'optional', '-32602', 'hexadecimal quantity'])
      expect(card).toContain(text);
    expect((await shownMethods(tab)).length).toBeGreaterThan(25);
    expect(await tab.evaluate(`document.querySelector('#net_version')`)).toBeNull();
    await type(tab, '#key', gateway.key);
    await click(tab, '#eth_getBalance button');
    await tab.waitFor(
      `document.querySelector('#eth_getBalance pre[role=status]').innerText.includes('"result": "0x2a"')`,
    );
    expect(node.callsOf('eth_getBalance')).toHaveLength(1);
    // The key is sent to the gateway with the call, and stored nowhere.
    const urls = await tab.evaluate<string[]>(`performance.getEntriesByType('resource').map(({ name }) => name)`);
    expect(urls.filter((url) => url.includes(gateway.key))).toEqual([gateway.url('ten')]);
    expect(await tab.evaluate(`localStorage.length + sessionStorage.length + document.cookie.length`)).toBe(0);
    expect(await tab.evaluate(`location.href`)).toBe(`${gateway.address}/ten/docs#eth_getBalance`);
    expect(tab.errors).toEqual([]);
  });

  it('shows each call as code, with the entered key and parameters', async () => {
    const tab = await openMethod('eth_getBalance', 'small');
    const code = async (index: number): Promise<string> => {
      await click(tab, `#eth_getBalance [role=tab]:nth-child(${index})`);
      return textOf(tab, '#eth_getBalance [role=tabpanel]');
    };
    expect(await code(1)).toContain(`curl -sS ${gateway.address}/small/v3/<your key>`);
    await type(tab, '#key', gateway.key);
    await type(tab, '#eth_getBalance textarea', `[\n  "0x${'ab'.repeat(20)}",\n  "latest"\n]`);
    const [curl, viem, ethers] = [await code(1), await code(2), await code(3)];
    // An apostrophe ends the text of a shell.
    await type(tab, '#eth_getBalance textarea', `["it's"]`);
    const quoted = await code(1);
    expect(tab.errors).toEqual([]);

    expect(await runCurlLine(curl)).toMatchObject({ id: 1, result: '0x2a' });
    expect(node.callsOf('eth_getBalance').at(-1)?.params).toEqual([`0x${'ab'.repeat(20)}`, 'latest']);
    expect(await runCurlLine(quoted)).toMatchObject({ id: 1, error: { code: -32_602 } });
    const outputs = [viem, ethers].map(async (text) => {
      const args = ['--input-type=module', '--eval', `${text}\nprocess.exit(0);`];
      return (await run(process.execPath, args, { cwd: packageRoot })).stdout;
    });
    expect(await Promise.all(outputs)).toEqual(['0x2a\n', '0x2a\n']);
  }, 60_000);

  it('links to every type that it names, and back to the status', async () => {
    const tab = await browser.open(`${gateway.address}/docs`);
    await tab.waitFor(`document.querySelector('#types article') !== null`);
    const brokenLinks = `[...document.querySelectorAll('main a')].map((a) => a.hash.slice(1)).filter((id) => !document.getElementById(id))`;
    expect(await tab.evaluate(brokenLinks)).toEqual([]);
    expect(await tab.evaluate(`[...base.options].map(({ text }) => text)`)).toEqual([
      `${gateway.address}/five`,
      `${gateway.address}/small`,
      `${gateway.address}/ten`,
    ]);
    const links = `[...document.querySelectorAll('#links a')].map((a) => a.href.slice(location.origin.length))`;
    expect(await tab.evaluate(links)).toEqual(['/', '/openrpc.json']);
    const ofNetwork = await openMethod('eth_getBalance', 'small');
    expect(await ofNetwork.evaluate(links)).toEqual(['/small/', '/docs', '/small/openrpc.json']);
    await click(ofNetwork, '#status');
    await ofNetwork.waitFor(`document.title === 'Small · Gatehouse'`);
  });

  it('has no link to a status page that is not public', async () => {
    const methods = ['eth_getBalance'];
    const own = await startGateway({ ten: network(10, [node.url], { methods }) }, { STATUS_PAGE: 'off' });
    const tab = await browser.open(`${own.address}/ten/docs`);
    await tab.waitFor(`document.querySelector('#types article') !== null`);
    expect(await tab.evaluate(`document.querySelector('#status') === null`)).toBe(true);
    await own.stop();
  });

  it('shows why a call cannot be sent', async () => {
    const tab = await openMethod('debug_traceCall', 'small');
    const response = `document.querySelector('#debug_traceCall pre[role=status]').innerText`;
    await click(tab, '#debug_traceCall button');
    await tab.waitFor(`${response}.startsWith('Enter your key first')`);
    expect(await textOf(tab, '#key-error')).toBe('Enter your key first.');
    expect(await tab.evaluate(`document.activeElement.id`)).toBe('key');
    await type(tab, '#key', 'x');
    await type(tab, '#debug_traceCall textarea', '[');
    await click(tab, '#debug_traceCall button');
    await tab.waitFor(`${response}.startsWith('The request failed')`);
    expect(await textOf(tab, '#key-error')).toBe('');
    expect(tab.errors).toEqual([]);
  });

  it('finds methods by their name and what they do, and has the address of each', async () => {
    const tab = await browser.open(`${gateway.address}/ten/docs`, { width: 360, height: 740, colours: 'dark' });
    await tab.waitFor(`document.querySelector('#methods details') !== null`);
    await type(tab, '#search', 'getblockby');
    expect(await shownMethods(tab)).toEqual(['eth_getBlockByHash', 'eth_getBlockByNumber']);
    expect(await textOf(tab, '#found')).toBe('2 methods found.');
    await type(tab, '#search', 'balance WEI');
    expect(await shownMethods(tab)).toEqual(['eth_getBalance']);
    await type(tab, '#search', 'nothing');
    expect(await textOf(tab, '#found')).toBe('No method matches.');
    // A link to a method that the search hides shows it.
    await tab.evaluate(`location.hash = 'eth_call'`);
    await tab.waitFor(
      `document.querySelector('#eth_call').open && document.querySelector('#eth_call').checkVisibility()`,
    );
    await click(tab, '#eth_gasPrice summary');
    await tab.waitFor(`location.hash === '#eth_gasPrice'`);
    expect(tab.errors).toEqual([]);
  });
});
