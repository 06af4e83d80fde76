import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { freePort } from '../../support/redis.ts';
import { issuerName } from './issuer.ts';
import { tracked } from '../../support/child-processes.ts';

let folder: string;
let backend: ChildProcess;
let port: number;
let node: FakeNode;
let gateway: TestGateway;

beforeAll(async () => {
  const page = readFileSync('docs/keys.md', 'utf8');
  const program = /```js\n(\/\/ backend\.mjs[^]*?)```/.exec(page)?.[1];
  // Below the package, so that it finds jose.
  folder = mkdtempSync(join(import.meta.dirname, 'backend-'));
  writeFileSync(join(folder, 'backend.mjs'), program ?? '');
  port = await freePort();
  backend = tracked(
    spawn(process.execPath, [join(folder, 'backend.mjs')], { env: { PORT: String(port) }, stdio: 'inherit' }),
  );
  await eventually(() =>
    fetch(`http://127.0.0.1:${port}/jwks.json`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  node = await startFakeNode({ chainId: 5 });
  const auth = { issuer: issuerName, audience: 'gatehouse', keySet: `http://127.0.0.1:${port}/jwks.json` };
  gateway = await startGateway({ main: network(5, [node.url]), auth });
});
afterAll(async () => {
  backend.kill();
  await gateway.stop();
  await node.close();
  rmSync(folder, { recursive: true });
});

it('the backend of docs/keys.md signs no token without a user, and continues', async () => {
  for (let n = 0; n < 2; n += 1) expect((await fetch(`http://127.0.0.1:${port}/token`)).status).toBe(401);
});

it('the backend of docs/keys.md signs tokens with which its users call, with the permissions in their claim', async () => {
  const issued = await fetch(`http://127.0.0.1:${port}/token`, { headers: { 'x-user': 'alice' } });
  const { token } = (await issued.json()) as { token: string };
  const send = async (method: string): Promise<number> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] });
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${gateway.address}/main/v3`, { method: 'POST', body, headers })).status;
  };
  expect([await send('eth_chainId'), await send('web3_clientVersion')]).toEqual([200, 403]);
});
