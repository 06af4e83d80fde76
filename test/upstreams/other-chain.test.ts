import { describe, expect, it } from 'vitest';
import { status } from '../support/behaviours.ts';
import { shiftClock, withNodes, word } from '../routing/with-nodes.ts';

describe('an upstream of another chain', () => {
  it('never gets a call, not even the first one', async () => {
    const { nodes, request, requestCounts } = await withNodes(2);
    nodes[0]?.response('eth_chainId', '0x8');
    const responses = await Promise.all([request(), request(), request(), request()]);
    expect(new Set(responses.map(({ result }) => result))).toEqual(new Set([word(2)]));
    await request();
    expect(requestCounts()).toEqual([0, 5]);
    // Concurrent calls share one check.
    expect(nodes[0]?.calls.map(({ method }) => method)).toEqual(['eth_chainId']);
  });

  it('is not used even if it is the only one', async () => {
    const { nodes, send } = await withNodes(1);
    nodes[0]?.response('eth_chainId', '0x8');
    expect(await send()).toMatchObject({ status: 503, response: { error: { message: 'no upstream could answer' } } });
    const estimate = [{ to: `0x${'22'.repeat(20)}`, gas: '0x5208' }];
    expect(await send('eth_estimateGas', estimate)).toMatchObject({ status: 503 });
    expect(new Set(nodes[0]?.calls.map(({ method }) => method))).toEqual(new Set(['eth_chainId']));
  });

  // lighthouse 1965, 2293.
  it('is none with chain id 0, of a node that syncs: it is used once it has that of the network', async () => {
    const { nodes, request, requestCounts } = await withNodes(2);
    nodes[0]?.response('eth_chainId', '0x0');
    expect(await request()).toMatchObject({ result: word(2) });
    nodes[0]?.response('eth_chainId', '0x7');
    expect(await request()).toMatchObject({ result: word(1) });
    expect(requestCounts()).toEqual([1, 1]);
  });

  it('is checked again after a minute, and used once it has the chain id of the network', async () => {
    const clock = shiftClock();
    const { nodes, request, requestCounts } = await withNodes(2);
    nodes[0]?.response('eth_chainId', '0x8');
    await request();
    nodes[0]?.response('eth_chainId', '0x7');
    clock.forward(30_000);
    expect(await request()).toMatchObject({ result: word(2) });
    clock.forward(31_000);
    expect(await request()).toMatchObject({ result: word(1) });
    expect(await request()).toMatchObject({ result: word(1) });
    expect(nodes[0]?.callsOf('eth_chainId')).toHaveLength(2);
    expect(requestCounts()).toEqual([2, 2]);
  });

  it('is not the last resort either', async () => {
    const { nodes, send } = await withNodes(2);
    nodes[0]?.response('eth_chainId', '0x8');
    nodes[1]?.always(status(503));
    for (let calls = 0; calls < 3; calls++) expect(await send()).toMatchObject({ status: 503 });
    expect(nodes[0]?.calls.map(({ method }) => method)).toEqual(['eth_chainId']);
  });

  it('is detected when it replaces an upstream that was down', async () => {
    const clock = shiftClock();
    const { nodes, request, requestCounts } = await withNodes(2);
    expect(await request()).toMatchObject({ result: word(1) });
    await nodes[0]?.refuse();
    await request();
    await nodes[0]?.listen();
    nodes[0]?.response('eth_chainId', '0x8');
    clock.forward(1_100);
    expect(await request()).toMatchObject({ result: word(2) });
    expect(requestCounts()).toEqual([1, 2]);
  });

  it.each([['0x7'], ['0x07']])('is not detected for %s, which is the chain id of the network', async (chainId) => {
    const { nodes, request, requestCounts } = await withNodes(1);
    nodes[0]?.response('eth_chainId', chainId);
    expect(await request()).toMatchObject({ result: word(1) });
    expect(requestCounts()).toEqual([1]);
  });

  it.each([[7], ['7'], [null], ['0x'], [{}]])('is assumed if eth_chainId returns %j', async (chainId) => {
    const { nodes, send, requestCounts } = await withNodes(1);
    nodes[0]?.response('eth_chainId', chainId);
    expect(await send()).toMatchObject({ status: 503 });
    expect(requestCounts()).toEqual([0]);
  });

  it('gets a transaction only once it has the chain id of the network, even if it is the last upstream', async () => {
    const clock = shiftClock();
    const { nodes, send } = await withNodes(2);
    for (const node of nodes) node.response('eth_sendRawTransaction', word(5));
    nodes[0]?.response('eth_chainId', '0x8');
    const sent = (): number[] => nodes.map((node) => node.callsOf('eth_sendRawTransaction').length);
    expect((await send('eth_sendRawTransaction', ['0x02c0'])).response.result).toBe(word(5));
    expect(sent()).toEqual([0, 1]);
    await nodes[1]?.refuse();
    expect(await send('eth_sendRawTransaction', ['0x02c0'])).toMatchObject({ status: 503 });
    nodes[0]?.response('eth_chainId', '0x7');
    expect(await send('eth_sendRawTransaction', ['0x02c0'])).toMatchObject({ status: 503 });
    expect(sent()).toEqual([0, 1]);
    clock.forward(60_001);
    expect((await send('eth_sendRawTransaction', ['0x02c0'])).response.result).toBe(word(5));
    expect(sent()).toEqual([1, 1]);
    expect(nodes[0]?.callsOf('eth_chainId')).toHaveLength(2);
  });
});
