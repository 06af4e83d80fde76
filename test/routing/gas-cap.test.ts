import { describe, expect, it } from 'vitest';
import { hang, status } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { shiftClock, untilHeadsPolled, withNodes } from './with-nodes.ts';

const to = `0x${'22'.repeat(20)}`;
/** The fake node's block gas limit is 30 million. */
const CAP = '0x11e1a300';

async function withEstimates(count: number, env: Record<string, string> = {}) {
  const all = await withNodes(count, env);
  for (const node of all.nodes) node.response('eth_estimateGas', '0x5208');
  return {
    ...all,
    estimate: (call: object, ...more: unknown[]) => all.send('eth_estimateGas', [call, ...more]),
    sentGas: (index = 0) => all.nodes[index]?.callsOf('eth_estimateGas').map(({ params }) => firstOf(params).gas),
    methods: (index = 0) => all.nodes[index]?.calls.map(({ method }) => method),
  };
}

function firstOf(params: unknown): { gas?: unknown } {
  return (params as [{ gas?: unknown }])[0];
}

describe('gas is unchanged if blocks have no usable gas limit', () => {
  it.each([[{ gasLimit: '0x0' }], [{}], [{ gasLimit: null }], [{ gasLimit: '' }], [{ gasLimit: '0x' }]])(
    '%j',
    async (block) => {
      const { nodes, estimate, sentGas, methods } = await withEstimates(1);
      for (const node of nodes) node.response('eth_getBlockByNumber', { number: '0x1', ...block });
      await estimate({ to, gas: '0xffffffffff' });
      await estimate({ to, gas: '0xfffffffffe' });
      expect(sentGas()).toEqual(['0xffffffffff', '0xfffffffffe']);
      // The second call does not poll again.
      expect(methods()?.slice(-2)).toEqual(['eth_estimateGas', 'eth_estimateGas']);
    },
  );

  it('unless another upstream has one', async () => {
    const { nodes, estimate, sentGas } = await withEstimates(2);
    nodes[0]?.response('eth_getBlockByNumber', { number: '0x10' });
    await estimate({ to, gas: '0xffffffffff' });
    expect([...(sentGas(0) ?? []), ...(sentGas(1) ?? [])]).toEqual([CAP]);
  });
});

describe('gas over ten times the block gas limit is lowered to it', () => {
  it.each([
    ['by one', '0x11e1a301'],
    ['by far', '0xffffffffffffffff'],
    ['beyond what a double can hold', `0x${'f'.repeat(64)}`],
    ['in upper case', '0xFFFFFFFFFF'],
    ['with leading zeros', '0x00011e1a301'],
  ])('%s', async (_, gas) => {
    const { estimate, sentGas } = await withEstimates(1);
    const { status: http, response } = await estimate({ to, gas });
    expect([http, response.result]).toEqual([200, '0x5208']);
    expect(sentGas()).toEqual([CAP]);
  });

  it('and the rest of the call is unchanged', async () => {
    const { nodes, estimate } = await withEstimates(1);
    const call = { from: to, to, gas: '0xffffffffff', data: '0xAB', input: '0xAB', nonce: '0x1', custom: [1] };
    await estimate(call, 'latest', { [to]: { balance: '0x1' } });
    expect(nodes[0]?.callsOf('eth_estimateGas')[0]?.params).toEqual([
      { ...call, gas: CAP },
      'latest',
      { [to]: { balance: '0x1' } },
    ]);
  });
});

it.each(['eth_call', 'eth_createAccessList'])('the gas of %s is lowered too', async (method) => {
  const { nodes, send } = await withNodes(1);
  await send(method, [{ to, gas: '0xffffffffff' }, 'latest']);
  expect(nodes[0]?.callsOf(method)[0]?.params).toEqual([{ to, gas: CAP }, 'latest']);
});

describe('gas of eth_simulateV1', () => {
  const much = '0xffffffffff';
  const simulate = async (...blockStateCalls: readonly object[]) => {
    const all = await withNodes(1);
    all.nodes[0]?.response('eth_simulateV1', []);
    const { status: http } = await all.send('eth_simulateV1', [{ blockStateCalls, validation: false }, 'latest']);
    const sent = all.nodes[0]?.callsOf('eth_simulateV1').map(({ params }) => (params as object[])[0]);
    return { http, sent, methods: all.nodes[0]?.calls.map(({ method }) => method) };
  };

  it('is lowered in every call and every block, and the rest is unchanged', async () => {
    const { http, sent } = await simulate(
      {
        calls: [
          { to, gas: '0x5208' },
          { to, gas: much, nonce: '0x1' },
        ],
        stateOverrides: { [to]: { balance: '0x1' } },
      },
      { blockOverrides: { number: '0x20', gasLimit: much, time: '0x1' }, calls: [] },
      { blockOverrides: { gasLimit: '0x5208' }, calls: [{ gas: much }] },
      { blockOverrides: null },
    );
    expect(http).toBe(200);
    expect(sent).toEqual([
      {
        blockStateCalls: [
          {
            calls: [
              { to, gas: '0x5208' },
              { to, gas: CAP, nonce: '0x1' },
            ],
            stateOverrides: { [to]: { balance: '0x1' } },
          },
          { blockOverrides: { number: '0x20', gasLimit: CAP, time: '0x1' }, calls: [] },
          { blockOverrides: { gasLimit: '0x5208' }, calls: [{ gas: CAP }] },
          { blockOverrides: null },
        ],
        validation: false,
      },
    ]);
  });

  it.each([
    ['a later call', [{ calls: [{ to }, { to, gas: much }] }]],
    ['a later block', [{ calls: [{ to }] }, { calls: [{ to, gas: much }] }]],
  ])('is lowered if only %s names it', async (_, blockStateCalls) => {
    const { sent } = await simulate(...blockStateCalls);
    const lowered = JSON.parse(JSON.stringify(blockStateCalls).replace(much, CAP)) as object;
    expect(sent).toEqual([{ blockStateCalls: lowered, validation: false }]);
  });

  it('is not capped, without waiting for a block, if no call names gas', async () => {
    const { methods } = await simulate({ calls: [{ to }] }, { blockOverrides: { number: '0x20' } });
    expect(methods?.slice(0, 2)).toEqual(['eth_chainId', 'eth_simulateV1']);
  });

  it.each([
    [{ calls: [{ to, gas: 0xff_ff_ff_ff_ff }] }, 'calls[0].gas'],
    [{ blockOverrides: { gasLimit: 0xff_ff_ff_ff_ff } }, 'blockOverrides.gasLimit'],
  ])('is a quantity: %j', async (block, place) => {
    const { send } = await withNodes(1);
    const { response } = await send('eth_simulateV1', [{ blockStateCalls: [block] }]);
    const message = `invalid params: simulation.blockStateCalls[0].${place}: expected hexadecimal quantity`;
    expect(response.error).toEqual({ code: -32_602, message });
  });
});

it.each(['eth_call', 'eth_estimateGas'])(
  'the gas limit in the block overrides of %s is lowered too',
  async (method) => {
    const { nodes, send } = await withNodes(1);
    await send(method, [{ to }, 'latest', {}, { gasLimit: '0xffffffffff', number: '0x1' }]);
    expect(nodes[0]?.callsOf(method)[0]?.params).toEqual([{ to }, 'latest', {}, { gasLimit: CAP, number: '0x1' }]);
  },
);

it.each(['0x11e1a300', '0x11E1A300', '0x0011e1a300', '0x11e1a2ff', '0x5208', '0x0', '0x005208'])(
  'gas of %s is unchanged',
  async (gas) => {
    const { estimate, sentGas } = await withEstimates(1);
    await estimate({ to, gas });
    expect(sentGas()).toEqual([gas]);
  },
);

describe('the block gas limit', () => {
  it('is fetched before the first call that names gas is sent', async () => {
    const { estimate, methods } = await withEstimates(1);
    await estimate({ to, gas: '0x5208' });
    expect(methods()).toEqual(['eth_chainId', 'eth_getBlockByNumber', 'eth_estimateGas']);
  });

  it('is fetched once for simultaneous calls', async () => {
    const { estimate, methods, sentGas } = await withEstimates(1);
    await Promise.all([1, 2, 3, 4, 5].map((value) => estimate({ to, gas: '0xffffffffff', value: `0x${value}` })));
    await estimate({ to, gas: '0xffffffffff' });
    expect(methods()?.filter((method) => method === 'eth_getBlockByNumber')).toHaveLength(1);
    expect(sentGas()).toEqual(Array.from({ length: 6 }, () => CAP));
  });

  it.each([[{ to }], [{ to, gas: null }]])('is not waited for by a call without gas: %j', async (call) => {
    const { nodes, estimate, methods, sentGas } = await withEstimates(1);
    nodes[0]?.always(hang, 'eth_getBlockByNumber');
    await estimate(call);
    // The head is polled in the background after the call.
    expect(methods()?.slice(0, 2)).toEqual(['eth_chainId', 'eth_estimateGas']);
    expect(sentGas()).toEqual(['gas' in call ? null : undefined]);
  });

  it('is updated while the network is in use', async () => {
    const time = shiftClock();
    const all = await withEstimates(1);
    const { nodes, estimate, sentGas, methods } = all;
    await estimate({ to, gas: '0xffffffffff' });
    nodes[0]?.response('eth_getBlockByNumber', { number: '0x11', gasLimit: '0x100' });
    const polls = () => methods()?.filter((method) => method === 'eth_getBlockByNumber').length ?? 0;
    const before = polls();
    time.forward(16_000);
    await estimate({ to });
    await eventually(() => polls() > before);
    await untilHeadsPolled(all, polls());
    await estimate({ to, gas: '0xffffffffff' });
    expect(sentGas()).toEqual([CAP, undefined, '0xa00']);
  });

  it('is fetched from another upstream if the first does not return it', async () => {
    const { nodes, estimate, sentGas } = await withEstimates(2);
    nodes[0]?.always(status(503), 'eth_getBlockByNumber');
    expect((await estimate({ to, gas: '0xffffffffff' })).response.result).toBe('0x5208');
    expect([sentGas(0), sentGas(1)]).toEqual([[], [CAP]]);
  });

  it('is that of the newest block, not of the upstream that is unavailable now', async () => {
    const all = await withEstimates(2);
    const { nodes, request, estimate, sentGas } = all;
    nodes[1]?.response('eth_getBlockByNumber', { number: '0x20', gasLimit: '0x1000' });
    await request();
    await untilHeadsPolled(all);
    nodes[0]?.always(status(503));
    await estimate({ to, gas: '0xffffffffff' });
    expect(sentGas(1)).toEqual(['0xa000']);
  });

  it('may be a JSON number', async () => {
    const { nodes, estimate, sentGas } = await withEstimates(1);
    nodes[0]?.response('eth_getBlockByNumber', { number: '0x1', gasLimit: 30_000_000 });
    expect((await estimate({ to, gas: '0xffffffffff' })).response.result).toBe('0x5208');
    expect(sentGas()).toEqual([CAP]);
  });

  it.each([undefined, null, '', '0x', 'none', -1, 1.5, {}])('of %j caps nothing', async (gasLimit) => {
    const { nodes, estimate, sentGas } = await withEstimates(1);
    nodes[0]?.response('eth_getBlockByNumber', { number: '0x1', gasLimit });
    expect((await estimate({ to, gas: '0xffffffffff' })).response.result).toBe('0x5208');
    expect(sentGas()).toEqual(['0xffffffffff']);
  });

  it('is that of another upstream if the blocks of the first have no usable one', async () => {
    const { nodes, estimate, sentGas, methods } = await withEstimates(2);
    nodes[0]?.response('eth_getBlockByNumber', { number: '0x10' });
    await estimate({ to, gas: '0xffffffffff' });
    await eventually(() => [0, 1].every((node) => methods(node)?.includes('eth_getBlockByNumber') === true));
    await estimate({ to, gas: '0xffffffffff', value: '0x1' });
    expect([...(sentGas(0) ?? []), ...(sentGas(1) ?? [])]).toEqual([CAP, CAP]);
  });

  it.each([[null], [{}], [{ gasLimit: '0x1c9c380' }]])(
    'is unknown after a block like %j: no call is sent uncapped',
    async (block) => {
      const { nodes, estimate, sentGas } = await withEstimates(1);
      nodes[0]?.response('eth_getBlockByNumber', block);
      expect(await estimate({ to, gas: '0x5208' })).toMatchObject({
        status: 503,
        response: { error: { code: -32_603 } },
      });
      expect(sentGas()).toEqual([]);
    },
  );

  it('is not waited for beyond the deadline of a call', async () => {
    const { nodes, estimate, sentGas } = await withEstimates(1, {
      CALL_TIMEOUT_MS: '200',
      // Longer than the test may take.
      UPSTREAM_TIMEOUT_MS: '600000',
    });
    nodes[0]?.always(hang, 'eth_getBlockByNumber');
    expect(await estimate({ to, gas: '0x5208' })).toMatchObject({
      status: 503,
      response: { error: { code: -32_603 } },
    });
    expect(sentGas()).toEqual([]);
  });
});
