import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import { openRaw } from './raw-connection.ts';

let node: FakeNode;
let gateway: TestGateway;
beforeAll(async () => {
  node = await startFakeNode({ chainId: 5 });
  gateway = await startGateway({ main: network(5, [node.url]) });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

it('at most 100 unfinished heads with more than 100 headers are kept', async () => {
  const head = `GET /openrpc.json HTTP/1.1\r\nhost: a\r\n${'a:b\r\n'.repeat(300)}`;
  const connections = await Promise.all(Array.from({ length: 110 }, () => openRaw(gateway.gateway.port)));
  let served = 0;
  for (const connection of connections) {
    connection.send(head);
    connection.response().then(
      ({ status }) => {
        if (status === 200) served++;
      },
      () => undefined,
    );
  }
  // The gateway has read all of them, also on a loaded machine.
  await scenarioPause(3_000);
  for (const connection of connections) connection.send('\r\n');
  await eventually(() => served === 100);
  // A usual call, and a head with many headers, are served as before.
  expect((await gateway.call('main', 'net_version')).result).toBe('5');
  const late = await openRaw(gateway.gateway.port);
  late.send(`${head}\r\n`);
  expect((await late.response()).status).toBe(200);
  expect(served).toBe(100);
  for (const connection of [...connections, late]) connection.destroy();
});
