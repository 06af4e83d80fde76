import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { startChromium, type Chromium, type OpenOptions, type Tab } from '../support/chromium.ts';
import { adminToken, fill, openKeys } from './keys-gateway.ts';
import { networkNames, startPicturedGateway, type PicturedGateway } from './pictured-gateway.ts';

/** `npm run test:all -- pages test/pages/pictures --write` writes docs/*-page*.png after two minutes of traffic: the overview shows the last minute. */
const isWritten = process.env['WRITE_DOCS'] === 'yes';
const TRAFFIC_MS = isWritten ? 120_000 : 500;
const MAX_PICTURE_BYTES = 250_000;

const light: OpenOptions = { width: 900, height: 560, colours: 'light' };
/** Tests need one form only: test/pages/accessibility.test.ts reads the pages in all of them. */
const forms: Readonly<Record<string, OpenOptions>> = isWritten
  ? { light, dark: { ...light, colours: 'dark' }, phone: { width: 360, height: 740, colours: 'light' } }
  : { light };

let browser: Chromium;
let own: PicturedGateway;

beforeAll(async () => {
  [browser, own] = await Promise.all([startChromium(), startPicturedGateway()]);
  const pauseMs = (): number => (isWritten ? 100 + 150 * Math.random() : 20);
  await own.traffic(TRAFFIC_MS * 0.5, pauseMs);
  await own.fail();
  await own.traffic(TRAFFIC_MS * 0.5, pauseMs);
}, TRAFFIC_MS + 60_000);
afterAll(async () => {
  await browser.close();
  await own.stop();
});

/** docs/status-page.png, status-page-dark.png and status-page-phone.png. */
async function takePicture(tab: Tab, page: string, form: string): Promise<void> {
  expect(tab.errors).toEqual([]);
  // The browser draws what the last change has shown.
  await tab.evaluate(`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))`);
  const picture = await tab.screenshot();
  expect(picture.length).toBeGreaterThan(10_000);
  expect(picture.length).toBeLessThan(MAX_PICTURE_BYTES);
  const name = `${page}-page${form === 'light' ? '' : `-${form}`}.png`;
  if (isWritten) writeFileSync(join(packageRoot, 'docs', name), picture);
}

describe.each(Object.entries(forms))('a picture, %s,', (form, options) => {
  it('of the status page', async () => {
    const tab = await browser.open(`${own.gateway.address}/`, options);
    const text = `document.querySelector('#networks').innerText`;
    for (const name of networkNames) await tab.waitFor(`${text}.includes(${JSON.stringify(name)})`);
    await tab.waitFor(`/▲ partly down\\s+our-node: /.test(${text})`);
    expect(await tab.evaluate(`document.querySelector('#summary').innerText`)).toBe(
      '3 networks, 7 upstreams, 1 failing',
    );
    await takePicture(tab, 'status', form);
  });

  it('of the overview', async () => {
    const tab = await browser.open(`${own.ops}/?range=1h`, options);
    await fill(tab, 'token', adminToken);
    await tab.press('Enter');
    await tab.waitFor(`document.querySelectorAll('#plots canvas').length === 3`);
    await tab.waitFor(`document.querySelector('#trouble').innerText.includes('partly down')`);
    await takePicture(tab, 'overview', form);
  });

  it('of the keys page', async () => {
    const tab = await openKeys(browser, own.ops, options);
    await tab.waitFor(`document.querySelectorAll('#list tbody tr').length === 9`);
    await takePicture(tab, 'keys', form);
  });

  it('of the method reference', async () => {
    const tab = await browser.open(`${own.gateway.address}/ethereum-mainnet/docs#eth_getBalance`, options);
    await tab.waitFor(`document.querySelector('#eth_getBalance textarea') !== null`);
    await tab.evaluate(
      `key.value = '${own.gateway.key}'; document.querySelector('#eth_getBalance button.main').click(); key.value = ''; 1`,
    );
    await tab.waitFor(`document.querySelector('#eth_getBalance pre[role=status]').innerText.includes('"result"')`);
    await tab.evaluate(`search.value = 'balance'; search.dispatchEvent(new Event('input')); scrollTo(0, 0); 1`);
    await takePicture(tab, 'docs', form);
  });
});
