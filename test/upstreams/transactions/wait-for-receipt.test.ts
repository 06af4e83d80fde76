import { describe, expect, it } from 'vitest';
import { hang, slow, status } from '../../support/behaviours.ts';
import { rpcError } from '../../support/fake-node.ts';
import { hash, raw, receipt, sendAndWait, startSenders } from './sending.ts';

/** The node has the transaction in its pool. */
const pending = { hash, nonce: '0x3', blockHash: null };
const sentBefore = { code: 4, message: 'The transaction was sent before: its receipt is not waited for', data: hash };

/** Two seconds pass before an upstream is asked whether it has the transaction. */
async function startWaiting(count: number, more: object = {}, keys: readonly object[] = []) {
  const senders = await startSenders(count, more, { CALL_TIMEOUT_MS: '6000' }, keys);
  for (const node of senders.nodes) node.response(sendAndWait, receipt);
  // Connections and checks of the chain id take long on a loaded machine.
  await senders.send();
  return {
    ...senders,
    sendSync: () => senders.send(sendAndWait, [raw]),
    sentSync: () => senders.sent(sendAndWait),
  };
}

describe.each(['first', 'all'])('eth_sendRawTransactionSync with `transactions: %s`', (transactions) => {
  it('returns the receipt', async () => {
    const { sendSync } = await startWaiting(2, { transactions });
    expect((await sendSync()).response.result).toMatchObject(receipt);
  });

  it('returns a late receipt of an upstream that has the transaction', async () => {
    const { nodes, sendSync, sentSync } = await startWaiting(2, { transactions });
    nodes[0]?.always(slow(3_000), sendAndWait);
    nodes[0]?.response('eth_getTransactionByHash', pending);
    nodes[1]?.response(sendAndWait, rpcError(-32_000, 'already known'));
    expect((await sendSync()).response.result).toMatchObject(receipt);
    expect(sentSync()).toEqual(transactions === 'all' ? [1, 1] : [1, 0]);
  });

  it('does not wait for an upstream that hangs', async () => {
    const { nodes, sendSync, sentSync } = await startWaiting(2, { transactions });
    nodes[0]?.always(hang);
    nodes[1]?.response(sendAndWait, rpcError(-32_000, 'already known'));
    expect((await sendSync()).response.error).toEqual(sentBefore);
    expect(sentSync()).toEqual([1, 1]);
  });

  it('does not wait for an upstream that hangs and lacks the transaction', async () => {
    const { nodes, sendSync, sentSync } = await startWaiting(2, { transactions });
    nodes[0]?.always(hang, sendAndWait);
    expect((await sendSync()).response.result).toMatchObject(receipt);
    expect(sentSync()).toEqual([1, 1]);
  });

  it('returns the receipt of an upstream although others fail', async () => {
    const { nodes, sendSync } = await startWaiting(2, { transactions });
    nodes[0]?.always(status(502), sendAndWait);
    expect((await sendSync()).response.result).toMatchObject(receipt);
  });
});

it('an upstream that may not get lookups is waited for', async () => {
  const { nodes, sendSync, sentSync } = await startWaiting(2, {}, [{ methods: ['-eth_getTransactionByHash'] }]);
  nodes[0]?.always(slow(3_000), sendAndWait);
  expect((await sendSync()).response.result).toMatchObject(receipt);
  expect(sentSync()).toEqual([1, 0]);
});

it('the only upstream of a route is waited for, although it does not return the transaction', async () => {
  const { nodes, sendSync, sentSync } = await startWaiting(2, { route: { [sendAndWait]: ['node-1'] } });
  nodes[1]?.always(slow(3_000), sendAndWait);
  expect((await sendSync()).response.result).toMatchObject(receipt);
  expect(sentSync()).toEqual([0, 1]);
});

it('with one upstream, eth_sendRawTransactionSync waits for the whole time of the call', async () => {
  const { nodes, sendSync } = await startWaiting(1);
  nodes[0]?.always(slow(3_000), sendAndWait);
  expect((await sendSync()).response.result).toMatchObject(receipt);
});
