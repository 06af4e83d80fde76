import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, SOON_MS } from '../../support/eventually.ts';
import { asUsual, slow, type Exchange } from '../../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { expectResponse, expectRejection, resultText } from './expect-response.ts';
import { head, openRaw } from './raw-connection.ts';

const word = `0x${'07'.padStart(64, '0')}`;
/** Each position makes another call: identical ones would be coalesced. */
const readAt = (position: number): string =>
  `{"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x${'12'.repeat(20)}","0x${position}","latest"]}`;
const read = readAt(0);
const local = '{"jsonrpc":"2.0","id":1,"method":"net_version"}';

let node: FakeNode;
let gateway: TestGateway;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_getStorageAt: word } });
  gateway = await startGateway({ main: network(5, [node.url]) }, { requestsMax: '3', BODIES_MAX_BYTES: '100000' });
  await expectResponse(await gateway.post('main', read), 200, resultText('1', word));
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

/** Checks a rejection: with Retry-After. */
async function expectOverloaded(response: Response): Promise<void> {
  expect(response.headers.get('retry-after')).toBe('01');
  await expectRejection(response, 503, -32603, 'the gateway is overloaded');
}

async function expectOverShare(response: Response): Promise<void> {
  expect(response.headers.get('retry-after')).toBe('01');
  const message = 'too many bytes are buffered for this project id: read the responses, or send less at once';
  await expectRejection(response, 429, -32005, message);
}

describe('more than the memory budget', () => {
  it('of requests is rejected until one of them has ended', async () => {
    const held: Exchange[] = [];
    node.always((exchange) => void held.push(exchange), 'eth_getStorageAt');
    const requested = [1, 2, 3].map((position) => gateway.post('main', readAt(position)));
    await eventually(() => held.length === 3);
    await expectOverloaded(await gateway.post('main', local));
    for (const exchange of held) asUsual(exchange);
    for (const response of await Promise.all(requested)) await expectResponse(response, 200, resultText('1', word));
    node.always(undefined, 'eth_getStorageAt');
    await expectResponse(await gateway.post('main', local), 200, resultText('1', '5'));
  });

  it('of bytes is rejected; responses, rejections and disconnecting clients release bytes', async () => {
    const key = gateway.key;
    for (let round = 0; round < 3; round++) {
      const leaving = await openRaw(gateway.gateway.port);
      leaving.send(head(`POST /main/v3/${key}`, { 'content-length': 45_000 }));
      leaving.send(' '.repeat(40_000));
      await eventually(async () => {
        const response = await gateway.post('main', local.padEnd(4_000));
        if (response.status === 200) return false;
        await expectOverShare(response);
        return true;
      }, SOON_MS);
      await expectResponse(await gateway.post('main', local), 200, resultText('1', '5'));
      leaving.destroy();
      await eventually(async () => (await gateway.post('main', local.padEnd(15_000))).status === 200, SOON_MS);
    }
  });
});

it('all calls of a batch share one time limit', async () => {
  node.always(slow(700), 'eth_getStorageAt');
  // 500 calls, 50 at once: with a time limit for each call, all would be served, in 7 s.
  const calls = Array.from({ length: 50 * 10 }, (_, position) => readAt(position));
  const patient = await startGateway({ main: network(5, [node.url]) }, { CALL_TIMEOUT_MS: '2000' });
  try {
    const responses = (await (await patient.post('main', `[${calls.join()}]`)).json()) as object[];
    expect(responses).toHaveLength(calls.length);
    expect(responses[0]).toMatchObject({ result: word });
    expect(responses.at(-1)).toMatchObject({ error: { code: -32603 } });
  } finally {
    node.always(undefined, 'eth_getStorageAt');
    await patient.stop();
  }
});

describe('a client that waits for 100 Continue', () => {
  const statusFor = async (key: string): Promise<number> => {
    const connection = await openRaw(gateway.gateway.port);
    const headers = { 'content-length': local.length, expect: '100-continue' };
    connection.send(head(`POST /main/v3/${key}`, headers));
    const { status } = await connection.response();
    if (status === 100) {
      connection.send(local);
      expect(await connection.response()).toMatchObject({ status: 200, body: resultText('1', '5') });
    }
    connection.destroy();
    return status;
  };

  it('gets 100 if its key is valid, and a rejection before its body if not', async () => {
    expect(await statusFor(gateway.key)).toBe(100);
    expect(await statusFor('malformed')).toBe(401);
  });
});
