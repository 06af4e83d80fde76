import { describe, expect, it } from 'vitest';
import { encodeReason } from '../../../gateway/normalise/errors/revert-payload.ts';
import { status } from '../../support/behaviours.ts';
import { rpcError, type FakeNode } from '../../support/fake-node.ts';
import { withNodes } from '../with-nodes.ts';

const call = { to: `0x${'22'.repeat(20)}`, data: '0x12345678' };
const guess = { code: 3, message: 'execution reverted: mv', data: encodeReason('mv') };

/** Two nodes, of which the first says -32015 and a text that no rule knows. */
async function withGuess(message = 'mv') {
  const all = await withNodes(2);
  const [first, second] = all.nodes as [FakeNode, FakeNode];
  first.response('eth_estimateGas', rpcError(-32_015, message));
  first.response('eth_call', rpcError(-32_015, message));
  second.response('eth_estimateGas', '0x5208');
  const estimates = (): number[] => all.nodes.map((node) => node.callsOf('eth_estimateGas').length);
  return { ...all, first, second, estimates };
}

describe('-32015 with a text that no rule knows', () => {
  it('is not final: another upstream is asked', async () => {
    const { send, estimates } = await withGuess();
    expect((await send('eth_estimateGas', [call])).response.result).toBe('0x5208');
    expect(estimates()).toEqual([1, 1]);
  });

  it('is a revert at once where the same node has the payload', async () => {
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
    ['the other one says the same', rpcError(-32_015, 'mv')],
    ['the other one lacks the state', rpcError(-32_000, 'missing trie node 5ac1 (path ) <nil>')],
    ['the other one has had enough', rpcError(-32_005, 'slow down')],
  ])('is a revert when no upstream has a usable response: %s', async (_, said) => {
    const { second, send, estimates } = await withGuess();
    second.response('eth_estimateGas', said);
    second.response('eth_call', said);
    expect((await send('eth_estimateGas', [call])).response.error).toEqual(guess);
    expect(estimates()).toEqual([1, 1]);
  });

  it('is a revert when the other one is down', async () => {
    const { second, send } = await withGuess();
    second.always(status(503), 'eth_estimateGas');
    expect((await send('eth_estimateGas', [call])).response.error).toEqual(guess);
  });

  it.each(['execution timeout', 'context deadline exceeded', 'node is syncing', 'Transaction execution error.'])(
    'is none of a node that fails: %s',
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

  it('is the node’s own error from eth_call, after another upstream', async () => {
    const { second, send, nodes } = await withGuess();
    second.response('eth_call', rpcError(-32_015, 'mv'));
    expect((await send('eth_call', [call, 'latest'])).response.error).toEqual({ code: -32_015, message: 'mv' });
    expect(nodes.map((node) => node.callsOf('eth_call').length)).toEqual([1, 1]);
  });
});
