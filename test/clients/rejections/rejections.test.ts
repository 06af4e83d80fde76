import { WebSocketProvider } from 'ethers';
import { join } from 'node:path';
import { createPublicClient, webSocket } from 'viem';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Web3 } from 'web3';
import { clock } from '../../../gateway/clock/clock.ts';
import { packageRoot } from '../../../gateway/config/package.ts';
import { startAnvil, type Anvil } from '../../support/anvil.ts';
import { readTable, writeTable } from '../../support/page-table.ts';
import {
  closeCodes,
  closeTexts,
  rejectionStatuses,
  rejectionTexts,
  startClosingGateway,
  startRejectingGateway,
  tooLargeInput,
  type RejectingGateway,
} from '../../support/rejecting-gateway.ts';
import { cellOf, endOf, rejectionHeading, type CallEnd } from '../../support/rejection-table.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import { castClient } from '../cast-client.ts';
import type { Client } from '../client.ts';
import { ethersClient } from '../ethers-client.ts';
import { hardhatClient } from '../hardhat-client.ts';
import { metamaskClient } from '../metamask-client.ts';
import { viemClient } from '../viem-client.ts';
import { wagmiClient } from '../wagmi-client.ts';
import { web3Client } from '../web3-client.ts';
import { account } from '../world.ts';
import { zksyncClient } from '../zksync-client.ts';

const CHAIN_ID = 1337;
const privateKey = '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a';
const clients: readonly Client[] = [
  ...[ethersClient, viemClient, wagmiClient, web3Client],
  ...[zksyncClient, metamaskClient, castClient, hardhatClient],
];

/** Clients with a WebSocket of their own: each opens one, and returns a call over it. */
const sockets: Readonly<Record<string, (url: string) => () => Promise<unknown>>> = {
  ethers: (url) => {
    const provider = new WebSocketProvider(url, CHAIN_ID);
    return () => provider.send('eth_blockNumber', []);
  },
  viem: (url) => {
    const client = createPublicClient({ transport: webSocket(url) });
    return () => client.request({ method: 'eth_blockNumber' });
  },
  'web3.js': (url) => {
    const web3 = new Web3(url);
    web3.provider?.on('error', () => undefined);
    return () => web3.eth.getBlockNumber();
  },
};

let anvil: Anvil;
let gateway: RejectingGateway;
/** Cells by client and column. */
const cells = new Map<string, string>();

beforeAll(async () => {
  anvil = await startAnvil();
  gateway = await startRejectingGateway(anvil.url, CHAIN_ID);
});
afterAll(async () => {
  await gateway.stop();
  await anvil.stop();
});

it.each(clients)('rejections over HTTP, shown by $name', { timeout: 200_000 }, async (kind) => {
  const { name } = kind;
  for (const status of rejectionStatuses) {
    const http = gateway.url(status);
    const client = await kind.open({ http, ws: http.replace('http', 'ws'), chainId: CHAIN_ID, privateKey });
    const data = status === 413 ? tooLargeInput : '0x';
    const end = await endOf(client.call({ from: account, to: account, data }));
    // Otherwise ethers would detect its network for ever.
    await endOf(client.close());
    cells.set(`${name} ${status}`, cellOf(end, rejectionTexts[status], 'retries'));
  }
  expect(rejectionStatuses.map((status) => cells.get(`${name} ${status}`))).not.toContain('no error');
});

it.each(Object.keys(sockets))('closes of WebSockets, shown by %s', { timeout: 200_000 }, async (name) => {
  for (const code of closeCodes) {
    const closing = await startClosingGateway(code, anvil.url, CHAIN_ID);
    const call = sockets[name]?.(closing.socketUrl) as () => Promise<unknown>;
    await call();
    await closing.close();
    let end: CallEnd = 'result';
    for (const start = clock.now(); end === 'result' && clock.now() - start < 20_000;) {
      await scenarioPause(100);
      end = await endOf(call());
    }
    cells.set(`${name} ${code}`, cellOf(end, closeTexts[code], 'waits'));
    await closing.stop();
  }
  expect(closeCodes.map((code) => cells.get(`${name} ${code}`))).not.toContain('no error');
});

it('docs/clients.md has the same table', () => {
  const [heading, page] = [rejectionHeading, join(packageRoot, 'docs/clients.md')];
  const rows = clients.map(({ name }) => [
    name,
    ...heading.slice(1).map((column) => cells.get(`${name} ${column}`) ?? ''),
  ]);
  if (process.env['WRITE_DOCS'] === 'yes') {
    writeTable(page, 'rejections', [heading, ...rows], 'npm run test:all -- rejections --write');
  }
  expect(readTable(page, 'rejections')).toEqual([heading, ...rows]);
});
