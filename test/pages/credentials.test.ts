import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { runCurlLine } from '../e2e/curl.ts';
import { startChromium, type Chromium, type Tab } from '../support/chromium.ts';
import {
  click,
  fill,
  openKeys,
  startKeysGateway,
  textOf,
  waitForFocus,
  waitForMessage,
  type KeysGateway,
} from './keys-gateway.ts';

const run = promisify(execFile);
const refusal = 'Store the key above first, and press “I have stored it”.';

let browser: Chromium;
let own: KeysGateway;

beforeAll(async () => {
  [browser, own] = await Promise.all([startChromium(), startKeysGateway()]);
}, 60_000);
afterAll(async () => {
  await browser.close();
  await own.stop();
});

/** Creates a key in the page; the form is open. */
async function create(tab: Tab, name: string): Promise<void> {
  await fill(tab, 'name', name);
  await click(tab, '#create > button');
}
const names = async (): Promise<string[]> =>
  [...(await own.gateway.gateway.keys.entries()).values()].map(({ name }) => name);

it('while a new key is shown, no other one is created, also by a rotation', async () => {
  const tab = await openKeys(browser, own.ops, {}, '#new');
  await create(tab, 'alice');
  await waitForMessage(tab, 'Created key ');
  const key = await textOf(tab, 'credential-key');
  await click(tab, '#list-view a[href="#new"]');
  await tab.waitFor(`!document.getElementById('create-view').hidden`);
  await create(tab, 'bob');
  await waitForMessage(tab, refusal);
  await waitForFocus(tab, 'credentials-title');
  await click(tab, '#create-view a[href="#"]');
  await tab.waitFor(`document.querySelector('#list tbody a')?.innerText === 'alice'`);
  await click(tab, '#list tbody a');
  await tab.waitFor(`!document.getElementById('key-view').hidden`);
  await tab.evaluate(`document.getElementById('rotate').requestSubmit()`);
  await waitForMessage(tab, refusal);
  expect(await textOf(tab, 'credential-key')).toBe(key);
  expect((await names()).toSorted()).toEqual(['alice', 'test']);

  await click(tab, '#stored');
  await tab.evaluate(`document.getElementById('rotate').requestSubmit()`);
  await waitForMessage(tab, 'which stays valid for 24h.');
  expect(await textOf(tab, 'credential-key')).not.toBe(key);
  expect(tab.errors).toEqual([]);
});

it('the code for a rotated key that requires a secret has a place for the secret, and gets results with it', async () => {
  const tab = await openKeys(browser, own.ops, {}, '#new');
  await tab.evaluate(`document.getElementById('secret').checked = true`);
  await create(tab, 'carol');
  await waitForMessage(tab, 'Created key ');
  const secret = await textOf(tab, 'credential-secret');
  await click(tab, '#stored');
  await tab.waitFor(`document.querySelector('#list tbody a')?.innerText === 'carol'`);
  await click(tab, '#list tbody a');
  await waitForFocus(tab, 'key-title');
  await tab.evaluate(`document.getElementById('rotate').requestSubmit()`);
  await waitForMessage(tab, 'which stays valid for 24h.');
  const codes = await tab.evaluate<[string, string][]>(
    `[...document.querySelectorAll('#programs button')].map((tab) => (tab.click(), [tab.innerText, document.getElementById('snippet').innerText]))`,
  );
  expect(codes.map(([client]) => client)).toEqual(['curl', 'ethers', 'viem']);
  const [curl = '', ...scripts] = codes.map(([, code]) => {
    expect(code.split('<your secret>')).toHaveLength(2);
    return code.replace('<your secret>', secret);
  });
  expect(await runCurlLine(curl)).toMatchObject({ result: '0x10' });
  const outputs = scripts.map(async (code) => {
    const args = ['--input-type=module', '--eval', `${code}\nprocess.exit(0);`];
    return (await run(process.execPath, args, { cwd: packageRoot })).stdout;
  });
  expect(await Promise.all(outputs)).toEqual(['16\n', '16n\n']);
  expect(tab.errors).toEqual([]);
});
