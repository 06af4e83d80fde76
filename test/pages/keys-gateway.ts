import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import type { StoredKey } from '../../gateway/auth/stores/key-store.ts';
import type { Chromium, OpenOptions, Tab } from '../support/chromium.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

/** Each must end within the time limit of a Redis command. */
const MAX_CONCURRENT_ADDITIONS = 100;

export const adminToken = 'a-token-for-the-keys-page';

/** A gateway with the admin API and one network, `five`, whose block number is 0x10. */
export interface KeysGateway {
  readonly gateway: TestGateway;
  /** Address of the ops port. */
  readonly ops: string;
  /** Adds keys; the digests of random keys. */
  readonly add: (keys: readonly StoredKey[]) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** @param more members of the network's file */
export async function startKeysGateway(env: Record<string, string> = {}, more: object = {}): Promise<KeysGateway> {
  const node = await startFakeNode({ chainId: 5, responses: { eth_blockNumber: '0x10' } });
  const five = network(5, [node.url], { name: 'Five', ...more });
  const gateway = await startGateway({ five }, { OPS_PORT: '0', ADMIN_TOKEN: adminToken, ...env });
  const { keys } = gateway.gateway;
  return {
    gateway,
    ops: `http://127.0.0.1:${gateway.gateway.opsPort ?? 0}`,
    add: async (records) => {
      const added = records.map((record) => [digestOf(makeKey()), record] as const);
      for (let from = 0; from < added.length; from += MAX_CONCURRENT_ADDITIONS) {
        const some = added.slice(from, from + MAX_CONCURRENT_ADDITIONS);
        await Promise.all(some.map(([digest, record]) => keys.add(digest, record)));
      }
    },
    stop: async () => {
      await gateway.stop();
      await node.close();
    },
  };
}

/** Records `app-0000`, `app-0001` …, each created an hour after the one before, all before the key of the gateway. */
export function appKeys(count: number): StoredKey[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `app-${String(index).padStart(4, '0')}`,
    createdAt: new Date(Date.UTC(2020, 0, 1) + index * 3_600_000).toISOString(),
    permissions: { team: `team-${index % 7}` },
  }));
}

/** Opens the keys page and enters the token. Ends when the list, or another view, is shown. */
export async function openKeys(browser: Chromium, ops: string, options: OpenOptions = {}, path = ''): Promise<Tab> {
  const tab = await browser.open(`${ops}/keys${path}`, options);
  await fill(tab, 'token', adminToken);
  await tab.evaluate(`document.getElementById('login').requestSubmit()`);
  await tab.waitFor(`[...document.querySelectorAll('main section')].some(({ hidden }) => !hidden)`);
  return tab;
}

/** Opens another page of the ops port, and enters the token. */
export async function openPage(browser: Chromium, ops: string, path: string, options: OpenOptions): Promise<Tab> {
  const tab = await browser.open(ops + path, options);
  await fill(tab, 'token', adminToken);
  await tab.press('Enter');
  await tab.waitFor(`!document.querySelector('#session').hidden`);
  return tab;
}

/** Text of the first element that matches. */
export function textAt(tab: Tab, selector: string): Promise<string> {
  return tab.evaluate<string>(`document.querySelector(${JSON.stringify(selector)}).innerText`);
}

/** Enters a text as its user does. */
export function fill(tab: Tab, id: string, text: string): Promise<unknown> {
  const input = `document.getElementById('${id}')`;
  const events = `['input', 'change'].forEach((type) => ${input}.dispatchEvent(new Event(type)))`;
  return tab.evaluate(`${input}.focus(); ${input}.value = ${JSON.stringify(text)}; ${events}`);
}

export function click(tab: Tab, selector: string): Promise<unknown> {
  const element = `document.querySelector(${JSON.stringify(selector)})`;
  return tab.evaluate(`${element}.focus(); ${element}.click()`);
}

export function textOf(tab: Tab, id: string): Promise<string> {
  return tab.evaluate<string>(`document.getElementById('${id}').innerText`);
}

/** Names in the list, from top to bottom. */
export function namesIn(tab: Tab): Promise<string[]> {
  return tab.evaluate(
    `[...document.querySelectorAll('#list tbody td:nth-child(2) a')].map(({ innerText }) => innerText)`,
  );
}

/**
 * Waits until an expression about the list is true. On a slow machine, Redis may miss the time limit of a command: the
 * list is then loaded again, as its user does.
 */
export function waitForList(tab: Tab, expression: string): Promise<void> {
  const [failure, list, retry] = ['list-failure', 'list', 'retry'].map((id) => `document.getElementById('${id}')`);
  return tab.waitFor(`(${failure}.hidden || ${list}.ariaBusy === 'true' || ${retry}.click(), ${expression})`);
}

export function waitForFocus(tab: Tab, id: string): Promise<void> {
  return tab.waitFor(`document.activeElement.id === '${id}'`);
}

export function waitForMessage(tab: Tab, text: string): Promise<void> {
  return tab.waitFor(`document.getElementById('message').innerText.includes(${JSON.stringify(text)})`);
}
