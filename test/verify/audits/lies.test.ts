import { describe, expect, it } from 'vitest';
import { blockCall, blocksTo, balanceCall, honest, logsCall, receiptCall, topic, withAudits } from './with-audits.ts';

const blocks = blocksTo();
const truth = honest(blocks);
const receipt = truth.eth_getTransactionReceipt();
const [log] = truth.eth_getLogs([{ fromBlock: '0x0', toBlock: 'latest' }]);
const limit = { timeout: 90_000 };

/** A call, and a lie about it. */
const lies = [
  ['a balance', balanceCall, '0xffff'],
  ['the data of a log', logsCall, [{ ...log, data: '0x02' }]],
  ['logs, which it leaves out', logsCall, []],
  ["a receipt's status", receiptCall, { ...receipt, status: '0x0' }],
  ['a log in a receipt', receiptCall, { ...receipt, logs: [{ ...log, topics: [] }] }],
] as const;

describe.each(lies)('an upstream that lies about %s', limit, (_, call, lie) => {
  const [method] = call;

  it('differs from two others, which agree; its response is not changed', async () => {
    const { nodes, count, untilAudited, logLines } = await withAudits([blocks, blocks, blocks]);
    nodes[0]?.response(method, lie);
    expect(await untilAudited(call, 'node-0', 'differs')).toEqual(lie);
    expect(await count('node-0', 'agrees')).toBe(0);
    for (const other of ['node-1', 'node-2']) {
      expect(await count(other, 'differs')).toBe(0);
      expect(await count(other, 'agrees')).toBeGreaterThan(0);
    }
    const [line] = logLines.filter(({ msg }) => String(msg).startsWith('audit: '));
    expect(line).toMatchObject({
      network: 'test',
      method,
      upstreams: ['node-0'],
      msg: 'audit: an upstream differs from two others',
    });
    expect(Object.keys(line?.['answers'] as object)).toEqual(expect.arrayContaining(['node-0', 'node-1', 'node-2']));
    expect(JSON.stringify(logLines)).not.toMatch(/127\.0\.0\.1:\d+\/|http:/);
  });
});

describe('an upstream that lies', limit, () => {
  it('is found when it is the second one', async () => {
    const { nodes, count, untilAudited } = await withAudits([blocks, blocks, blocks]);
    nodes[1]?.response('eth_getBalance', '0xffff');
    await untilAudited(balanceCall, 'node-1', 'differs');
    expect(await count('node-0', 'differs')).toBe(0);
    expect(await count('node-2', 'differs')).toBe(0);
  });

  it('makes both differ if there is no third one to decide', async () => {
    const { nodes, count, untilAudited, logLines } = await withAudits([blocks, blocks]);
    nodes[0]?.response('eth_getBalance', '0xffff');
    await untilAudited(balanceCall, 'node-0', 'differs');
    expect(await count('node-1', 'differs')).toBe(await count('node-0', 'differs'));
    const [line] = logLines.filter(({ msg }) => String(msg).startsWith('audit: '));
    expect(line).toMatchObject({
      upstreams: ['node-0', 'node-1'],
      msg: 'audit: two upstreams differ, and no third one decides',
    });
  });

  it('makes both differ if the third one has yet another result', async () => {
    const { nodes, count, untilAudited } = await withAudits([blocks, blocks, blocks]);
    nodes[0]?.response('eth_getBalance', '0xffff');
    nodes[1]?.response('eth_getBalance', '0xfffe');
    nodes[2]?.response('eth_getBalance', '0xfffd');
    await untilAudited(balanceCall, 'node-0', 'differs');
    expect((await count('node-1', 'differs')) + (await count('node-2', 'differs'))).toBeGreaterThan(0);
  });
});

describe('a header with another content than its hash', limit, () => {
  const wrong = { ...blocks[4], stateRoot: topic };

  it('shows that the first upstream lies, without a third one', async () => {
    const { nodes, count, untilAudited, logLines } = await withAudits([blocks, blocks]);
    nodes[0]?.response('eth_getBlockByNumber', (params: readonly unknown[]) =>
      params[0] === blockCall[1][0] ? wrong : truth.eth_getBlockByNumber(params),
    );
    await untilAudited(blockCall, 'node-0', 'differs');
    expect(await count('node-1', 'differs')).toBe(0);
    const [line] = logLines.filter(({ msg }) => String(msg).startsWith('audit: '));
    expect(line).toMatchObject({ upstreams: ['node-0'], msg: 'audit: the hash of a block is not that of its header' });
  });

  it('shows that the second upstream lies', async () => {
    const { nodes, count, untilAudited } = await withAudits([blocks, blocks]);
    nodes[1]?.response('eth_getBlockByNumber', (params: readonly unknown[]) =>
      params[0] === blockCall[1][0] ? wrong : truth.eth_getBlockByNumber(params),
    );
    await untilAudited(blockCall, 'node-1', 'differs');
    expect(await count('node-0', 'differs')).toBe(0);
  });

  it('is found with one upstream, after another header of it was verified', async () => {
    const { nodes, untilAudited } = await withAudits([blocks]);
    await untilAudited(blockCall, 'node-0', 'agrees');
    nodes[0]?.response('eth_getBlockByNumber', (params: readonly unknown[]) =>
      params[0] === blockCall[1][0] ? wrong : truth.eth_getBlockByNumber(params),
    );
    await untilAudited(blockCall, 'node-0', 'differs');
  });
});
