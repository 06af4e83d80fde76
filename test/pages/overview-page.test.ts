import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startChromium, type Chromium, type Tab } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { startRedis } from '../support/redis.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { openUsage } from '../usage/open-usage.ts';
import { adminToken, click, fill, openPage, textAt } from './keys-gateway.ts';

const headers = { authorization: `Bearer ${adminToken}`, accept: 'application/json' };
let browser: Chromium;
let node: FakeNode;
let dead: FakeNode;
let gateway: TestGateway;
let ops: string;
let aheadMs = 0;

const jsonAt = async <Body>(path: string): Promise<Body> =>
  (await (await fetch(ops + path, { headers })).json()) as Body;

/** A gateway with five calls of two networks, of which one is down, and a step of 24 h with them. */
beforeAll(async () => {
  const now = Date.now.bind(Date);
  vi.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs);
  [browser, node, dead] = await Promise.all([
    startChromium(),
    startFakeNode({ chainId: 5, responses: { eth_gasPrice: '0x1' } }),
    startFakeNode({ chainId: 5 }),
  ]);
  await dead.refuse();
  const file = { cache: 'off' };
  gateway = await startGateway(
    { five: network(5, [node.url], { name: 'Five', ...file }), six: network(5, [dead.url], { name: 'Six', ...file }) },
    { OPS_PORT: '0', ADMIN_TOKEN: adminToken },
  );
  ops = `http://127.0.0.1:${gateway.gateway.opsPort ?? 0}`;
  for (const method of ['eth_gasPrice', 'eth_gasPrice', 'eth_gasPrice', 'eth_nope']) await gateway.call('five', method);
  await gateway.call('six', 'eth_gasPrice');
  // The steps of 30 s and of 10 min end. The gateway looks each 10 s.
  aheadMs = 600_000;
  await eventually(async () => {
    const { total } = await jsonAt<{ total: { calls: number } }>('/history.json?range=24h');
    const { usage } = await jsonAt<{ usage: { calls: number }[] }>('/admin/usage?days=1&by=network');
    return total.calls >= 5 && usage.reduce((sum, { calls }) => sum + calls, 0) >= 5;
  }, 30_000);
}, 90_000);
afterAll(async () => {
  vi.restoreAllMocks();
  await browser.close();
  await gateway.stop();
  await Promise.all([node.close(), dead.close()]);
});

const open = (path: string, before = '', port = ops): Promise<Tab> => openPage(browser, port, path, { before });

describe('the overview', () => {
  it('is the first page of the ops port, and shows nothing without the token', async () => {
    const tab = await browser.open(`${ops}/`);
    expect(await tab.evaluate(`document.querySelector('#console a').innerText`)).toBe('Overview');
    expect(await tab.evaluate(`document.querySelector('#session').hidden`)).toBe(true);
    expect(await tab.evaluate(`document.body.innerText.includes('Five')`)).toBe(false);
    // Programs get the status at the same address, and the networks are a page of their own.
    expect(await jsonAt('/')).toMatchObject({ scope: 'gateway' });
    const networks = await browser.open(`${ops}/networks`);
    await networks.waitFor(`document.querySelector('#networks [data-network=six]') !== null`);
    expect([...tab.errors, ...networks.errors]).toEqual([]);
  });

  it('has calls, errors and latency, top keys and methods, and the networks in trouble', async () => {
    const tab = await open('/');
    await tab.waitFor(`document.querySelectorAll('#plots canvas').length === 3`);
    const totals = await textAt(tab, '#totals');
    expect(totals).toMatch(
      /^Last 24 hours\s+Calls\s+5\s+Failed\s+1, 20\.0 %\s+Upstream errors\s+0, 0\.0 %\s+Rejected\s+1, 20\.0 %/,
    );
    expect(totals).toMatch(/Latency, median\s+[\d<].* ms\s+Latency, 99 %\s+[\d,<]+.* ms$/);
    const trouble = await textAt(tab, '#trouble tbody');
    expect(trouble).toMatch(/^Six\s+▲ down node-0: connection refused/);
    expect(trouble).not.toContain('Five');
    expect(await tab.evaluate(`document.querySelector('#trouble tbody a').search`)).toBe('?range=24h');
    expect(await textAt(tab, '#top-keys')).toMatch(
      /Top keys, today \(UTC\)\s+Key\s+Units\s+Calls\s+Errors\s+test\s+\d+\s+5\s+2/,
    );
    expect(await textAt(tab, '#top-methods tbody')).toMatch(/^eth_gasPrice\s+\d+\s+4\s+1/);
    expect(tab.errors).toEqual([]);
  });

  it('has one range for all that it shows, which is in its address', async () => {
    const tab = await open('/');
    await tab.waitFor(`document.querySelectorAll('#plots canvas').length === 3`);
    await click(tab, '#ranges [value="7d"]');
    await tab.waitFor(`document.querySelector('#top-methods').innerText.startsWith('Top methods, 7 days')`);
    await tab.waitFor(`document.querySelector('#totals h2').innerText === 'Last 7 days'`);
    expect(await tab.evaluate('location.search')).toBe('?range=7d');
    await tab.evaluate('window.isOld = true, location.reload()');
    await tab.waitFor(`window.isOld === undefined && document.querySelector('#totals h2').innerText === 'Last 7 days'`);
    expect(tab.errors).toEqual([]);
  });

  it('shades outages, lists them with ISO times, and leads from a peak to its calls', async () => {
    const tab = await open('/');
    await tab.waitFor(`document.querySelectorAll('#plots canvas').length === 3`);
    expect(await textAt(tab, '#outages')).toMatch(
      /^1 outage in this range: [\s\S]*\d{4}-\d\d-\d\d \d\d:\d0Z to \d{4}-\d\d-\d\d \d\d:\d0Z, up to \d+ min$/,
    );
    // Reddish points of the graph of calls, whose line is blue.
    const shaded = await tab.evaluate<number>(`(() => {
      const canvas = document.querySelector('#plots canvas');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return Array.from({ length: data.length / 4 }, (_, index) => data[4 * index] - data[4 * index + 2]).filter((red) => red > 50).length;
    })()`);
    expect(shaded).toBeGreaterThan(100);
    expect(await textAt(tab, '#plots .peak')).toMatch(/^peak [\d.]+ at \d{4}-\d\d-\d\d \d\d:\d0Z$/);
    await click(tab, '#plots .peak a');
    await tab.waitFor(`location.pathname === '/calls' && document.querySelectorAll('#calls tbody tr').length >= 3`);
    expect(await tab.evaluate(`document.querySelector('#from').value`)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d0:00.000Z$/);
    const calls = await textAt(tab, '#calls tbody');
    expect(calls).toMatch(/method-not-found/);
    expect(calls).toMatch(/no-upstream/);
    await fill(tab, 'from', 'yesterday');
    await tab.press('Enter');
    await tab.waitFor(`document.querySelector('#from-error').innerText.startsWith('expected a time in UTC such as')`);
  });

  it('the page of a network has its own calls behind its peaks, on the port of operators only', async () => {
    const hrefs = `[...document.querySelectorAll('#over-time .peak a')].map((link) => new URL(link.href).search)`;
    const tab = await browser.open(`${ops}/five`);
    await tab.waitFor(`${hrefs}.length > 1`);
    const searches = await tab.evaluate<string[]>(hrefs);
    expect(searches[0]).toMatch(/^\?network=five&from=/);
    expect(searches.some((search) => search.startsWith('?network=five&upstream=node-0&from='))).toBe(true);
    const main = await browser.open(`${gateway.address}/five`);
    await main.waitFor(`document.querySelector('#over-time .peak') !== null`);
    expect(await main.evaluate(hrefs)).toEqual([]);
    // Nothing is above the way to connect.
    expect(await main.evaluate(`document.querySelector('main section').id`)).toBe('connect');
    expect((await fetch(`${gateway.address}/history.json`)).status).toBe(400);
    expect([...tab.errors, ...main.errors]).toEqual([]);
  });
});

it('without Redis, the overview has the networks in trouble, and says that the usage cannot be loaded', async () => {
  const redis = await startRedis();
  const networks = { six: network(5, [dead.url], { name: 'Six', cache: 'off' }) };
  const own = await startGateway(networks, { OPS_PORT: '0', ADMIN_TOKEN: adminToken, REDIS_URL: redis.url });
  try {
    await own.call('six', 'eth_gasPrice');
    await eventually(async () => (await redis.cli('KEYS', '*usage*')) !== '');
    await redis.kill();
    // Its usage is written after the outage.
    await own.call('six', 'eth_gasPrice');
    const tab = await open('/', '', `http://127.0.0.1:${own.gateway.opsPort ?? 0}`);
    await tab.waitFor(`document.querySelector('#top-keys .bad') !== null`);
    for (const id of ['top-keys', 'top-methods'])
      expect(await textAt(tab, `#${id} .bad`)).toBe(
        'The usage cannot be loaded: the key store cannot be reached at the moment.',
      );
    expect(await textAt(tab, '#trouble tbody')).toMatch(/^Six\s+▲ down/);
    expect(await textAt(tab, '#over-time-error')).toMatch(/^Redis is unavailable/);
    await redis.restart();
    // As if the page had been hidden, it loads at once.
    await tab.waitFor(
      `(isRunning || document.dispatchEvent(new Event('visibilitychange')), document.querySelector('#top-keys tbody') !== null)`,
    );
    expect(await textAt(tab, '#top-keys tbody')).toMatch(/^\S+\s+\d+\s+1\s+1\s*$/);
  } finally {
    await own.stop();
    await redis.stop();
  }
}, 60_000);

it.each([
  ['/calls?from=2026-01-31', 'from', /^expected a time in UTC such as/],
  ['/usage?day=2020-01-01&by=nothing', 'day', /^expected today, yesterday or a date/],
])(
  '%s: the error of a filter in the address is beside its field, where it can be corrected',
  async (path, id, text) => {
    const tab = await open(path);
    await tab.waitFor(`document.querySelector('#${id}-error').innerText !== ''`);
    expect(await textAt(tab, `#${id}-error`)).toMatch(text);
    await tab.evaluate('window.isOld = true, location.reload()');
    await tab.waitFor(`window.isOld === undefined && document.querySelector('#${id}-error').innerText !== ''`);
    expect(await tab.evaluate(`document.querySelector('#session').hidden`)).toBe(false);
    await fill(tab, id, id === 'day' ? new Date(Date.now()).toISOString().slice(0, 10) : '');
    await tab.press('Enter');
    await tab.waitFor(`document.querySelector('tbody tr') !== null`);
    expect(await textAt(tab, `#${id}-error`)).toBe('');
  },
);

describe('the page of usage', () => {
  const captures = `const create = URL.createObjectURL; URL.createObjectURL = (blob) => { window.saved = blob; return create(blob); }`;

  it('has the units of all keys, apart by what its user chooses, in the address and as CSV', async () => {
    const tab = await open('/usage', captures);
    await tab.waitFor(`document.querySelector('#rows tbody') !== null`);
    expect(await textAt(tab, '#usage-title')).toBe('Usage of all keys, 7 days');
    expect(await textAt(tab, '#rows thead')).toMatch(/^Key\s+Units\s+Calls\s+Errors\s+Bytes\s*$/);
    expect(await textAt(tab, '#rows tbody')).toMatch(/^Sum\s+\d+\s+5\s+2\s+[\d,]+\s+test\s+\d+\s+5\s+2\s+[\d,]+$/);
    expect(await textAt(tab, '#graphs')).toMatch(/Today \(UTC\): 5 calls, 2 errors, \d+ request units/);
    await click(tab, '#by-network');
    await tab.waitFor(`document.querySelectorAll('#rows tbody tr').length === 3`);
    await click(tab, '#by-key');
    await click(tab, '#by-day');
    await tab.waitFor(`document.querySelector('#rows thead').innerText.startsWith('Day')`);
    expect(await tab.evaluate('location.search')).toBe('?range=7d&by=day%2Cnetwork');
    await tab.waitFor(`document.querySelectorAll('#rows tbody tr').length === 3`);
    await click(tab, '#csv');
    const lines = (await tab.evaluate<string>('saved.text()')).split('\r\n');
    expect(lines[0]).toBe('day,network,units,calls,errors,bytes');
    expect(lines.slice(1, 3).toSorted()).toEqual([
      expect.stringMatching(/^\d{4}-\d\d-\d\d,five,\d+,4,1,\d+$/),
      expect.stringMatching(/^\d{4}-\d\d-\d\d,six,\d+,1,1,\d+$/),
    ]);
    expect(lines.slice(3)).toEqual(['']);
    expect(tab.errors).toEqual([]);
  });

  it('has graphs of all calls, errors by reason, and says which rows it leaves out', async () => {
    const [networks, methods] = [100, 101].map((length) => Array.from({ length }, (_, at) => at)) as [
      number[],
      number[],
    ];
    const amounts = { calls: 1, units: 1, errors: 0, bytes: 1 };
    const rejected = { place: 'n0 eth_m0:daily', calls: 3, units: 0, errors: 3, bytes: 3 };
    const places = networks.flatMap((at) => methods.map((method) => `n${at} eth_m${method}`));
    const usage = await openUsage({ REDIS_URL: undefined, DATA_DIR: gateway.dataDir });
    const day = new Date(Date.now() - 60 * 86_400_000).toISOString().slice(0, 10);
    const all = [...places.map((place) => ({ place, ...amounts })), rejected];
    expect(await usage.add([{ key: '0123456789ab', day, number: 1, amounts: all }])).toEqual([]);
    const tab = await open('/usage?by=network,method&range=90d');
    await tab.waitFor(`document.querySelector('#rows tbody') !== null`);
    expect(await textAt(tab, '#graphs')).toMatch(/In 90 days: 10,108 calls, 5 errors, /);
    expect(await textAt(tab, '#graphs')).toMatch(/Errors by reason: 3 daily/);
    expect(await textAt(tab, '#summary')).toMatch(/^10,10\d rows$/);
    expect(await textAt(tab, '#rows tbody tr')).toMatch(/^Sum of 10,000 rows/);
    expect(await textAt(tab, '#rows .warn')).toMatch(/the 10,000 rows with most units of 10,10\d\./);
    expect(tab.errors).toEqual([]);
  });

  it('has the usage of one day, and says that a day has none', async () => {
    const tab = await open('/usage?by=method');
    await tab.waitFor(`document.querySelector('#rows tbody') !== null`);
    const reads = await tab.evaluate<string[]>(
      `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.includes('/admin/usage?'))`,
    );
    expect(reads.map((url) => new URL(url).searchParams.get('by')).toSorted()).toEqual(['day', 'method', 'network']);
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    await fill(tab, 'day', yesterday);
    await tab.waitFor(`document.querySelector('#rows').innerText === 'No calls on these days.'`);
    expect(await textAt(tab, '#usage-title')).toBe(`Usage of all keys, ${yesterday}`);
    await fill(tab, 'day', '2020-01-01');
    await tab.waitFor(
      `document.querySelector('#day-error').innerText.startsWith('expected today, yesterday or a date')`,
    );
    await click(tab, '#ranges [value="24h"]');
    await tab.waitFor(`document.querySelector('#usage-title').innerText === 'Usage of all keys, today'`);
    await tab.waitFor(`document.querySelector('#rows').innerText.includes('eth_gasPrice')`);
  });

  it('writes no formula into a CSV, and quotes what has commas', async () => {
    const tab = await open('/usage');
    await tab.waitFor(`document.querySelector('#rows tbody') !== null`);
    const texts = ['=HYPERLINK("x")', 'a, "b"', '-1', 'plain'];
    const csv = await tab.evaluate(
      `csvOf(${JSON.stringify(texts)}.map((name) => ({ name, calls: 1 })), ['name', 'calls'])`,
    );
    expect(csv).toBe(`name,calls\r\n"'=HYPERLINK(""x"")",1\r\n"a, ""b""",1\r\n'-1,1\r\nplain,1`);
  });
});
