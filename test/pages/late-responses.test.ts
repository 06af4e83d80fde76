import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChromium, type Chromium, type Tab } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import {
  adminToken,
  appKeys,
  click,
  fill,
  namesIn,
  openKeys,
  openPage,
  startKeysGateway,
  textOf,
  waitForFocus,
  type KeysGateway,
} from './keys-gateway.ts';

let browser: Chromium;
let own: KeysGateway;
let ids: string[];

beforeAll(async () => {
  [browser, own] = await Promise.all([startChromium(), startKeysGateway()]);
  await own.add(appKeys(3));
  await own.gateway.call('five', 'eth_blockNumber');
  // Usage is written each second.
  const headers = { authorization: `Bearer ${adminToken}` };
  await eventually(async () =>
    (await (await fetch(`${own.ops}/admin/usage?days=1`, { headers })).text()).includes('eth_blockNumber'),
  );
  ids = [...(await own.gateway.gateway.keys.entries()).values()]
    .filter(({ name }) => name.startsWith('app-'))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ id }) => id);
}, 60_000);
afterAll(async () => {
  await browser.close();
  await own.stop();
});

/**
 * Delays the responses to requests that match `window.holds`, until `release` is called with a text of their URLs. Then
 * they fail if `fails`. `window.change` may change results.
 */
const holding = `(() => {
  const send = fetch;
  window.requests = [];
  window.fetch = async (url, options) => {
    const request = { text: options.method + ' ' + url, signal: options.signal };
    requests.push(request);
    const isHeld = window.holds?.test(request.text);
    const response = await send(url, options);
    const result = await response.json();
    window.change?.(result);
    if (isHeld) await new Promise((resolve) => (request.release = resolve));
    if (request.fails) throw new TypeError('failed');
    return { ok: response.ok, status: response.status, json: async () => result };
  };
  window.release = (part, fails = false) => {
    for (const request of requests.filter(({ text }) => text.includes(part))) {
      request.fails = fails;
      request.release?.();
    }
  };
})()`;

const open = (path = ''): Promise<Tab> => openKeys(browser, own.ops, { before: holding }, path);
/** Opens another page of the ops port, and waits until it has an element. */
async function openAt(path: string, selector: string): Promise<Tab> {
  const tab = await openPage(browser, own.ops, path, { before: holding });
  await tab.waitFor(`document.querySelector('${selector}') !== null`);
  return tab;
}
const hold = (tab: Tab, pattern: string): Promise<unknown> => tab.evaluate(`void (window.holds = /${pattern}/)`);
const waitForHeld = (tab: Tab, part: string, count: number): Promise<void> =>
  tab.waitFor(`requests.filter(({ text, release }) => release && text.includes('${part}')).length === ${count}`);
const shownDays = `[...document.querySelectorAll('section:not([hidden]) h3')].find(({ innerText }) => innerText.startsWith('Usage'))?.innerText`;
/** Chooses an option as its user does. */
const choose = (tab: Tab, id: string, value = ''): Promise<unknown> =>
  tab.evaluate(
    `{ const input = document.getElementById('${id}'); input.value = '${value}'; input.dispatchEvent(new Event('change')); }`,
  );
const goTo = (tab: Tab, hash: string): Promise<unknown> => tab.evaluate(`void (location.hash = '${hash}')`);

describe('the list', () => {
  it('a new search aborts the request of the search before, whose late response is ignored', async () => {
    const tab = await open();
    await tab.waitFor(`document.querySelectorAll('#list tbody tr').length === 4`);
    await hold(tab, 'search=app-0001');
    await fill(tab, 'search', 'app-0001');
    await waitForHeld(tab, 'search=app-0001', 1);
    await fill(tab, 'search', 'app-0002');
    await tab.waitFor(`document.getElementById('list').ariaBusy !== 'true'`);
    const aborted = `requests.filter(({ text }) => text.includes('search=')).map(({ signal }) => signal.aborted)`;
    expect((await tab.evaluate<boolean[]>(aborted)).slice(-2)).toEqual([true, false]);
    await tab.evaluate(`release('search=app-0001')`);
    expect(await namesIn(tab)).toEqual(['app-0002']);
    expect(await tab.evaluate(`document.getElementById('list-failure').hidden`)).toBe(true);
    expect(tab.errors).toEqual([]);
  });

  it('has a dash for usage that the gateway leaves out', async () => {
    const tab = await open();
    const cells = `[...document.querySelectorAll('#list tbody tr')].map(({ cells }) => cells[7].innerText)`;
    await tab.waitFor(`document.querySelectorAll('#list tbody tr').length === 4`);
    expect(await tab.evaluate(cells)).toEqual(['1', '0', '0', '0']);
    await tab.evaluate(`window.change = ({ keys = [] }) => keys.forEach((key) => delete key.usage)`);
    await fill(tab, 'search', 'app-');
    await tab.waitFor(`${cells}.length === 3`);
    expect(await tab.evaluate(cells)).toEqual(['–', '–', '–']);
    expect(tab.errors).toEqual([]);
  });
});

describe('the view of a key', () => {
  it.each([false, true])('ignores a late response of the key before; which fails: %s', async (fails) => {
    const [one = '', other = ''] = ids;
    const tab = await open();
    await hold(tab, `keys.${one}`);
    await goTo(tab, one);
    await waitForHeld(tab, one, 3);
    await goTo(tab, other);
    await waitForFocus(tab, 'key-title');
    await tab.evaluate(`release('${one}', ${fails})`);
    expect(await textOf(tab, 'key-title')).toBe('app-0001');
    expect(await tab.evaluate(`selectedKey.id + location.hash`)).toBe(`${other}#${other}`);
    expect(await textOf(tab, 'message')).toBe('');
    expect(tab.errors).toEqual([]);
  });

  it('is hidden while it loads, so that nothing is done with the key before', async () => {
    const [one = '', other = ''] = ids;
    const tab = await open(`#${one}`);
    await waitForFocus(tab, 'key-title');
    await hold(tab, `keys.${other}`);
    await goTo(tab, other);
    await waitForHeld(tab, other, 3);
    expect(await tab.evaluate(`document.getElementById('key-view').hidden`)).toBe(true);
    await tab.evaluate(`release('${other}')`);
    await waitForFocus(tab, 'key-title');
    expect(await textOf(tab, 'key-title')).toBe('app-0001');
    expect(tab.errors).toEqual([]);
  });

  it('stays on a key that was opened while the key before was saved', async () => {
    const [one = '', other = ''] = ids;
    const tab = await open(`#${one}`);
    await waitForFocus(tab, 'key-title');
    await hold(tab, 'PATCH');
    await fill(tab, 'permission-rate', '50');
    await click(tab, '#permissions > button');
    await waitForHeld(tab, 'PATCH', 1);
    await goTo(tab, other);
    await waitForFocus(tab, 'key-title');
    const sent = await tab.evaluate(`requests.length`);
    await tab.evaluate(`release('PATCH')`);
    expect(await textOf(tab, 'message')).toBe('Saved permissions and limits of app-0000.');
    expect(await textOf(tab, 'key-title')).toBe('app-0001');
    expect(await tab.evaluate(`requests.length`)).toBe(sent);
    expect(tab.errors).toEqual([]);
  });

  it('loads only the usage for another range: what its user entered and did not save stays', async () => {
    const [one = ''] = ids;
    const tab = await open(`#${one}`);
    await waitForFocus(tab, 'key-title');
    await fill(tab, 'permission-rate', '50');
    await hold(tab, 'days=90');
    await click(tab, '#ranges [value="90d"]');
    await waitForHeld(tab, 'days=90', 1);
    expect(await tab.evaluate(shownDays)).toBe('Usage in the last 30 days');
    await click(tab, '#ranges [value="7d"]');
    await tab.waitFor(`${shownDays} === 'Usage in the last 7 days'`);
    await tab.evaluate(`release('days=90')`);
    expect(await tab.evaluate(shownDays)).toBe('Usage in the last 7 days');
    expect(await tab.evaluate(`document.getElementById('permission-rate').value`)).toBe('50');
    expect(tab.errors).toEqual([]);
  });

  it('says that the usage of another range cannot be loaded, and keeps the one that it shows', async () => {
    const [one = ''] = ids;
    for (const target of [one, 'team:team-0']) {
      const tab = await open(`#${target}`);
      await tab.waitFor(`${shownDays} === 'Usage in the last 30 days'`);
      await hold(tab, 'days=90');
      await click(tab, '#ranges [value="90d"]');
      await waitForHeld(tab, 'days=90', 1);
      await tab.evaluate(`release('days=90', true)`);
      await tab.waitFor(`document.getElementById('message').innerText === 'The gateway does not respond. Try again.'`);
      expect(await tab.evaluate(shownDays)).toBe('Usage in the last 30 days');
      expect(tab.errors).toEqual([]);
    }
  });
});

describe('a newer choice on', () => {
  it('the page of usage replaces the one in progress; table, title and CSV are of one choice', async () => {
    const tab = await openAt('/usage?by=key', '#rows tbody');
    await tab.evaluate(
      `void (HTMLAnchorElement.prototype.click = function () { window.saved = [this.download, this.href]; })`,
    );
    const shown = `[${['#usage-title', '#rows thead', '#rows tbody tr:last-child td'].map((each) => `document.querySelector('${each}').innerText.trim()`).join()}].join().replaceAll(/\\s+/g, ' ')`;
    const amounts = 'Units Calls Errors Bytes';
    expect(await tab.evaluate(shown)).toBe(`Usage of all keys, 7 days,Key ${amounts},test`);
    await hold(tab, 'by=key%2Cnetwork');
    await click(tab, '#by-network');
    await waitForHeld(tab, 'days=7&by=key%2Cnetwork', 1);
    await click(tab, '#by-method');
    await waitForHeld(tab, 'days=7&by=key%2Cnetwork%2Cmethod', 1);
    await click(tab, '#ranges [value="30d"]');
    await waitForHeld(tab, 'days=30', 1);
    await tab.evaluate(`release('days=7')`);
    expect(await tab.evaluate(shown)).toBe(`Usage of all keys, 7 days,Key ${amounts},test`);
    await click(tab, '#csv');
    expect(await tab.evaluate(`saved[0]`)).toBe('usage-7d-by-key.csv');
    await tab.evaluate(`release('days=30')`);
    await tab.waitFor(`${shown} === 'Usage of all keys, 30 days,Key Network Method ${amounts},test'`);
    await click(tab, '#csv');
    expect(await tab.evaluate(`saved[0]`)).toBe('usage-30d-by-key-network-method.csv');
    expect(await tab.evaluate(`document.getElementById('message').innerText`)).toBe('');
    expect(tab.errors).toEqual([]);
  });

  it.each(['/calls', '/events'])('%s replaces the one in progress', async (path) => {
    const filter = { '/calls': 'outcome', '/events': 'kind' }[path] ?? '';
    const [first, second] = { '/calls': ['revert', 'null'], '/events': ['memory', 'audit'] }[path] ?? [];
    const tab = await openAt(path, '#none:not([hidden]), #calls tbody, #events tbody');
    const shown = `document.getElementById('none').hidden + document.getElementById('message').innerText`;
    await hold(tab, `${filter}=${first}`);
    await choose(tab, filter, first);
    await waitForHeld(tab, `${filter}=${first}`, 1);
    await choose(tab, filter, second);
    const read = `requests.filter(({ text }) => text.includes('${filter}=${second}'))`;
    await tab.waitFor(`${read}.length > 0 && location.search === '?${filter}=${second}'`);
    await tab.waitFor(`${shown} === 'false'`);
    await tab.evaluate(`release('${filter}=${first}', true)`);
    expect(await tab.evaluate(shown)).toBe('false');
    expect(tab.errors).toEqual([]);
  });

  it('the overview polls the status and the history; the usage of all keys only for another range', async () => {
    const tab = await openAt('/', '#top-keys tbody');
    const count = (part: string): Promise<number> =>
      tab.evaluate(`requests.filter(({ text }) => text.includes('${part}')).length`);
    await tab.waitFor(`document.querySelectorAll('#plots canvas').length === 3`);
    expect([await count('/admin/usage'), await count('/history.json')]).toEqual([2, 1]);
    // As if the page had been hidden, it loads at once.
    const pollNow = `document.dispatchEvent(new Event('visibilitychange'))`;
    await tab.evaluate(`void ${pollNow}`);
    await tab.waitFor(`!isRunning && requests.filter(({ text }) => text.includes('/history.json')).length === 2`);
    expect(await count('/admin/usage')).toBe(2);
    await click(tab, '#ranges [value="7d"]');
    await tab.waitFor(`document.querySelector('#top-keys h2').innerText === 'Top keys, 7 days'`);
    expect(await count('/admin/usage')).toBe(4);
    expect(tab.errors).toEqual([]);
  });

  it('the overview replaces the one in progress; each card has the title of what it shows', async () => {
    const tab = await openAt('/', '#top-keys tbody');
    const titles = `['totals', 'top-keys', 'top-methods'].map((id) => document.querySelector('#' + id + ' h2').innerText).join()`;
    await tab.waitFor(`${titles} === 'Last 24 hours,Top keys, today (UTC),Top methods, today (UTC)'`);
    await hold(tab, 'days=90|range=90d');
    await click(tab, '#ranges [value="90d"]');
    await waitForHeld(tab, '90', 3);
    expect(await tab.evaluate(titles)).toBe('Last 24 hours,Top keys, today (UTC),Top methods, today (UTC)');
    await click(tab, '#ranges [value="7d"]');
    const chosen = 'Last 7 days,Top keys, 7 days,Top methods, 7 days';
    await tab.waitFor(`${titles} === '${chosen}'`);
    await tab.evaluate(`release('90')`);
    expect(await tab.evaluate(titles)).toBe(chosen);
    expect(tab.errors).toEqual([]);
  });
});
