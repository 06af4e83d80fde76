import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChromium, type Chromium, type Tab } from '../../support/chromium.ts';
import { startRedis, type RedisServer } from '../../support/redis.ts';
import {
  appKeys,
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
beforeAll(async () => {
  browser = await startChromium();
}, 60_000);
afterAll(() => browser.close());

const waitForFirst = (tab: Tab, name: string): Promise<void> =>
  tab.waitFor(`document.querySelector('#list tbody a')?.innerText === '${name}'`);
const selectFirst = (tab: Tab, count: number): Promise<unknown> =>
  tab.evaluate(`[...document.querySelectorAll('#list tbody input')].slice(0, ${count}).forEach((box) => box.click())`);

describe.each(['file', 'redis'])('the list of 1,000 keys, stored in %s', (kind) => {
  let redis: RedisServer | undefined;
  let own: KeysGateway;

  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedis() : undefined;
    own = await startKeysGateway(redis === undefined ? {} : { REDIS_URL: redis.url });
    await own.add(appKeys(999));
  }, 60_000);
  afterAll(async () => {
    await own.stop();
    await redis?.stop();
  });

  const revokedNames = async (): Promise<string[]> => {
    const records = [...(await own.gateway.gateway.keys.entries()).values()];
    return records.filter(({ revokedAt }) => revokedAt !== undefined).map(({ name }) => name);
  };

  it('has pages of 50, the newest key first, and is sorted and searched by the gateway', async () => {
    const tab = await openKeys(browser, own.ops);
    await waitForFirst(tab, 'test');
    expect(await textOf(tab, 'summary')).toBe('1,000 keys, 1,000 active');
    expect(await textOf(tab, 'range')).toBe('1 to 50 of 1,000');
    expect(await namesIn(tab)).toHaveLength(50);
    // The first page has none before it.
    await click(tab, '#previous');
    await click(tab, '#next');
    await waitForFirst(tab, 'app-0949');
    expect(await textOf(tab, 'range')).toBe('51 to 100 of 1,000');

    await click(tab, '#list th button');
    await waitForFirst(tab, 'app-0000');
    expect(await tab.evaluate(`document.activeElement.innerText`)).toBe('Name ↑');
    expect(await tab.evaluate(`document.activeElement.parentElement.ariaSort`)).toBe('ascending');
    await click(tab, '#list th button');
    await waitForFirst(tab, 'test');
    expect(await tab.evaluate(`document.getElementById('sort').value`)).toBe('-name');

    await fill(tab, 'search', 'APP team-3');
    await waitForFirst(tab, 'app-0997');
    expect(await textOf(tab, 'range')).toBe('1 to 50 of 143');
    await fill(tab, 'search', 'app-0997 team-4');
    await tab.waitFor(`document.getElementById('list').innerText === 'No key matches “app-0997 team-4”.'`);
    expect(await tab.evaluate(`document.getElementById('bulk').hidden`)).toBe(true);
    expect(tab.errors).toEqual([]);
  }, 60_000);

  it('revokes several keys after a confirmation, and none that the dialog did not name', async () => {
    const tab = await openKeys(browser, own.ops);
    await fill(tab, 'search', 'app-001');
    await waitForFirst(tab, 'app-0019');
    expect(await tab.evaluate(`document.getElementById('revoke-selected').disabled`)).toBe(true);
    await selectFirst(tab, 2);
    expect(await textOf(tab, 'selected-count')).toBe('2 selected');

    await click(tab, '#revoke-selected');
    expect(await textOf(tab, 'confirm-keys')).toMatch(/^app-0019 [0-9a-f]{12}\s+app-0018 [0-9a-f]{12}$/);
    await waitForFocus(tab, 'confirm-cancel');
    await tab.press('Escape');
    await waitForFocus(tab, 'revoke-selected');
    expect(await revokedNames()).toEqual([]);

    await click(tab, '#revoke-selected');
    await click(tab, '#confirm-revoke');
    await waitForMessage(tab, 'Revoked 2 keys.');
    await waitForFocus(tab, 'list-title');
    expect((await revokedNames()).toSorted()).toEqual(['app-0018', 'app-0019']);
    expect(await textOf(tab, 'selected-count')).toBe('None selected');

    // The next selection, whose dialog is closed by Escape.
    await selectFirst(tab, 1);
    await click(tab, '#revoke-selected');
    expect(await textOf(tab, 'confirm-keys')).toMatch(/^app-0017 /);
    await tab.press('Escape');
    await waitForFocus(tab, 'revoke-selected');
    await fill(tab, 'search', 'revoked');
    await tab.waitFor(`document.getElementById('range').innerText === '1 to 2 of 2'`);
    expect(await namesIn(tab)).toEqual(['app-0019', 'app-0018']);
    expect(await revokedNames()).toHaveLength(2);
    expect(await textOf(tab, 'summary')).toBe('1,000 keys, 998 active');
    expect(tab.errors).toEqual([]);
  }, 60_000);
});
