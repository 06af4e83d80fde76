import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { rpcError, startFakeNode } from '../../support/fake-node.ts';
import { network, startGateway } from '../../support/gateway.ts';

const tokens = { admin: 'token-of-the-admin', clerk: 'token-of-a-clerk', viewer: 'token-of-a-viewer' };

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

async function open() {
  const lines: Line[] = [];
  const log = pino({}, { write: (text) => void lines.push(JSON.parse(text) as Line) });
  const node = await startFakeNode({
    chainId: 5,
    responses: { eth_gasPrice: rpcError(-32099, 'no rule covers this') },
  });
  const gateway = await startGateway(
    { main: network(5, [node.url]) },
    {
      OPS_PORT: '0',
      ADMIN_TOKEN: tokens.admin,
      ADMIN_TOKENS: `clerk:keys:${tokens.clerk},viewer:read:${tokens.viewer}`,
    },
    log,
  );
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  const send = async (token: string, verb: string, body?: object) => {
    const response = await fetch(`http://127.0.0.1:${gateway.gateway.opsPort ?? 0}/admin/log-level`, {
      method: verb,
      headers: { authorization: `Bearer ${token}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return [response.status, await response.json()];
  };
  /** Lines of the network's log, a child, about a failed call. */
  const failedCall = async () => {
    const before = lines.length;
    await gateway.call('main', 'eth_gasPrice');
    return lines.slice(before).filter(({ msg }) => msg === 'upstream failed');
  };
  return { gateway, lines, send, failedCall };
}

it('the level of the log and of its children changes at run time, with a line in log and audit log', async () => {
  const { gateway, lines, send, failedCall } = await open();
  expect(await send(tokens.viewer, 'GET')).toEqual([200, { level: 'info' }]);
  expect(await failedCall()).toEqual([]);
  expect(await send(tokens.admin, 'PATCH', { level: 'debug' })).toEqual([200, { level: 'debug' }]);
  expect(await failedCall()).toMatchObject([{ level: 20, network: 'main', upstream: 'node-0', failure: 'unknown' }]);
  expect(await send(tokens.admin, 'PATCH', { level: 'error' })).toEqual([200, { level: 'error' }]);
  expect(await failedCall()).toEqual([]);
  // After a reload, the network has another log.
  gateway.save({ main: network(5, ['http://127.0.0.1:1'], { name: 'Changed' }) });
  await gateway.gateway.reload();
  expect(await send(tokens.admin, 'PATCH', { level: 'info' })).toEqual([200, { level: 'info' }]);
  await gateway.call('main', 'eth_gasPrice');
  expect(lines.findLast(({ msg }) => msg === 'upstream failed')).toMatchObject({ level: 40, network: 'main' });
  const by = 'admin API, admin, 127.0.0.1';
  expect(lines.filter(({ msg }) => msg === 'log level changed')).toMatchObject([
    { from: 'info', to: 'debug', by },
    { from: 'debug', to: 'error', by },
    { from: 'error', to: 'info', by },
  ]);
  const audit = readFileSync(join(gateway.dataDir, 'audit.jsonl'), 'utf8').trim().split('\n');
  expect(audit.map((line) => JSON.parse(line) as object)).toMatchObject(
    ['debug', 'error', 'info'].map((detail) => ({ by, act: 'log-level', key: '-', detail })),
  );
});

it('it changes with the role all only, and to known levels only', async () => {
  const { send } = await open();
  for (const token of [tokens.viewer, tokens.clerk])
    expect(await send(token, 'PATCH', { level: 'debug' })).toMatchObject([403, {}]);
  const message = 'level: expected fatal, error, warn, info, debug, trace or silent';
  expect(await send(tokens.admin, 'PATCH', { level: 'verbose' })).toEqual([
    400,
    { error: { field: 'level', message } },
  ]);
  expect(await send(tokens.admin, 'PATCH', {})).toEqual([
    400,
    { error: { field: 'level', message: 'level is missing' } },
  ]);
  expect(await send(tokens.admin, 'GET')).toEqual([200, { level: 'info' }]);
});
