import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPublicClient, http, type PublicClient } from 'viem';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { packageRoot, version } from '../../gateway/config/package.ts';
import { startTcpProxy, type TcpProxy } from '../auth/tcp-proxy.ts';
import { Workplace, type Gateway } from '../e2e/gateway-process.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/redis.ts';
import { startPrometheus } from './prometheus.ts';

// The first day of an operator, from the documentation alone: docs/install.md, README.md, docs/scaling.md, docs/keys.md.
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-walkthrough-'));
/** Ends what has been started so far, also after a step that failed. */
const closing: (() => Promise<unknown>)[] = [];
let installed: string;
let place: Workplace;
let anvil: Anvil;
/** The first upstream is behind it: `cut` makes the upstream refuse connections. */
let wire: TcpProxy;
let gateway: Gateway;
let opsPort: number;
let key: { id: string; key: string };

beforeAll(async () => {
  anvil = await startAnvil();
  closing.push(() => anvil.stop());
  wire = await startTcpProxy(Number(new URL(anvil.url).port));
  closing.push(() => wire.close());
  opsPort = await freePort();
});
afterAll(async () => {
  const ends = await Promise.allSettled(closing.map((close) => close()));
  rmSync(folder, { recursive: true, force: true });
  expect(ends.filter(({ status }) => status === 'rejected')).toEqual([]);
});

const npm = (cwd: string, ...args: string[]): unknown => execFileSync('npm', args, { cwd, stdio: 'pipe' });
const client = ({ address }: Gateway, ofKey: string): PublicClient =>
  createPublicClient({ transport: http(`${address}/own/v3/${ofKey}`, { retryCount: 0 }) });
const createKey = async (...options: string[]): Promise<{ id: string; key: string }> =>
  JSON.parse((await place.run(['keys', 'create', ...options, '--json'])).stdout) as { id: string; key: string };
/** The message with which a call fails; undefined if it succeeds. */
const failureOf = (call: Promise<unknown>): Promise<string | undefined> =>
  call.then(
    () => undefined,
    (error: unknown) => (error as Error).message,
  );

it('the package is installed from its tarball into an empty folder', () => {
  npm(packageRoot, 'pack', '--pack-destination', folder);
  writeFileSync(join(folder, 'package.json'), '{}');
  npm(folder, 'install', '--prefer-offline', '--no-audit', '--no-fund', `./gatehouse-rpc-${version}.tgz`);
  installed = join(folder, 'node_modules/gatehouse-rpc');
  expect(existsSync(join(folder, 'node_modules/.bin/gatehouse-rpc'))).toBe(true);
  place = new Workplace(join(installed, 'bin/gatehouse.js'));
  closing.push(() => place.close());
});

it('init writes networks; check validates an own network; start prints it', async () => {
  expect((await place.run(['init'])).stdout).toMatch(/^Wrote \d+ networks to networks\./);
  for (const name of readdirSync(join(place.folder, 'networks'))) rmSync(join(place.folder, 'networks', name));
  const upstreams = [
    { name: 'our-node', url: `http://127.0.0.1:${wire.port}` },
    { name: 'provider', url: anvil.url, priority: 1 },
  ];
  place.withNetworks({ own: { name: 'Own', chainId: 1337, upstreams } });
  expect(await place.run(['check'])).toMatchObject({ code: 0 });
  expect(await place.run(['doctor'])).toMatchObject({ code: 0 });
  gateway = await place.start({ OPS_PORT: String(opsPort) });
  expect(gateway.banner).toContain(`${gateway.address}/own/v3/`);
});

it('a real client is served: viem', async () => {
  key = await createKey('--name', 'dapp', '--networks', 'own');
  const viem = client(gateway, key.key);
  // A running gateway sees changed keys within a second.
  await eventually(async () => (await failureOf(viem.getChainId())) === undefined);
  expect(await viem.getChainId()).toBe(1337);
  expect(await viem.getBlockNumber({ cacheTime: 0 })).toBe(3n);
});

it('the cause of a dead upstream is on the status page, in /readyz, and in an alert of Prometheus', async () => {
  const prometheus = await startPrometheus(
    join(folder, 'prometheus'),
    join(installed, 'deploy/prometheus'),
    `127.0.0.1:${opsPort}`,
  );
  closing.push(() => prometheus.stop());
  const viem = client(gateway, key.key);
  await viem.getBlockNumber({ cacheTime: 0 });
  await wire.cut();
  const read = async (url: string): Promise<string> =>
    (await fetch(url, { headers: { accept: 'application/json' } })).text();
  // Calls continue: the second upstream serves them.
  await eventually(async () => {
    expect(await failureOf(viem.getBlockNumber({ cacheTime: 0 }))).toBeUndefined();
    const isOnPage = /"name":"our-node","state":"failing","reason":"connection refused"/;
    const isInReadiness = /"our-node":"circuit open for \d+ s: connection refused, \d+ of \d+ requests failed"/;
    const readiness = await read(`http://127.0.0.1:${opsPort}/readyz`);
    return isOnPage.test(await read(`${gateway.address}/`)) && isInReadiness.test(readiness);
  }, 120_000);
  await eventually(async () => {
    await viem.getBlockNumber({ cacheTime: 0 });
    const alerts = await prometheus.alerts();
    return alerts.some(
      ({ state, labels, annotations }) =>
        state === 'firing' &&
        labels['alertname'] === 'GatehouseUpstreamDown' &&
        annotations['summary'] === 'Upstream our-node of own is down',
    );
  }, 240_000);
  const others = (await prometheus.alerts()).filter(({ labels }) => labels['severity'] === 'critical');
  expect(others).toEqual([]);
  await wire.restore();
});

it('a key is restricted, then revoked', async () => {
  const viem = client(gateway, key.key);
  expect((await place.run(['keys', 'update', key.id, '--methods', 'eth_chainId'])).code).toBe(0);
  await eventually(async () => (await failureOf(viem.getBlockNumber({ cacheTime: 0 }))) !== undefined);
  expect(await viem.getChainId()).toBe(1337);
  expect((await place.run(['keys', 'revoke', key.id])).stdout).toBe(`Key ${key.id} (dapp) is revoked.\n`);
  await eventually(async () => (await failureOf(viem.getChainId()))?.includes('invalid project id') === true);
});

it('a backup is restored on another machine: keys, revocations and usage', async () => {
  const live = await createKey('--name', 'backend');
  await eventually(async () => (await failureOf(client(gateway, live.key).getChainId())) === undefined);
  await eventually(async () => (await place.run(['keys', 'usage', live.id])).stdout.includes('eth_chainId'));
  expect((await place.run(['backup', 'keys.jsonl'])).code).toBe(0);
  expect(await gateway.stop()).toMatchObject({ code: 0 });
  const other = { DATA_DIR: join(folder, 'other') };
  expect((await place.run(['restore', 'keys.jsonl'], other)).code).toBe(0);
  const again = await place.start(other);
  expect(await client(again, live.key).getChainId()).toBe(1337);
  expect(await failureOf(client(again, key.key).getChainId())).toContain('invalid project id');
  expect((await place.run(['keys', 'usage', live.id], other)).stdout).toContain('eth_chainId');
  expect(await again.stop()).toMatchObject({ code: 0 });
});
