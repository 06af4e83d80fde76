import { describe, expect, it } from 'vitest';
import { encodePanic, encodeReason } from '../../../gateway/normalise/errors/revert-payload.ts';
import { hang, status } from '../../support/behaviours.ts';
import { rpcError } from '../../support/fake-node.ts';
import { withNodes } from '../with-nodes.ts';

const call = { to: `0x${'22'.repeat(20)}`, data: '0x12345678' };
const custom = '0xd144d9e3';

/** Two nodes, of which the first reports a revert of the estimate without the payload. */
async function withLostPayload(message = 'execution reverted', env: Record<string, string> = {}) {
  const all = await withNodes(2, env);
  const [first] = all.nodes;
  if (first === undefined) throw new Error('there is no node');
  first.response('eth_estimateGas', rpcError(-32_000, message));
  return { ...all, first };
}

describe('a revert without its payload', () => {
  it.each([
    ['as geth returns it', rpcError(3, 'execution reverted', custom)],
    ['as parity returns it', rpcError(-32_015, 'VM execution error.', `Reverted ${custom}`)],
    [
      'as ganache-cli 6 returns it',
      rpcError(-32_000, 'VM Exception while processing transaction: revert', {
        [`0x${'ab'.repeat(32)}`]: { error: 'revert', return: custom },
      }),
    ],
  ])('gets it from one eth_call to the same node, %s', async (_, response) => {
    const { first, send, requestCounts } = await withLostPayload();
    first.response('eth_call', response);
    expect((await send('eth_estimateGas', [call])).response).toMatchObject({
      error: { code: 3, message: 'execution reverted', data: custom },
    });
    expect(requestCounts()).toEqual([2, 0]);
  });

  it('is fetched with the same parameters, for the same block', async () => {
    const { first, send } = await withLostPayload();
    await send('eth_estimateGas', [call]);
    await send('eth_estimateGas', [call, '0x10']);
    await send('eth_estimateGas', [call, 'pending', { [call.to]: { balance: '0x1' } }]);
    await send('zks_estimateFee', [{ ...call, from: call.to }]);
    expect(first.callsOf('eth_call').map(({ params }) => params)).toEqual([
      [call, 'latest'],
      [call, '0x10'],
      [call, 'pending', { [call.to]: { balance: '0x1' } }],
    ]);
  });

  it('has its reason from the payload, not from the error of the estimate', async () => {
    const { first, send, requestCounts } = await withLostPayload('execution reverted: words of the node');
    first.response('eth_call', rpcError(3, 'execution reverted', encodePanic('11')));
    expect((await send('eth_estimateGas', [call])).response.error).toEqual({
      code: 3,
      message: 'execution reverted: arithmetic underflow or overflow',
      data: encodePanic('11'),
    });
    expect(requestCounts()).toEqual([2, 0]);
  });

  it('may have its payload in a result of eth_call, as from geth up to 1.9.13', async () => {
    const { first, send, requestCounts } = await withLostPayload();
    first.response('eth_call', encodeReason('plain'));
    expect((await send('eth_estimateGas', [call])).response.error).toMatchObject({
      message: 'execution reverted: plain',
      data: encodeReason('plain'),
    });
    expect(requestCounts()).toEqual([2, 0]);
  });

  it.each([
    ['has none either', rpcError(-32_000, 'execution reverted')],
    ['succeeds', '0x'],
    ['returns a result that is no revert', custom],
    ['returns another error', rpcError(-32_000, 'header not found')],
    ['returns null', null],
  ])('has its payload built from the reason if eth_call %s', async (_, response) => {
    const { first, send, requestCounts } = await withLostPayload('execution reverted: plain');
    first.response('eth_call', response);
    expect((await send('eth_estimateGas', [call])).response.error).toEqual({
      code: 3,
      message: 'execution reverted: plain',
      data: encodeReason('plain'),
    });
    expect(requestCounts()).toEqual([2, 0]);
  });

  it.each([
    ['fails', status(500)],
    ['hangs', hang],
  ])('has an empty payload in time if eth_call %s and there is no reason', async (_, behaviour) => {
    const { first, send, requestCounts } = await withLostPayload('execution reverted', {
      CALL_TIMEOUT_MS: '1500',
      // Longer than the test may take.
      UPSTREAM_TIMEOUT_MS: '600000',
    });
    first.always(behaviour, 'eth_call');
    expect((await send('eth_estimateGas', [call])).response.error).toEqual({
      code: 3,
      message: 'execution reverted',
      data: '0x',
    });
    expect(requestCounts()).toEqual([2, 0]);
  });

  it('causes no eth_call if the payload is present, empty or not', async () => {
    const { first, send, requestCounts } = await withLostPayload();
    for (const data of ['0x', custom]) {
      first.response('eth_estimateGas', rpcError(3, 'execution reverted', data));
      expect((await send('eth_estimateGas', [call])).response.error?.data).toBe(data);
    }
    expect(requestCounts()).toEqual([2, 0]);
  });
});
