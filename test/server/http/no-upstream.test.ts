import { afterAll, beforeAll, expect, it } from 'vitest';
import { status } from '../../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { errorText, expectResponse } from './expect-response.ts';

const call = `{"jsonrpc":"2.0","id":7,"method":"eth_getStorageAt","params":["0x${'12'.repeat(20)}","0x0","latest"]}`;
const rejection = errorText(-32603, 'no upstream could answer', '7');

let node: FakeNode;
let gateway: TestGateway;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5 });
  gateway = await startGateway({ main: network(5, [node.url]) });
  node.always(status(500));
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

it('a call that no upstream could answer is 503 with Retry-After', async () => {
  const response = await gateway.post('main', call);
  expect(response.headers.get('retry-after')).toBe('01');
  await expectResponse(response, 503, rejection);
});

it('a batch of such calls is 200 without Retry-After', async () => {
  const response = await gateway.post('main', `[${call}]`);
  expect(response.headers.get('retry-after')).toBeNull();
  await expectResponse(response, 200, `[${rejection}]`);
});
