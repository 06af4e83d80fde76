import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../../gateway/config/package.ts';
import { hang, slow, status } from '../../support/behaviours.ts';
import { rpcError } from '../../support/fake-node.ts';
import { hash, raw, startSenders } from './sending.ts';

const sendAndWait = 'eth_sendRawTransactionSync';
const cases = readFileSync(join(packageRoot, 'test/cases/eth_sendRawTransactionSync.io'), 'utf8');
const [, result = ''] = /^<< (.*)$/m.exec(cases) ?? [];
const { result: receipt } = JSON.parse(result) as { result: object };
/** The node has the transaction in its pool. */
const pending = { hash, nonce: '0x3', blockHash: null };
const sentBefore = { code: 4, message: 'The transaction was sent before: its receipt is not waited for', data: hash };

/** Two seconds pass before an upstream is asked whether it has the transaction. */
async function startWaiting(count: number, more: object = {}) {
  const senders = await startSenders(count, more, { CALL_TIMEOUT_MS: '6000' });
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

it('with one upstream, eth_sendRawTransactionSync waits for the whole time of the call', async () => {
  const { nodes, sendSync } = await startWaiting(1);
  nodes[0]?.always(slow(3_000), sendAndWait);
  expect((await sendSync()).response.result).toMatchObject(receipt);
});
