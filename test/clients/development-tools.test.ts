import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { findAnvil } from '../../gateway/config/find-anvil.ts';
import { callLocalNode } from '../../local-chain/local-node.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { eventually } from '../support/eventually.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { makeToolFolder, type ToolFolder } from './tool-folder.ts';
import { tracked } from '../support/child-processes.ts';

const CHAIN_ID = 31337;

let anvil: Anvil;
let gateway: TestGateway;
let tools: ToolFolder;
/** URLs with a key: of a network for development, and of one whose methods are those of production. */
let url: string;
let plainUrl: string;

beforeAll(async () => {
  anvil = await startAnvil({ chainId: CHAIN_ID });
  gateway = await startGateway({
    dev: network(CHAIN_ID, [anvil.url], { development: true }),
    plain: network(CHAIN_ID, [anvil.url]),
  });
  [url, plainUrl] = [gateway.url('dev'), gateway.url('plain')];
  tools = makeToolFolder();
});
afterAll(async () => {
  tools.remove();
  await gateway.stop();
  await anvil.stop();
});

/** Storage slot 0 of a contract: the number of Box and of the counter. */
async function numberOf(address: string, at = anvil.url): Promise<number> {
  return Number(await callLocalNode(at, 'eth_getStorageAt', [address, '0x0', 'latest']));
}

function readJson(...path: string[]): unknown {
  return JSON.parse(readFileSync(join(tools.path, ...path), 'utf8'));
}

/** The last line that a script printed. */
function resultOf(printed: string): unknown {
  return JSON.parse(/^\{.*\}$/m.exec(printed)?.[0] ?? 'null');
}

it('Hardhat Ignition deploys', async () => {
  const args = ['ignition', 'deploy', 'ignition/modules/box.js', '--network', 'gateway'];
  expect(await tools.hardhat(url, args)).toContain('successfully deployed');
  const deployed = readJson('ignition/deployments', `chain-${CHAIN_ID}`, 'deployed_addresses.json');
  expect(await numberOf((deployed as Record<string, string>)['Boxes#Box'] ?? '')).toBe(42);
});

it('OpenZeppelin Upgrades deploys and upgrades a proxy, with the manifest of a development chain', async () => {
  const printed = await tools.hardhat(url, ['run', 'scripts/upgrade.js', '--network', 'gateway']);
  const { address } = resultOf(printed) as { address: string };
  expect(await numberOf(address)).toBe(43);
  const [manifest = ''] = readdirSync(join(tools.path, 'openzeppelin-upgrades')).filter((name) => /^anvil-/.test(name));
  expect(readJson('openzeppelin-upgrades', manifest)).toMatchObject({ proxies: [{ address }] });
});

it('Hardhat’s network helpers mine, travel in time, impersonate and restore', async () => {
  const printed = await tools.hardhat(url, ['run', 'scripts/network.js', '--network', 'gateway']);
  expect(resultOf(printed)).toEqual({ mined: 3, elapsed: 3600, status: 1, restored: true, balance: 0 });
});

it('forge script broadcasts from an unlocked account', async () => {
  const sender = anvil.chain.caller;
  await tools.forge([
    'script',
    'script/deploy.s.sol',
    '--rpc-url',
    url,
    '--broadcast',
    '--unlocked',
    '--sender',
    sender,
  ]);
  const { receipts } = readJson('broadcast/deploy.s.sol', String(CHAIN_ID), 'run-latest.json') as {
    receipts: readonly { status: string; contractAddress: string | null }[];
  };
  expect(receipts.map(({ status }) => status)).toEqual(['0x1', '0x1']);
  expect(await numberOf(receipts[0]?.contractAddress ?? '')).toBe(42);
});

it('Hardhat forks a network', async () => {
  const { address, value } = anvil.chain.counter;
  const printed = await tools.hardhat(plainUrl, ['run', 'scripts/fork.js'], { COUNTER: address });
  expect(resultOf(printed)).toEqual({ storage: value, mined: 2, changed: 7 });
  expect(await numberOf(address)).toBe(value);
});

it('anvil forks a network', async () => {
  const { address, value } = anvil.chain.counter;
  const args = ['--port', '0', '--fork-url', plainUrl, '--no-cors'];
  const child = tracked(
    spawn(findAnvil() ?? '', args, { stdio: ['ignore', 'pipe', 'ignore'], env: { HOME: tools.path } }),
  );
  onTestFinished(async () => {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const listening = (): string | undefined => /^Listening on (\S+)$/m.exec(printed)?.[1];
  await eventually(() => listening() !== undefined, 30_000);
  const fork = `http://${listening() ?? ''}`;
  expect(await numberOf(address, fork)).toBe(value);
  await callLocalNode(fork, 'anvil_setStorageAt', [address, '0x0', `0x${'7'.padStart(64, '0')}`]);
  expect([await numberOf(address, fork), await numberOf(address)]).toEqual([7, value]);
});
