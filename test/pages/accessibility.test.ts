import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { startChromium, type Chromium, type OpenOptions, type Tab } from '../support/chromium.ts';
import {
  adminToken,
  appKeys,
  click,
  fill,
  openKeys,
  startKeysGateway,
  waitForFocus,
  type KeysGateway,
} from './keys-gateway.ts';

/** A few, with the longest cards and one without a schema: axe takes seconds for sixty. */
const methods = ['eth_blockNumber', 'eth_call', 'eth_getLogs', 'debug_*'];
const MAX_PAGE_BYTES = 100_000;
const axe = readFileSync(join(packageRoot, 'node_modules/axe-core/axe.min.js'), 'utf8');

const fits = 'document.documentElement.scrollWidth <= innerWidth && innerWidth';

let browser: Chromium;
let own: KeysGateway;

beforeAll(async () => {
  [browser, own] = await Promise.all([startChromium(), startKeysGateway({}, { methods })]);
  const [invalid, revoked] = appKeys(2);
  await own.add([
    { ...invalid, name: 'x'.repeat(64), createdAt: '2020-02-01', permissions: { rate: 'fast', team: 'y'.repeat(40) } },
    {
      ...revoked,
      name: 'A name of many words, as long as a name may be, with 64 characters',
      createdAt: '2020-02-02',
      revokedAt: '2020-02-03',
    },
  ]);
  await own.gateway.call('five', 'eth_blockNumber');
}, 60_000);
afterAll(async () => {
  await browser.close();
  await own.stop();
});

type Screen = OpenOptions & {
  readonly width: number;
  /** The rules of axe whose findings the colours or the width can change. Default: all rules. */
  readonly rules?: readonly string[];
};

/** The findings of axe about what the tab shows: `rule: element`. */
async function findings(tab: Tab, { rules }: Screen): Promise<string[]> {
  // Not as a script element, which the page's Content-Security-Policy rejects.
  await tab.evaluate(axe);
  return tab.evaluate(
    `axe.run(${JSON.stringify(rules === undefined ? { rules: { 'target-size': { enabled: true } } } : { runOnly: rules })}).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 120))))`,
  );
}

async function check(tab: Tab, screen: Screen): Promise<void> {
  expect(await findings(tab, screen)).toEqual([]);
  expect(await tab.evaluate(fits)).toBe(screen.width);
  expect(tab.errors).toEqual([]);
}

describe.each<[string, Screen]>([
  ['light', { colours: 'light', width: 1280 }],
  ['dark', { colours: 'dark', width: 1280, rules: ['color-contrast', 'link-in-text-block'] }],
  ['phone width', { width: 360, height: 740, rules: ['scrollable-region-focusable', 'target-size'] }],
])('in %s, axe finds nothing and nothing is wider than the screen', (_, options) => {
  it.each(['/', '/five'])('on the status page %s', async (path) => {
    const tab = await browser.open(own.gateway.address + path, options);
    await tab.waitFor(`document.querySelector('#networks table') !== null`);
    await check(tab, options);
  });

  it('on the keys page, with a dialog', async () => {
    const closed = await browser.open(`${own.ops}/keys`, options);
    await check(closed, options);
    const tab = await openKeys(browser, own.ops, options);
    await tab.waitFor(`document.querySelectorAll('#list tbody tr').length >= 3`);
    await check(tab, options);
    await click(tab, '#list tbody input');
    await click(tab, '#revoke-selected');
    await waitForFocus(tab, 'confirm-cancel');
    await check(tab, options);
  }, 60_000);

  it('on the page of a key', async () => {
    const tab = await openKeys(browser, own.ops, options);
    await tab.waitFor(`document.querySelectorAll('#list tbody tr').length > 0`);
    await click(tab, '#list tbody tr:last-child a');
    await waitForFocus(tab, 'key-title');
    await check(tab, options);
  }, 60_000);

  it('on the form for a key, with an error and after it', async () => {
    const tab = await openKeys(browser, own.ops, options, '#new');
    await tab.evaluate(`document.getElementById('new-rare').open = true`);
    await check(tab, options);
    await fill(tab, 'name', 'alice');
    await fill(tab, 'new-rate', 'fast');
    await click(tab, '#create > button');
    await waitForFocus(tab, 'new-rate');
    expect(await findings(tab, options)).toEqual([]);
    await fill(tab, 'new-rate', '');
    await click(tab, '#create > button');
    await waitForFocus(tab, 'credentials-title');
    expect(await findings(tab, options)).toEqual([]);
    expect(await tab.evaluate(fits)).toBe(options.width);
  }, 60_000);

  it('on the upstreams page, with a drained one', async () => {
    const tab = await browser.open(`${own.ops}/upstreams`, options);
    await check(tab, options);
    await fill(tab, 'token', adminToken);
    await tab.evaluate(`document.getElementById('login').requestSubmit()`);
    await tab.waitFor(`document.querySelector('#list button') !== null`);
    await click(tab, '#list button');
    const warning = 'is drained. Warning: no upstream of five is in service';
    await tab.waitFor(`document.getElementById('message').innerText.includes('${warning}')`);
    await check(tab, options);
    await click(tab, '#list button');
    await tab.waitFor(`document.getElementById('message').innerText.endsWith('is in service.')`);
  }, 60_000);

  it('on the page for a wrong address', async () => {
    const tab = await browser.open(`${own.gateway.address}/no-such-network`, options);
    expect(await findings(tab, options)).toEqual([]);
    expect(await tab.evaluate(fits)).toBe(options.width);
  });

  it('on the method reference', async () => {
    const tab = await browser.open(`${own.gateway.address}/five/docs#eth_getLogs`, options);
    await tab.waitFor(`document.querySelector('#eth_getLogs textarea') !== null`);
    await check(tab, options);
  });
});

it.each(['/', '/five/docs', '/keys', '/usage', '/upstreams'])('the page %s has less than 100 kB', async (path) => {
  const address = ['/keys', '/usage', '/upstreams'].includes(path) ? own.ops : own.gateway.address;
  const response = await fetch(address + path, { headers: { accept: 'text/html' } });
  const html = await response.text();
  // Styles and scripts are in the page.
  expect(html).not.toMatch(/<link rel="stylesheet"|<script src/);
  expect(Buffer.byteLength(html)).toBeGreaterThan(5_000);
  expect(Buffer.byteLength(html)).toBeLessThan(MAX_PAGE_BYTES);
  expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'sha256-/);
});
