import { describe, expect, it } from 'vitest';
import { limited } from './limited.ts';

const call = '{"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x';
const large = (text: string): string => `${text}${' '.repeat(200_000)}`;

/** A call with so many members in its parameters, and as many values as members of its own. */
const callOf = (members: number): string => {
  const overrides = Array.from({ length: members }, (_, index) => `"0x${index.toString(16).padStart(40, '0')}":{}`);
  return `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{},"latest",{${overrides.join(',')}}]}`;
};

describe('a body that is rejected as a whole', () => {
  it.each([
    ['not JSON', call],
    ['not JSON, and large', large(call)],
    ['nested too deep', '['.repeat(100)],
    ['an empty batch', '[]'],
  ])('costs a tenth of a unit: %s', async (_, body) => {
    const one = await limited();
    const { gateway } = one;
    await one.setPermissions({ rate: '0.01', burst: '1' });
    const statuses = [];
    for (let count = 0; count < 10; count++) statuses.push((await gateway.post('test', body)).status);
    // The first has a whole unit, which a large body needs before it is parsed.
    expect(statuses[0]).not.toBe(429);
    if (body.length < 100_000) expect(statuses).not.toContain(429);
    const { status } = await one.send(['eth_getStorageAt', [`0x${'ab'.repeat(20)}`, '0x0', 'latest']]);
    expect(status).toBe(429);
  });

  it('costs nothing without limits', async () => {
    const one = await limited();
    const { gateway } = one;
    for (let count = 0; count < 20; count++) await gateway.post('test', call);
    expect((await one.send(['net_version'])).status).toBe(200);
  });
});

describe('a large body of an exhausted key', () => {
  it('is rejected before it is parsed, with the limit of the key', async () => {
    const one = await limited();
    const { gateway } = one;
    await one.setPermissions({ rate: '0.01', burst: '1' });
    expect((await one.send(['eth_getStorageAt', [`0x${'ab'.repeat(20)}`, '0x0', 'latest']])).status).toBe(200);
    const response = await gateway.post('test', large(call));
    expect([response.status, await response.json()]).toEqual([
      429,
      { jsonrpc: '2.0', id: null, error: { code: -32005, message: 'project ID request rate exceeded' } },
    ]);
    expect(response.headers.get('retry-after')).toBe('100');
    expect(response.headers.get('ratelimit-limit')).toBe('1');
  });

  it('that is small gets its rejection under its id', async () => {
    const one = await limited();
    await one.setPermissions({ rate: '0.01', burst: '1' });
    await one.send(['eth_getStorageAt', [`0x${'ab'.repeat(20)}`, '0x0', 'latest']]);
    expect(await one.send(['net_version'])).toMatchObject({ status: 429, body: { id: expect.any(Number) as number } });
  });
});

describe('the members and elements of a call', () => {
  it('are bounded', async () => {
    const { gateway } = await limited({ callMaxValues: '5000' });
    const response = await gateway.post('test', callOf(5_000));
    expect([response.status, await response.json()]).toEqual([
      400,
      {
        jsonrpc: '2.0',
        id: null,
        error: {
          code: -32600,
          message: 'invalid request: the call has more than 5000 members and elements',
        },
      },
    ]);
    expect((await gateway.post('test', callOf(2_000))).status).toBe(200);
  });

  it('are those of each call, not of its batch', async () => {
    const { gateway } = await limited({ callMaxValues: '5000' });
    expect((await gateway.post('test', `[${Array(4).fill(callOf(2_000)).join(',')}]`)).status).toBe(200);
    expect((await gateway.post('test', `[${callOf(1)},${callOf(6_000)}]`)).status).toBe(400);
  });
});
