import { keccak256 } from 'viem';
import { describe, expect, it } from 'vitest';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { shiftClock } from '../../routing/with-nodes.ts';
import { asUsual, hang, slow, status, type Exchange } from '../../support/behaviours.ts';
import { eventually, staysTrueFor } from '../../support/eventually.ts';
import { rpcError } from '../../support/fake-node.ts';
import { account, hash, raw, send, sign, startSenders, type Senders } from './sending.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const funds = rpcError(-32_000, 'insufficient funds for gas * price + value');
const count = 'eth_getTransactionCount';
/** Other requests, such as the check of the chain id, have more time on a loaded machine. */
const failsafe = { [send]: { timeoutMs: 1_000 } };

function opsAddressOf({ gateway: { port, opsPort = port } }: Senders['gateway']): string {
  return `http://127.0.0.1:${opsPort}`;
}

/** How many transactions of an outcome each upstream had. */
async function outcomes({ gateway, nodes }: Senders, outcome: string): Promise<number[]> {
  const { value } = await readMetrics(opsAddressOf(gateway));
  return nodes.map((_, at) => value('gatehouse_transactions_total', { upstream: `node-${at}`, outcome }) ?? 0);
}

describe('with `transactions: all`, a transaction', () => {
  it('is sent to every upstream once, unchanged', async () => {
    const senders = await startSenders(3, { transactions: 'all' });
    expect((await senders.sendRaw()).response).toEqual({ jsonrpc: '2.0', id: 1, result: hash });
    await eventually(() => senders.sent().every((each) => each === 1));
    for (const node of senders.nodes) expect(node.callsOf(send)[0]?.params).toEqual([raw]);
    await eventually(async () => (await outcomes(senders, 'accepted')).join() === '1,1,1');
  });

  it('has the first acceptance as its response', async () => {
    const { nodes, sendRaw, sent } = await startSenders(3, { transactions: 'all' });
    nodes[0]?.always(hang, send);
    nodes[1]?.next(status(502), send);
    expect((await sendRaw()).response.result).toBe(hash);
    expect(sent()).toEqual([1, 1, 1]);
  });

  it('is sent to every upstream if it is a notification, and in a batch', async () => {
    const { gateway, sent } = await startSenders(2, { transactions: 'all' });
    const call = { jsonrpc: '2.0', method: send };
    await gateway.post('test', JSON.stringify({ ...call, params: [raw] }));
    await eventually(() => sent().join() === '1,1');
    await gateway.post('test', JSON.stringify([{ ...call, id: 1, params: [await sign(4)] }]));
    await eventually(() => sent().join() === '2,2');
  });

  it('is successful if an upstream has it already', async () => {
    const senders = await startSenders(2, { transactions: 'all' });
    senders.nodes[0]?.response(send, rpcError(-32_000, 'already known'));
    senders.nodes[1]?.always(hang, send);
    expect((await senders.sendRaw()).response.result).toBe(hash);
    expect(await outcomes(senders, 'known')).toEqual([1, 0]);
  });

  it('is accepted, although another upstream returned an error about it before', async () => {
    const senders = await startSenders(2, { transactions: 'all' });
    senders.nodes[0]?.response(send, funds);
    senders.nodes[1]?.next(slow(100), send);
    expect((await senders.sendRaw()).response.result).toBe(hash);
    expect(senders.sent()).toEqual([1, 1]);
    expect(await outcomes(senders, 'rejected')).toEqual([1, 0]);
    expect(await outcomes(senders, 'accepted')).toEqual([0, 1]);
  });

  it('has an error about it as its response after the usual time of the others, and is not sent again', async () => {
    const senders = await startSenders(2, { transactions: 'all' });
    senders.nodes[0]?.response(send, funds);
    let late: Exchange | undefined;
    senders.nodes[1]?.next((exchange) => void (late = exchange), send);
    expect((await senders.sendRaw()).response.error).toEqual({
      code: -32_000,
      message: 'insufficient funds for gas * price + value',
    });
    expect(await outcomes(senders, 'late')).toEqual([0, 0]);
    // It accepts it afterwards.
    if (late !== undefined) asUsual(late);
    await eventually(async () => (await outcomes(senders, 'late'))[1] === 1);
    expect(senders.sent()).toEqual([1, 1]);
  });

  it('has the first error as its response at once, if all upstreams return one', async () => {
    const { nodes, sendRaw, sent } = await startSenders(2, { transactions: 'all' });
    nodes[0]?.response(send, funds);
    nodes[1]?.always(slow(50), send);
    nodes[1]?.response(send, rpcError(-32_000, 'nonce too low'));
    expect((await sendRaw()).response.error?.message).toMatch(/^insufficient funds/);
    expect(sent()).toEqual([1, 1]);
  });

  it('is not sent again after failures that say nothing about it', async () => {
    const { nodes, sendRaw, sent } = await startSenders(3, { transactions: 'all', failsafe });
    nodes[0]?.always(hang, send);
    nodes[1]?.always(status(502), send);
    nodes[2]?.response(send, rpcError(-32_000, 'txpool is full'));
    expect((await sendRaw()).response.error?.message).toBe('txpool is full');
    await staysTrueFor(50, () => sent().join() === '1,1,1');
  });

  it('fails with 503 if no upstream responds', async () => {
    const { nodes, sendRaw, sent } = await startSenders(2, { transactions: 'all', failsafe });
    for (const node of nodes) node.always(hang, send);
    expect((await sendRaw()).status).toBe(503);
    expect(sent()).toEqual([1, 1]);
  });

  it('is sent once more over a new connection if the upstream had closed the one in use', async () => {
    const { nodes, send: call, sendRaw, sent } = await startSenders(2, { transactions: 'all' });
    await call();
    nodes[0]?.next(({ response }) => void response.socket?.destroy(), send);
    nodes[1]?.always(hang, send);
    expect((await sendRaw()).response.result).toBe(hash);
    expect(sent()).toEqual([2, 1]);
  });

  it('is not sent to an upstream with 100 others without a response', async () => {
    const long = { [send]: { timeoutMs: 200_000 } };
    const env = { CALL_TIMEOUT_MS: '200000' };
    const { nodes, sendRaw, sent } = await startSenders(2, { transactions: 'all', failsafe: long }, env);
    nodes[0]?.always(hang, send);
    for (let nonce = 0; nonce < 103; nonce++) expect((await sendRaw(await sign(nonce))).status).toBe(200);
    expect(sent()).toEqual([100, 103]);
  });

  it('is sent to at most `maxAttempts` upstreams', async () => {
    const { sendRaw, sent } = await startSenders(3, { transactions: 'all', failsafe: { [send]: { maxAttempts: 2 } } });
    expect((await sendRaw()).response.result).toBe(hash);
    await eventually(() => sent().join() === '1,1,0');
  });

  it('is found at the upstream that accepted it first', async () => {
    const { nodes, send: call, sendRaw, sent } = await startSenders(3, { transactions: 'all' });
    nodes[0]?.always(hang, send);
    nodes[1]?.response(send, funds);
    nodes[2]?.response('eth_getTransactionByHash', { hash, nonce: '0x3', blockHash: null });
    await sendRaw();
    expect((await call('eth_getTransactionByHash', [hash])).response.result).toMatchObject({ hash });
    expect(sent('eth_getTransactionByHash')).toEqual([0, 0, 1]);
  });
});

it('names in `transactions` are the only upstreams that get transactions', async () => {
  const { nodes, sendRaw, sent } = await startSenders(3, { transactions: ['node-0', 'node-2'] });
  expect((await sendRaw()).response.result).toBe(hash);
  await eventually(() => sent().join() === '1,0,1');
  for (const node of nodes) node.response(send, rpcError(-32_000, 'txpool is full'));
  expect((await sendRaw(await sign(4))).response.error?.message).toBe('txpool is full');
  expect(sent()).toEqual([2, 0, 2]);
});

it('by default, a transaction is sent to one upstream, which the metrics count', async () => {
  const senders = await startSenders(2);
  senders.nodes[0]?.next(status(502), send);
  expect((await senders.sendRaw()).response.result).toBe(hash);
  expect(senders.sent()).toEqual([1, 1]);
  expect(await outcomes(senders, 'failed')).toEqual([1, 0]);
  expect(await outcomes(senders, 'accepted')).toEqual([0, 1]);
  const { value } = await readMetrics(senders.gateway.address);
  expect(value('gatehouse_transactions_acceptance_duration_seconds_count', { upstream: 'node-1' })).toBe(1);
});

describe('the pending count of a sender', () => {
  const pending = [account.address, 'pending'];

  /** Three upstreams, of which the first two accept the transaction with the nonce 3. */
  async function accepted(first: string, second: string, env: Record<string, string> = {}) {
    const senders = await startSenders(3, { transactions: 'all' }, env);
    senders.nodes[2]?.response(send, funds);
    await senders.sendRaw();
    await eventually(async () => (await outcomes(senders, 'accepted')).join() === '1,1,0');
    senders.nodes[0]?.response(count, first);
    senders.nodes[1]?.response(count, second);
    senders.nodes[2]?.response(count, '0x9');
    return { ...senders, pendingCount: async () => (await senders.send(count, pending)).response.result };
  }

  it.each([
    ['0x3', '0x4'],
    ['0x4', '0x3'],
  ])('is the highest of the upstreams that accepted its transaction: %s, %s', async (first, second) => {
    const { pendingCount, sent } = await accepted(first, second);
    expect(await pendingCount()).toBe('0x4');
    expect(sent(count)).toEqual([1, 1, 0]);
  });

  it('is not above what was accepted because of one upstream', async () => {
    const { pendingCount, sendRaw } = await accepted('0x3e8', '0x4');
    expect(await pendingCount()).toBe('0x4');
    await sendRaw(await sign(4));
    expect(await pendingCount()).toBe('0x5');
  });

  it('is above that if two upstreams agree: the sender has other transactions', async () => {
    const { pendingCount } = await accepted('0x8', '0x8');
    expect(await pendingCount()).toBe('0x8');
  });

  it('does not wait for an upstream that hangs', async () => {
    const { nodes, pendingCount } = await accepted('0x3', '0x4');
    nodes[0]?.always(hang, count);
    expect(await pendingCount()).toBe('0x4');
  });

  it('is not requested from a drained upstream', async () => {
    const token = 'correct-horse-battery';
    const { gateway, pendingCount, sent } = await accepted('0x3', '0x4', { OPS_PORT: '0', ADMIN_TOKEN: token });
    const drained = await fetch(`${opsAddressOf(gateway)}/admin/networks/test/upstreams/node-1/drain`, {
      ...{ method: 'POST', headers: { authorization: `Bearer ${token}` }, body: '{}' },
    });
    expect(drained.status).toBe(200);
    expect(await pendingCount()).toBe('0x3');
    expect(sent(count)).toEqual([1, 0, 0]);
  });

  it('is that of another upstream if those that accepted fail', async () => {
    const { nodes, pendingCount } = await accepted('0x3', '0x4');
    nodes[0]?.always(status(503), count);
    nodes[1]?.always(status(503), count);
    expect(await pendingCount()).toBe('0x9');
  });

  it('is that of one upstream a minute after the last transaction', async () => {
    const clock = shiftClock();
    const { pendingCount, sent } = await accepted('0x3', '0x4');
    clock.forward(61_000);
    await pendingCount();
    expect(sent(count).reduce((sum, each) => sum + each)).toBe(1);
  });

  it('at `latest` is that of one upstream', async () => {
    const { send: call, sent } = await accepted('0x3', '0x4');
    await call(count, [account.address, 'latest']);
    expect(sent(count).reduce((sum, each) => sum + each)).toBe(1);
  });
});

it('of three upstreams one hangs and one rejects: many transactions are accepted and arrive once each', async () => {
  const { nodes, sendRaw } = await startSenders(3, { transactions: 'all' });
  const [hanging, rejecting, accepting] = nodes;
  hanging?.always(hang, send);
  rejecting?.response(send, funds);
  accepting?.always(slow(20), send);
  const transactions = await Promise.all(Array.from({ length: propertyRuns(1_000) }, (_, nonce) => sign(nonce)));
  const queue = [...transactions];
  const sender = async (): Promise<void> => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      expect((await sendRaw(next)).response.result).toBe(keccak256(next));
    }
  };
  // More of them would use the second after which the error of one upstream is the response.
  await Promise.all([sender(), sender()]);
  const arrived = nodes.map((node) => node.callsOf(send).map(({ params }) => String(params)));
  expect(arrived[2]?.toSorted()).toEqual(transactions.toSorted());
  for (const got of arrived) expect(new Set(got).size).toBe(got.length);
});
