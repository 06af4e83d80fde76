import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { responseId } from '../../../gateway/upstreams/transport/response-envelope.ts';

const idIn = (text: string): ReturnType<typeof responseId> => responseId(Buffer.from(text));

describe('the id of a response', () => {
  it('is the one that JSON.parse finds, at any position and with any other members', () => {
    const id = fc.nat({ max: 2 ** 40 });
    const shape = fc.record({
      id,
      asString: fc.boolean(),
      at: fc.nat({ max: 3 }),
      // Strings and members that look like an id are likely here.
      result: fc.oneof(
        fc.json(),
        fc.constantFrom('{"id":7}', '","id":7}', '{"jsonrpc":"2.0","id":7,', 'x').map((text) => JSON.stringify(text)),
        fc.constantFrom('{"id":7}', '[{"a":1,"id":7}]'),
      ),
      indent: fc.constantFrom(0, 1, '\t'),
    });
    fc.assert(
      fc.property(shape, ({ id, asString, at, result, indent }) => {
        const members: [string, unknown][] = [
          ['jsonrpc', '2.0'],
          ['result', JSON.parse(result)],
          ['x', { id: 9 }],
        ];
        members.splice(at, 0, ['id', asString ? String(id) : id]);
        expect(idIn(JSON.stringify(Object.fromEntries(members), null, indent))).toBe(id);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m","id":7}}'],
    ['{"jsonrpc":"2.0","error":{"code":1,"message":"m","id":7}}'],
    ['{"code":1,"message":"m"}'],
    ['null'],
    ['[]'],
  ])('is not in %s', (text) => {
    expect(idIn(text)).toBeUndefined();
  });

  it.each([['Too many requests'], ['']])('is not in %j, which is not JSON', (text) => {
    expect(idIn(text)).toBe('not-json');
  });

  it('is not read from a notification', () => {
    expect(idIn('{"jsonrpc":"2.0","method":"eth_subscription","params":{"id":7}}')).toBe('notification');
  });
});
