import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { privateKeyToAccount } from 'viem/accounts';
import { getAddress, parseEther, parseGwei } from 'viem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { packageRoot } from '../../gateway/config/package.ts';
import { counterContract, gateContract } from '../../local-chain/demo-contracts/demo-contracts.ts';
import { findGeth } from '../nodes/find-geth.ts';
import { startDevGeth, type Geth } from '../nodes/geth.ts';
import { makeBlobTransaction } from '../parity/blob-transaction.ts';
import { fetchResult, httpEndpoint, type RpcEndpoint } from '../parity/rpc-endpoint.ts';
import { makeTypedChain, receiptOf, sender } from '../parity/typed-chain.ts';
import { socketUrl } from '../server/websocket/caller.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { readTable, writeTable } from '../support/page-table.ts';
import { freePort } from '../support/redis.ts';
import {
  closeCodes,
  closeTexts,
  rejectionStatuses,
  rejectionTexts,
  startClosingGateway,
  startRejectingGateway,
  tooLargeInput,
} from '../support/rejecting-gateway.ts';
import { cellOf, rejectionHeading } from '../support/rejection-table.ts';
import { languages, requireTools, runDay, type Language, type Step } from './language.ts';

const page = join(packageRoot, 'docs/clients.md');
const daysPage = join(packageRoot, 'docs/measured/clients.md');
const CHAIN_ID = 7773;
const privateKey = `0x${'7'.repeat(64)}` as const;
const blobAccount = privateKeyToAccount(`0x${'6'.repeat(64)}`);
const transports = ['HTTP', 'WebSocket'] as const;

let geth: Geth;
let node: RpcEndpoint;
let gateway: TestGateway;
let contracts: { readonly counter: string; readonly gate: string };
const rejections = new Map<string, string>();
/** Cells by step and column. */
const days = new Map<string, Map<string, string>>();

beforeAll(async () => {
  requireTools();
  geth = await startDevGeth(findGeth(), CHAIN_ID, sender, 'eth,net,web3,debug,txpool');
  node = httpEndpoint('geth', geth.url);
  const chain = await makeTypedChain(node, { hasBlobs: true });
  const [counter, gate] = [chain.executions[0], chain.executions[3]] as { to: string }[];
  contracts = { counter: getAddress(counter?.to ?? ''), gate: getAddress(gate?.to ?? '') };
  await fundBlobAccount();
  gateway = await startGateway({
    main: network(CHAIN_ID, [geth.url], { methods: ['eth', 'net', 'web3', 'txpool_*', 'debug_*'] }),
  });
});
afterAll(async () => {
  await gateway.stop();
  await geth.stop();
});

const nonceOf = (address: string): Promise<`0x${string}`> =>
  fetchResult(node, 'eth_getTransactionCount', address, 'latest');

const urlOver = (transport: (typeof transports)[number], started: TestGateway): string =>
  transport === 'HTTP' ? started.url('main') : socketUrl(started, 'main');

function setCell(step: string, { name }: Language, transport: string, cell: string): void {
  const cells = days.get(step) ?? new Map<string, string>();
  days.set(step, cells.set(`${name}, ${transport}`, cell));
}

async function fundBlobAccount(): Promise<void> {
  const account = privateKeyToAccount(privateKey);
  const raw = await account.signTransaction({
    ...{ type: 'eip1559', chainId: CHAIN_ID, nonce: Number(await nonceOf(account.address)), gas: 21_000n },
    ...{ to: blobAccount.address, value: parseEther('10') },
    ...{ maxFeePerGas: parseGwei('20'), maxPriorityFeePerGas: parseGwei('1') },
  });
  await receiptOf(node, await fetchResult<string>(node, 'eth_sendRawTransaction', raw));
}

async function dayAt(url: string): Promise<object> {
  const { address } = blobAccount;
  const blob = { from: address, to: contracts.counter, nonce: await nonceOf(address) };
  return {
    ...{ url, isSocket: url.startsWith('ws'), privateKey, chainId: CHAIN_ID, ...contracts },
    number: counterContract.selectors.number,
    set: `${counterContract.selectors.set}${'2a'.padStart(64, '0')}`,
    reverts: Object.values(gateContract.selectors),
    blobTransaction: await makeBlobTransaction(node, blobAccount, blob),
  };
}

/** A call, of which the program prints how it ended. */
const callAt = (url: string, input = '0x'): object => ({
  ...{ url, input, isSocket: url.startsWith('ws'), privateKey, chainId: CHAIN_ID, ...contracts },
  ...{ number: '0x', set: '0x', reverts: [], blobTransaction: '0x' },
});

/** URLs of the gateway and of the node differ, and the first letter of -32601. */
const textOf = (step: Step): string =>
  JSON.stringify(step)
    .replaceAll('The method ', 'the method ')
    .replaceAll(/(http|ws):\/\/[^\s"')]+/g, 'URL');

describe.each(languages)('$name', (language: Language) => {
  beforeAll(() => language.build());

  it.each(transports)('lives the same day over %s', async (transport) => {
    const nodeUrl = transport === 'HTTP' ? geth.url : geth.socketUrl;
    const direct = await runDay(language, 'day', await dayAt(nodeUrl));
    const through = await runDay(language, 'day', await dayAt(urlOver(transport, gateway)));
    expect(through.map(textOf)).toEqual(direct.map(textOf));
    // The programs catch the errors that they provoke.
    expect(through.filter(({ error }) => error !== undefined)).toEqual([]);
    for (const { step, result } of through) {
      const cell = result === 'not supported' ? result : 'equal';
      setCell(step, language, transport, result === null ? '' : cell);
    }
  });

  it.each(transports)('calls faster than its rate limit over %s', async (transport) => {
    const key = makeKey();
    const { keys } = gateway.gateway;
    await keys.add(digestOf(key), { name: 'limited', createdAt: new Date().toISOString() });
    await keys.update(keyIdOf(digestOf(key)), { rate: '1', burst: '1' });
    const url = urlOver(transport, gateway).replace(gateway.key, key);
    const steps = await runDay(language, 'limit', callAt(url));
    const errors = steps.flatMap(({ error }) => error ?? []);
    expect(steps.length).toBe(4);
    expect(errors.filter((error) => !/429|request rate exceeded/.test(error))).toEqual([]);
    setCell('rate limit', language, transport, errors.length === 0 ? 'sends again' : 'error');
  });

  it.each(transports)('outlives a restart of the gateway over %s', async (transport) => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-languages-'));
    const env = { PORT: String(await freePort()), DATA_DIR: folder };
    const start = (): Promise<TestGateway> => startGateway({ main: network(CHAIN_ID, [geth.url]) }, env);
    const first = await start();
    let stopped: Promise<void> | undefined;
    let second: Promise<TestGateway> | undefined;
    const steps = await runDay(language, 'restart', callAt(urlOver(transport, first)), ({ step }) => {
      if (step === 'open') stopped = first.stop();
      if (step === 'down') second = stopped?.then(start);
    });
    await (await second)?.stop();
    rmSync(folder, { recursive: true, force: true });
    const names = steps.map(({ step }) => step);
    expect(names.slice(0, -1)).toEqual(['open', 'down']);
    setCell('restart', language, transport, names.at(-1) === 'again' ? 'calls again' : 'stays closed');
  });

  it('rejections', async () => {
    const rejecting = await startRejectingGateway(geth.url, CHAIN_ID);
    for (const status of rejectionStatuses) {
      const input = status === 413 ? tooLargeInput : '0x';
      const steps = await runDay(language, 'reject', callAt(rejecting.url(status), input));
      const { error } = steps.at(-1) as Step;
      expect(error, `${status}`).toBeDefined();
      rejections.set(`${language.name} ${status}`, cellOf({ error }, rejectionTexts[status], 'retries'));
    }
    await rejecting.stop();
  });

  it('closes of WebSockets', async () => {
    for (const code of closeCodes) {
      const closing = await startClosingGateway(code, geth.url, CHAIN_ID);
      let closed: Promise<void> | undefined;
      const steps = await runDay(language, 'close', callAt(closing.socketUrl), ({ step }) => {
        if (step === 'open') closed = closing.close();
      });
      await closed;
      const { step, error } = steps.at(-1) as Step;
      const end = step === 'close' && error !== undefined ? { error } : ('timeout' as const);
      rejections.set(`${language.name} ${code}`, cellOf(end, closeTexts[code], 'waits'));
      await closing.stop();
    }
    expect(rejections.size).toBeGreaterThan(0);
  });
});

it('docs/clients.md and docs/measured/clients.md have the same tables', () => {
  const columns = languages.flatMap(({ name }) => transports.map((transport) => `${name}, ${transport}`));
  const dayRows = [
    ['step', ...columns],
    ...[...days].map(([step, cells]) => [
      step.replaceAll('_', ' '),
      ...columns.map((column) => cells.get(column) ?? ''),
    ]),
  ];
  const rows = languages.map(({ name }) => [
    name,
    ...rejectionHeading.slice(1).map((column) => rejections.get(`${name} ${column}`) ?? ''),
  ]);
  if (process.env['WRITE_DOCS'] === 'yes') {
    writeTable(page, 'language-rejections', [rejectionHeading, ...rows], 'npm run test:all -- languages --write');
    writeTable(daysPage, 'languages', dayRows, 'npm run test:all -- languages --write');
  }
  expect(readTable(page, 'language-rejections')).toEqual([rejectionHeading, ...rows]);
  expect(readTable(daysPage, 'languages')).toEqual(dayRows);
});
