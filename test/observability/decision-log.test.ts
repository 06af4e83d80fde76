import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway } from '../support/gateway.ts';

interface Line {
  readonly msg: string;
  readonly [field: string]: unknown;
}

async function open(level: string) {
  const lines: Line[] = [];
  const log = pino({ level }, { write: (text) => void lines.push(JSON.parse(text) as Line) });
  const nodes = await Promise.all([0, 1].map(() => startFakeNode({ chainId: 5, responses: { eth_gasPrice: '0x1' } })));
  const urls = nodes.map(({ url }) => url);
  const gateway = await startGateway({ main: network(5, urls, { failsafe: { hedgeAfterMs: 'off' } }) }, {}, log);
  onTestFinished(async () => {
    await gateway.stop();
    await Promise.all(nodes.map((node) => node.close()));
  });
  return { gateway, nodes, decisions: () => lines.filter(({ msg }) => msg.startsWith('call: ')) };
}

it('with LOG_LEVEL=debug, each decision about a call is a line with its request id', async () => {
  const { gateway, nodes, decisions } = await open('debug');
  await nodes[0]?.refuse();
  await gateway.call('main', 'eth_gasPrice');
  const common = { requestId: expect.any(String) as string, key: expect.any(String) as string };
  const call = { ...common, network: 'main', method: 'eth_gasPrice' };
  expect(decisions()).toMatchObject([
    { ...call, msg: 'call: cache', cache: expect.any(String) as string },
    { ...call, msg: 'call: attempt', upstream: 'node-0' },
    { ...call, msg: 'call: attempt ended', upstream: 'node-0', outcome: 'transport' },
    { ...call, msg: 'call: attempt', upstream: 'node-1' },
    { ...call, msg: 'call: attempt ended', upstream: 'node-1', outcome: 'response' },
    { ...call, msg: 'call: ended', outcome: 'result', units: 1 },
  ]);
  expect(new Set(decisions().map(({ requestId }) => requestId)).size).toBe(1);
  expect(JSON.stringify(decisions())).not.toMatch(/127\.0\.0\.1|http/);
});

it('at the level info, there are no such lines', async () => {
  const { gateway, decisions } = await open('info');
  await gateway.call('main', 'eth_gasPrice');
  expect(decisions()).toEqual([]);
});
