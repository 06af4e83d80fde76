import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hang } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

const params = ['0x1212121212121212121212121212121212121212', '0x0', 'latest'];
const wordOf = (digit: number): string => `0x${String(digit).repeat(64)}`;

let nodes: FakeNode[];
let gateway: TestGateway;

beforeEach(async () => {
  nodes = await Promise.all(
    [1, 2].map((digit) => startFakeNode({ chainId: 5, responses: { eth_getStorageAt: wordOf(digit) } })),
  );
});
afterEach(async () => {
  await gateway.stop();
  await Promise.all(nodes.map((node) => node.close()));
});

/** A network file with both nodes as upstreams, the first with these options. */
function file(first: object): Record<string, object> {
  const [one, two] = nodes.map((node, index) => ({ name: `node-${index}`, url: node.url }));
  return { main: network(5, [], { upstreams: [{ ...one, ...first }, two], failsafe: { hedgeAfterMs: 'off' } }) };
}

async function start(first: object): Promise<void> {
  gateway = await startGateway(file(first), { UPSTREAM_CONNECTIONS: '1' });
}

async function reload(first: object): Promise<void> {
  gateway.save(file(first));
  await gateway.gateway.reload();
}

/** The digit of the node that responded. */
async function callNode(): Promise<string> {
  const { result, error } = await gateway.call('main', 'eth_getStorageAt', params);
  return error?.message ?? String(result).at(-1) ?? '';
}

/** Number of eth_chainId requests at the first node: one from each upstream object created for it. */
function chainIdRequests(): number | undefined {
  return nodes[0]?.callsOf('eth_chainId').length;
}

describe('a changed option of an upstream', () => {
  it('that replaces nothing is used by the next call, over the same connection', async () => {
    await start({});
    expect(await callNode()).toBe('1');
    await reload({ priority: 1 });
    expect(await callNode()).toBe('2');
    await reload({ priority: 0, failsafe: { timeoutMs: 50 } });
    nodes[0]?.next(hang);
    expect(await callNode()).toBe('2');
    const received = nodes[0]?.callsOf('eth_getStorageAt') ?? [];
    expect(received).toHaveLength(2);
    expect(new Set(received.map(({ connection }) => connection)).size).toBe(1);
    expect(chainIdRequests()).toBe(1);
  });

  it('that replaces the upstream makes a new one, which checks its chain again', async () => {
    await start({});
    expect(await callNode()).toBe('1');
    await reload({ archive: true });
    expect(await callNode()).toBe('1');
    expect(chainIdRequests()).toBe(2);
  });

  it('is not changed by its default in the file', async () => {
    await start({});
    expect(await callNode()).toBe('1');
    await reload({ archive: false, batch: 'auto', priority: 0, headers: {} });
    expect(await callNode()).toBe('1');
    expect(chainIdRequests()).toBe(1);
  });
});
