import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCurlLine } from '../e2e/curl.ts';
import { startChromium, type Chromium, type Tab } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import {
  click,
  fill,
  namesIn,
  openKeys,
  startKeysGateway,
  textOf,
  waitForFocus,
  waitForMessage,
  type KeysGateway,
} from './keys-gateway.ts';

let browser: Chromium;
let own: KeysGateway;

beforeAll(async () => {
  [browser, own] = await Promise.all([startChromium(), startKeysGateway()]);
}, 60_000);
afterAll(async () => {
  await browser.close();
  await own.stop();
});

const submit = (tab: Tab, form: string): Promise<unknown> =>
  tab.evaluate(`document.getElementById('${form}').requestSubmit()`);
const valueOf = (tab: Tab, id: string): Promise<string> => tab.evaluate(`document.getElementById('${id}').value`);
const isShown = (id: string): string => `!document.getElementById('${id}').hidden`;
const call = (key: string, method = 'eth_blockNumber') =>
  fetch(`${own.gateway.address}/five/v3/${key}`, {
    method: 'POST',
    body: `{"jsonrpc":"2.0","id":1,"method":"${method}"}`,
  });
/** Rejections are shown in the page; the browser logs them, too. */
const unexpected = ({ errors }: Tab): string[] => errors.filter((text) => !text.includes('status of 40'));

/** Creates a key in the page. @returns its text */
async function create(tab: Tab, name: string, more: Record<string, string> = {}): Promise<string> {
  await click(tab, '#list-view a[href="#new"]');
  await waitForFocus(tab, 'create-title');
  for (const [id, text] of Object.entries({ name, ...more })) await fill(tab, id, text);
  await submit(tab, 'create');
  await waitForMessage(tab, 'Created key ');
  return textOf(tab, 'credential-key');
}

describe('the keys page', () => {
  it('is on the ops port only, and shows nothing without the token', async () => {
    expect((await fetch(`${own.gateway.address}/keys`, { headers: { accept: 'text/html' } })).status).toBe(404);
    const tab = await browser.open(`${own.ops}/keys`);
    await fill(tab, 'token', 'a-token-that-is-wrong');
    await submit(tab, 'login');
    await tab.waitFor(
      `document.getElementById('token-error').innerText.startsWith('expected the token of ADMIN_TOKEN')`,
    );
    await waitForFocus(tab, 'token');
    expect(await tab.evaluate(isShown('list-view'))).toBe(false);
    expect(await tab.evaluate(`document.body.innerText.includes('Five')`)).toBe(false);
  });

  it('creates a key, shows it once, changes its permissions, rotates and revokes it', async () => {
    const tab = await openKeys(browser, own.ops);
    const key = await create(tab, 'alice', { 'new-methods': 'eth', 'new-team': 'acme' });
    await waitForFocus(tab, 'credentials-title');
    expect((await call(key)).status).toBe(200);
    expect((await call(key, 'net_version')).status).toBe(403);
    await click(tab, '#stored');
    await waitForFocus(tab, 'list-title');
    expect(await tab.evaluate(`document.documentElement.outerHTML.includes('${key}')`)).toBe(false);

    await tab.waitFor(`document.querySelector('#list tbody a').innerText === 'alice'`);
    await click(tab, '#list tbody a');
    await waitForFocus(tab, 'key-title');
    expect(await textOf(tab, 'key-title')).toBe('alice');
    expect(await textOf(tab, 'key-facts')).toMatch(
      /^[0-9a-f]{12}, active, created \d{4}-\d\d-\d\d, (not used in 30 days|last used \d{4}-\d\d-\d\d), team acme$/,
    );
    expect(await valueOf(tab, 'permission-methods')).toBe('eth');
    const usageText = `document.getElementById('usage').textContent`;
    await eventually(async () => {
      await tab.evaluate(`showKey(location.hash.slice(1))`);
      return (await tab.evaluate(`${usageText}.includes('Errors by reason: 1 methods')`)) === true;
    });
    expect(await tab.evaluate(usageText)).toMatch(/Today \(UTC\): \d+ calls?, 1 error, .*In 30 days: .*By method/s);
    await fill(tab, 'permission-rate', '50');
    await fill(tab, 'permission-methods', '');
    await submit(tab, 'permissions');
    await waitForMessage(tab, 'Saved permissions and limits of alice.');
    expect(await valueOf(tab, 'permission-rate')).toBe('50');
    expect((await call(key, 'net_version')).status).toBe(200);

    await submit(tab, 'rotate');
    await waitForMessage(tab, 'which stays valid for 24h.');
    await waitForFocus(tab, 'credentials-title');
    const next = await textOf(tab, 'credential-key');
    expect(next).not.toBe(key);
    expect((await call(next)).status).toBe(200);
    await tab.waitFor(`document.getElementById('key-facts').innerText.startsWith(location.hash.slice(1) + ', active')`);

    await click(tab, '#revoke');
    await waitForFocus(tab, 'confirm-cancel');
    expect((await call(next)).status).toBe(200);
    await tab.press('Escape');
    await waitForFocus(tab, 'revoke');
    await click(tab, '#revoke');
    await click(tab, '#confirm-revoke');
    await waitForMessage(tab, 'Revoked 1 key.');
    await waitForFocus(tab, 'key-title');
    expect((await call(next)).status).toBe(401);
    const forms = `['permissions', 'rotate'].flatMap((id) => [...document.getElementById(id).elements])`;
    expect(await tab.evaluate(`${forms}.every(({ disabled }) => disabled)`)).toBe(true);
    expect(unexpected(tab)).toEqual([]);
  }, 60_000);

  it('shows each error beside its field, under a plain label', async () => {
    const tab = await openKeys(browser, own.ops, {}, '#new');
    await submit(tab, 'create');
    await waitForFocus(tab, 'name');
    expect(await textOf(tab, 'name-error')).toBe('expected 1 to 64 printable characters');
    expect(await tab.evaluate(`document.getElementById('new-rare').open`)).toBe(false);
    await fill(tab, 'name', 'bob');
    await fill(tab, 'new-ips', '192.0.2.7, 10.0.0/8');
    await fill(tab, 'new-contracts', 'mine');
    await fill(tab, 'new-rate', 'fast');
    await submit(tab, 'create');
    // The first of the invalid fields, in a part of the form that was closed.
    await waitForFocus(tab, 'new-ips');
    expect(await textOf(tab, 'name-error')).toBe('');
    expect(await textOf(tab, 'new-ips-error')).toBe('Client addresses: 10.0.0/8 is no address or address range');
    expect(await textOf(tab, 'new-rate-error')).toMatch(/^Units per second: expected number above 0, .*, got fast$/);
    expect(await tab.evaluate(`document.getElementById('new-rare').open`)).toBe(true);
    const described = await tab.evaluate<string[][]>(
      `[...document.querySelectorAll('[aria-invalid]')].map((input) => [input.id, input.labels[0].innerText, input.ariaInvalid, input.getAttribute('aria-describedby')])`,
    );
    expect(described).toEqual([
      ['new-ips', 'Client addresses', 'true', 'new-ips-error new-ips-hint'],
      ['new-rate', 'Units per second', 'true', 'new-rate-error new-rate-hint'],
      ['new-contracts', 'Contracts', 'true', 'new-contracts-error new-contracts-hint'],
    ]);
    expect(await textOf(tab, 'message')).toBe('');
    const labels = await tab.evaluate<string[]>(
      `[...document.querySelectorAll('#create-fields label')].map(({ innerText }) => innerText)`,
    );
    expect(labels.filter((text) => !/^[A-Z][A-Za-z]*( [a-z-]+)*$/.test(text))).toEqual([]);
    expect(unexpected(tab)).toEqual([]);
  }, 60_000);

  it('shows how to connect with a new key and its secret', async () => {
    const copies = `Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } })`;
    const tab = await openKeys(browser, own.ops, { before: copies });
    const key = await create(tab, 'carol');
    const url = `${own.gateway.address}/five/v3/${key}`;
    const clients = await tab.evaluate<string[]>(
      `[...document.querySelectorAll('#programs button')].map((tab) => (tab.click(), tab.innerText + ' ' + document.getElementById('snippet').innerText))`,
    );
    expect(clients.map((text) => text.split(' ')[0])).toEqual(['curl', 'ethers', 'viem', 'MetaMask']);
    expect(clients.filter((text) => !text.includes(url))).toEqual([]);
    await click(tab, '#programs button');
    expect(await runCurlLine(await textOf(tab, 'snippet'))).toMatchObject({ result: '0x10' });
    await click(tab, '#credential-key + button');
    await tab.waitFor(`window.copied === '${key}'`);

    await click(tab, '#stored');
    await tab.evaluate(`document.getElementById('secret').checked = true`);
    const withSecret = await create(tab, 'dave', { 'new-networks': 'five,locl' });
    expect(await textOf(tab, 'message')).toContain('Warning: there is no network locl');
    const curl = await textOf(tab, 'snippet');
    expect(curl).toContain(`-u ':${await textOf(tab, 'credential-secret')}'`);
    expect(await runCurlLine(curl)).toMatchObject({ result: '0x10' });
    expect((await call(withSecret)).status).toBe(401);
    expect(unexpected(tab)).toEqual([]);
  }, 60_000);

  it('shows a new key even if the list cannot be loaded', async () => {
    const fails = `const send = fetch; window.fetch = (url, ...rest) => window.isDown && url.includes('/keys?') ? Promise.reject(new TypeError('no')) : send(url, ...rest)`;
    const tab = await openKeys(browser, own.ops, { before: fails });
    await tab.evaluate('window.isDown = true');
    const key = await create(tab, 'erin');
    await tab.waitFor(`document.getElementById('list-error').innerText.startsWith('The list cannot be loaded.')`);
    expect(await textOf(tab, 'credential-key')).toBe(key);
    expect((await call(key)).status).toBe(200);
    expect(await textOf(tab, 'message')).toMatch(/^Created key [0-9a-f]{12} for erin\.$/);
    await tab.evaluate('window.isDown = false');
    await click(tab, '#retry');
    await tab.waitFor(`document.querySelector('#list tbody a')?.innerText === 'erin'`);
    expect(await tab.evaluate(isShown('list-failure'))).toBe(false);
    expect(await namesIn(tab)).toContain('test');
    expect(unexpected(tab)).toEqual([]);
  }, 60_000);

  it('returns to the key from which it came, and to the list from one that does not exist', async () => {
    const tab = await openKeys(browser, own.ops);
    await tab.waitFor(`document.querySelector('#list tbody a') !== null`);
    const id = await tab.evaluate<string>(`document.querySelector('#list tbody a').hash.slice(1)`);
    await click(tab, '#list tbody a');
    await waitForFocus(tab, 'key-title');
    await tab.evaluate('history.back()');
    await tab.waitFor(`document.activeElement.hash === '#${id}'`);
    await tab.evaluate(`location.hash = '0123456789ab'`);
    await waitForMessage(tab, 'There is no key with the id 0123456789ab');
    await tab.waitFor(isShown('list-view'));
    expect(unexpected(tab)).toEqual([]);
  }, 60_000);

  it('shows the usage of keys in the list, and that of a key by day and by method', async () => {
    const { key } = own.gateway;
    await Promise.all([call(key), call(key), call(key, 'eth_getCode'), call(key, 'eth_nope')]);
    const tab = await openKeys(browser, own.ops);
    // Usage is written each second.
    const cell = `[...document.querySelectorAll('#list tr')].find((row) => row.innerText.includes('test'))?.cells[7].innerText`;
    await tab.waitFor(
      `(document.getElementById('list').ariaBusy === 'true' || void showList(), ${cell} === '4, 2 errors')`,
    );
    await tab.evaluate(
      `[...document.querySelectorAll('#list a')].find(({ innerText }) => innerText === 'test').click()`,
    );
    await waitForFocus(tab, 'key-title');
    const usage = `document.getElementById('usage')`;
    const bars = await tab.evaluate<string[]>(
      `[...${usage}.querySelectorAll('.bars code')].map(({ innerText }) => innerText)`,
    );
    expect(bars).toEqual(['eth_blockNumber', 'eth_getCode']);
    expect(await tab.evaluate(`${usage}.querySelector('svg title').textContent`)).toBe('4 calls, 2 errors');
    // By method, each bar stands beside its label, also that of calls which are not served.
    const isBeside = await tab.evaluate<boolean[]>(
      `(([first]) => [...first.children].flatMap((label, index, all) => {
        if (index % 3 !== 0) return [];
        const [{ top, bottom }, ...others] = [label, all[index + 1], all[index + 2]].map((each) => each.getBoundingClientRect());
        return others.map((other) => (other.top + other.bottom) / 2 > top && (other.top + other.bottom) / 2 < bottom);
      }))([...${usage}.querySelectorAll('.bars')].filter(({ innerText }) => innerText.includes('not served')))`,
    );
    expect(isBeside).toEqual(Array(6).fill(true));
    expect(await tab.evaluate(`${usage}.querySelectorAll('.plot rect.calls').length`)).toBe(33);
  }, 60_000);
});
