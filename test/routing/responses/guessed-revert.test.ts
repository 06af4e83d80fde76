import { describe, expect, it } from 'vitest';
import { encodeReason } from '../../../gateway/normalise/errors/revert-payload.ts';
import { status } from '../../support/behaviours.ts';
import { rpcError, type FakeNode } from '../../support/fake-node.ts';
import { withNodes } from '../with-nodes.ts';

const call = { to: `0x${'22'.repeat(20)}`, data: '0x12345678' };
const guess = { code: 3, message: 'execution reverted: mv', data: encodeReason('mv') };

/** Two nodes, of which the first returns -32015 with a text that no rule matches. */
async function withGuess(message = 'mv') {
  const all = await withNodes(2);
  const [first, second] = all.nodes as [FakeNode, FakeNode];
  first.response('eth_estimateGas', rpcError(-32_015, message));
  first.response('eth_call', rpcError(-32_015, message));
  second.response('eth_estimateGas', '0x5208');
  const estimates = (): number[] => all.nodes.map((node) => node.callsOf('eth_estimateGas').length);
  return { ...all, first, second, estimates };
}

describe('-32015 with a text that no rule matches', () => {
  it('is not final: another upstream is tried', async () => {
    const { send, estimates } = await withGuess();
    expect((await send('eth_estimateGas', [call])).response.result).toBe('0x5208');
    expect(estimates()).toEqual([1, 1]);
  });

  it('is a revert at once if the same node has the payload', async () => {
    const { first, send, estimates } = await withGuess();
    first.response('eth_call', rpcError(-32_015, 'VM execution error.', 'Reverted 0xd144d9e3'));
    expect((await send('eth_estimateGas', [call])).response.error).toEqual({
      code: 3,
      message: 'execution reverted',
      data: '0xd144d9e3',
    });
    expect(estimates()).toEqual([1, 0]);
  });

  it.each([
    ['the other one returns the same', rpcError(-32_015, 'mv')],
    ['the other one does not have the state', rpcError(-32_000, 'missing trie node 5ac1 (path ) <nil>')],
    ['the other one has reached a limit', rpcError(-32_005, 'slow down')],
  ])('is a revert when no upstream has a usable response: %s', async (_, response) => {
    const { second, send, estimates } = await withGuess();
    second.response('eth_estimateGas', response);
    second.response('eth_call', response);
    expect((await send('eth_estimateGas', [call])).response.error).toEqual(guess);
    expect(estimates()).toEqual([1, 1]);
  });

  it('is a revert when the other one fails', async () => {
    const { second, send } = await withGuess();
    second.always(status(503), 'eth_estimateGas');
    expect((await send('eth_estimateGas', [call])).response.error).toEqual(guess);
  });

  it.each(['execution timeout', 'context deadline exceeded', 'node is syncing', 'Transaction execution error.'])(
    'is no revert if the text reports a failure of the node: %s',
    async (message) => {
      const { first, second, send } = await withGuess(message);
      expect((await send('eth_estimateGas', [call])).response.result).toBe('0x5208');
      expect(first.callsOf('eth_call')).toHaveLength(0);
      second.response('eth_estimateGas', rpcError(-32_015, message));
      const { error } = (await send('eth_estimateGas', [call])).response;
      expect(error?.code).not.toBe(3);
      expect(error?.message).toContain(message);
      expect(error?.data).toBeUndefined();
    },
  );

  it('of eth_call is passed on unchanged, after another upstream', async () => {
    const { second, send, nodes } = await withGuess();
    second.response('eth_call', rpcError(-32_015, 'mv'));
    expect((await send('eth_call', [call, 'latest'])).response.error).toEqual({ code: -32_015, message: 'mv' });
    expect(nodes.map((node) => node.callsOf('eth_call').length)).toEqual([1, 1]);
  });
});
