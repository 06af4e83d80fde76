import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { reservedSlugs } from '../../gateway/network-files/options/check-texts.ts';
import { outcomes } from '../../gateway/metrics/outcome-class.ts';
import { startChromium, type Chromium, type OpenOptions, type Tab } from '../support/chromium.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { adminToken, fill, openPage, textAt } from './keys-gateway.ts';

const axe = readFileSync(join(packageRoot, 'node_modules/axe-core/axe.min.js'), 'utf8');
let browser: Chromium;
let node: FakeNode;
let dead: FakeNode;
let gateway: TestGateway;
let ops: string;

beforeAll(async () => {
  [browser, node, dead] = await Promise.all([
    startChromium(),
    startFakeNode({ chainId: 5, responses: { eth_gasPrice: '0x1' } }),
    startFakeNode({ chainId: 5 }),
  ]);
  await dead.refuse();
  const networks = { five: network(5, [dead.url, node.url]), six: network(5, [dead.url]) };
  gateway = await startGateway(networks, { OPS_PORT: '0', ADMIN_TOKEN: adminToken });
  ops = `http://127.0.0.1:${gateway.gateway.opsPort ?? 0}`;
  await gateway.call('six', 'eth_gasPrice');
  await gateway.call('five', 'eth_gasPrice');
  await gateway.call('five', 'eth_nope');
}, 60_000);
afterAll(async () => {
  await browser.close();
  await gateway.stop();
  await Promise.all([node.close(), dead.close()]);
});

const open = (path: string, options: OpenOptions = {}): Promise<Tab> => openPage(browser, ops, path, options);

async function findings(tab: Tab): Promise<string[]> {
  // Not as a script element, which the page's Content-Security-Policy rejects.
  await tab.evaluate(axe);
  return tab.evaluate(
    `axe.run({ rules: { 'target-size': { enabled: true } } }).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 120))))`,
  );
}

describe('the page of calls', () => {
  it('shows a failed call, and by the keyboard its attempts as bars', async () => {
    const tab = await open('/calls?network=six');
    await tab.waitFor(`document.querySelectorAll('#calls tbody tr').length > 0`);
    expect(await textAt(tab, '#calls tbody tr')).toMatch(/no-upstream[\s\S]*node-0: transport/);
    await tab.evaluate(`document.querySelector('#calls button').focus()`);
    await tab.press('Enter');
    expect(await tab.evaluate(`document.querySelectorAll('#calls .bar .failed').length`)).toBeGreaterThan(0);
    expect(await textAt(tab, '#calls .explanation')).toContain('transport: ');
    await tab.press('Enter');
    expect(await tab.evaluate(`document.querySelector('#calls .explanation') === null`)).toBe(true);
    expect(tab.errors).toEqual([]);
  });

  it('is filtered, and its address has the filters', async () => {
    const tab = await open('/calls');
    await fill(tab, 'outcome', 'method-not-found');
    await tab.press('Enter');
    await tab.waitFor(`location.search === '?outcome=method-not-found'`);
    await tab.waitFor(`document.querySelectorAll('#calls > table > tbody > tr').length === 1`);
    await fill(tab, 'method', 'nothing');
    await tab.press('Enter');
    await tab.waitFor(`!document.querySelector('#none').hidden`);
    const optionsOf = (id: string): Promise<string[]> =>
      tab.evaluate(`[...document.querySelectorAll('#${id} option')].map(({ value }) => value)`);
    expect(await optionsOf('networks')).toEqual(['five', 'six']);
    expect(await optionsOf('upstreams')).toEqual(['node-0', 'node-1']);
    // All that there are, also those that no row has.
    expect(await optionsOf('outcome')).toEqual(['', ...[...outcomes].sort()]);
    expect(tab.errors).toEqual([]);
  });

  it('shows the name of the key, the permission with its value, the Origin that was received, and who served a call', async () => {
    const headers = { authorization: `Bearer ${adminToken}` };
    const body = JSON.stringify({ name: 'web app', permissions: { origins: 'https://app.example.org' } });
    const created = await fetch(`${ops}/admin/keys`, { method: 'POST', headers, body });
    const { key } = (await created.json()) as { key: string };
    const call = { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_gasPrice' }) };
    const rejected = await fetch(`${gateway.address}/five/v3/${key}`, {
      ...call,
      headers: { 'content-type': 'application/json', origin: 'https://other.example.org' },
    });
    expect(rejected.status).toBe(403);
    const tab = await open('/calls');
    await tab.waitFor(`document.querySelector('#calls').innerText.includes('web app')`);
    const text = await textAt(tab, '#calls');
    expect(text).toContain('permission origins https://app.example.org: received https://other.example.org');
    expect(await tab.evaluate(`document.querySelector('#calls th:nth-child(6)').innerText`)).toBe('Served by');
    // Times are in UTC, and say so.
    expect(await textAt(tab, '#calls time')).toMatch(/^\d\d:\d\d:\d\dZ$/);
    expect(tab.errors).toEqual([]);
  });

  it('does not open with a wrong token', async () => {
    const tab = await browser.open(`${ops}/calls`);
    await fill(tab, 'token', 'a-wrong-token-of-this-test');
    await tab.press('Enter');
    await tab.waitFor(`document.querySelector('#token-error').innerText !== ''`);
    expect(await tab.evaluate(`document.querySelector('#session').hidden`)).toBe(true);
    expect(await tab.evaluate(`sessionStorage.length`)).toBe(0);
  });

  it('has one line for each row on a desktop, and ten rows on the screen of a phone; no word is broken', async () => {
    const desktop = await open('/calls', { width: 1_280, height: 900 });
    await desktop.waitFor(`document.querySelectorAll('#calls tbody tr').length > 1`);
    const heights = `[...document.querySelectorAll('#calls > table > tbody > tr')].map((row) => row.offsetHeight)`;
    // The button is 48 px high with its margins; a second line of text makes more.
    for (const height of await desktop.evaluate<number[]>(heights)) expect(height).toBeLessThanOrEqual(48);
    expect(await desktop.evaluate(`document.documentElement.scrollWidth <= innerWidth`)).toBe(true);
    const phone = await open('/calls', { width: 390, height: 844 });
    await phone.waitFor(`document.querySelectorAll('#calls tbody tr').length > 1`);
    for (const height of await phone.evaluate<number[]>(heights)) expect(height).toBeLessThanOrEqual(60);
    expect(await phone.evaluate(`document.documentElement.scrollWidth <= innerWidth`)).toBe(true);
    // Details are as wide as the table.
    await phone.evaluate(`document.querySelector('#calls button').click()`);
    const widths = `['#calls td[colspan]', '#calls > table'].map((each) => document.querySelector(each).offsetWidth)`;
    const [details, whole] = await phone.evaluate<number[]>(widths);
    expect(details).toBe(whole);
  });
});

describe('the page of events', () => {
  it('shows what failed, since when, and operations with who', async () => {
    const body = JSON.stringify({ name: 'app' });
    await fetch(`${ops}/admin/keys`, { method: 'POST', headers: { authorization: `Bearer ${adminToken}` }, body });
    const tab = await open('/events');
    await tab.waitFor(`document.querySelector('#events').innerText.includes('no upstream works')`);
    const text = await textAt(tab, '#events');
    expect(text).toMatch(/create [0-9a-f]{12}, by admin API/);
    expect(text).toMatch(/upstream\s+six\s+node-0\s+connection refused\s+▲ \d+ s, lasts/);
    expect(await textAt(tab, '#summary')).toMatch(/\d+ troubles now/);
    expect(tab.errors).toEqual([]);
  });

  it('needs no second token in the same tab', async () => {
    const tab = await open('/events');
    await tab.evaluate(`location.href = '/calls'`);
    await tab.waitFor(`location.pathname === '/calls' && !document.querySelector('#session').hidden`);
    expect(tab.errors).toEqual([]);
  });
});

it('the ops port has the navigation to all pages', async () => {
  const tab = await open('/events');
  expect(await textAt(tab, '#console')).toMatch(
    /^Overview\s+Networks\s+Methods\s+Keys\s+Usage\s+Upstreams\s+Calls\s+Events\s+Gatehouse /,
  );
  expect(await tab.evaluate(`document.querySelector('#console [aria-current]').innerText`)).toBe('Events');
  // No network can have the path of a page.
  const paths = await tab.evaluate<string[]>(
    `[...document.querySelectorAll('#console a')].map(({ pathname }) => pathname)`,
  );
  expect(paths.filter((path) => path !== '/' && !reservedSlugs.has(path.slice(1)))).toEqual([]);
  const methods = await fetch(`${ops}/docs`, { redirect: 'manual' });
  expect(methods.headers.get('location')).toBe(`${gateway.address}/docs`);
});

it('no page has what is typed spell-checked, which some browsers send to a server', async () => {
  const checked = `[...document.querySelectorAll('[type=text], [type=search], input:not([type]), textarea')].filter(({ spellcheck }) => spellcheck).map(({ id }) => id)`;
  for (const path of ['/keys', '/upstreams', '/calls', '/events']) {
    const tab = await open(path);
    await tab.waitFor(`document.querySelector('main input:not(#token)') !== null`);
    expect([path, await tab.evaluate(checked)]).toEqual([path, []]);
  }
  const network = await browser.open(`${gateway.address}/five`);
  await network.waitFor(`document.querySelector('#key') !== null`);
  expect(await network.evaluate(checked)).toEqual([]);
  const docs = await browser.open(`${gateway.address}/five/docs#eth_gasPrice`);
  await docs.waitFor(`document.querySelector('#params-eth_gasPrice') !== null`);
  expect(await docs.evaluate(checked)).toEqual([]);
});

it.each<[string, OpenOptions & { readonly width: number }]>([
  ['light', { colours: 'light', width: 1280 }],
  ['dark', { colours: 'dark', width: 1280 }],
  ['phone width', { width: 360, height: 740 }],
])(
  '%s: axe finds nothing on the pages of calls, events, usage and the overview, and nothing is wider than the screen',
  async (_, options) => {
    for (const path of ['/calls', '/events', '/usage', '/']) {
      const tab = await open(path, options);
      await tab.waitFor(`document.querySelector('tbody tr') !== null`);
      await tab.evaluate(`document.querySelector('#calls button')?.click()`);
      expect(await findings(tab)).toEqual([]);
      expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth && innerWidth')).toBe(
        options.width,
      );
      expect(tab.errors).toEqual([]);
    }
  },
  60_000,
);
