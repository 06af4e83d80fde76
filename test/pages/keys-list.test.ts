import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChromium, type Chromium, type Tab } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import {
  appKeys,
  click,
  fill,
  namesIn,
  openKeys,
  startKeysGateway,
  textOf,
  waitForFocus,
  waitForList,
  type KeysGateway,
} from './keys-gateway.ts';

let browser: Chromium;
beforeAll(async () => {
  browser = await startChromium();
}, 60_000);
afterAll(() => browser.close());

const waitForFirst = (tab: Tab, name: string): Promise<void> =>
  waitForList(tab, `document.querySelector('#list tbody a')?.innerText === '${name}'`);
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
    let names: string[] = [];
    await eventually(async () => {
      const entries = await own.gateway.gateway.keys.entries().catch(() => undefined);
      const revoked = [...(entries?.values() ?? [])].filter(({ revokedAt }) => revokedAt !== undefined);
      names = revoked.map(({ name }) => name).toSorted();
      return entries !== undefined;
    });
    return names;
  };
  /** Confirms the open dialog. If the key store fails, selects the keys that are not revoked, and confirms again. */
  const revoke = async (tab: Tab, first: string, count: number): Promise<void> => {
    await click(tab, '#confirm-revoke');
    await tab.waitFor(`document.getElementById('message').innerText.startsWith('Revoked ')`);
    await waitForFocus(tab, 'list-title');
    await waitForFirst(tab, first);
    const revoked = (await revokedNames()).length;
    if (revoked === count) return;
    await selectFirst(tab, count - revoked);
    await click(tab, '#revoke-selected');
    await revoke(tab, first, count);
  };
  /** A response 503 of the slow key store is in the browser's log, too. */
  const unexpected = ({ errors }: Tab): string[] => errors.filter((text) => !text.includes('status of 503'));

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

    await fill(tab, 'sort', 'name');
    await waitForFirst(tab, 'app-0000');
    await fill(tab, 'sort', '-name');
    await waitForFirst(tab, 'test');

    await fill(tab, 'search', 'APP team-3');
    await waitForFirst(tab, 'app-0997');
    expect(await textOf(tab, 'range')).toBe('1 to 50 of 143');
    await fill(tab, 'search', 'app-0997 team-4');
    await waitForList(tab, `document.getElementById('list').innerText === 'No key matches “app-0997 team-4”.'`);
    expect(await tab.evaluate(`document.getElementById('bulk').hidden`)).toBe(true);
    expect(unexpected(tab)).toEqual([]);
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
    // Closed and opened again before the event of the close.
    const [dialog, button] = ['confirm', 'revoke-selected'].map((id) => `document.getElementById('${id}')`);
    await tab.evaluate(`${dialog}.close(); ${button}.click()`);
    await revoke(tab, 'app-0019', 2);
    if (kind === 'file') expect(await textOf(tab, 'message')).toBe('Revoked 2 keys.');
    expect(await revokedNames()).toEqual(['app-0018', 'app-0019']);
    expect(await textOf(tab, 'selected-count')).toBe('None selected');

    // The next selection, whose dialog is closed by Escape.
    await selectFirst(tab, 1);
    await click(tab, '#revoke-selected');
    expect(await textOf(tab, 'confirm-keys')).toMatch(/^app-0017 /);
    await tab.press('Escape');
    await waitForFocus(tab, 'revoke-selected');
    await fill(tab, 'search', 'revoked');
    await waitForList(tab, `document.getElementById('range').innerText === '1 to 2 of 2'`);
    expect(await namesIn(tab)).toEqual(['app-0019', 'app-0018']);
    expect(await revokedNames()).toHaveLength(2);
    expect(await textOf(tab, 'summary')).toBe('1,000 keys, 998 active');
    expect(unexpected(tab)).toEqual([]);
  }, 60_000);
});
