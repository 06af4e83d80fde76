import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OwnedSteps } from '../../../gateway/event-loop/owned-steps.ts';
import { membersInSteps, membersOf, responseId } from '../../../gateway/upstreams/transport/response-envelope.ts';
import { TooManyValues } from '../../../gateway/upstreams/transport/upstream-response.ts';

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

describe('the id of a large response', () => {
  const large = `[${'{},'.repeat(150_000)}1]`;

  it.each([
    ['before its result', `{"x":1,"id":7,"result":${large}}`, 7],
    ['after its result', `{"x":1,"result":${large},"id":7}`, 7],
    ['in a notification', `{"x":1,"method":"eth_subscription","params":{"result":${large}}}`, 'notification'],
    ['between a large result and another large member', `{"x":1,"result":${large},"id":7,"y":${large}}`, undefined],
  ])('%s', (_, text, id) => {
    expect(idIn(text)).toBe(id);
  });
});

describe('the members of a response', () => {
  const list = `[${'{},'.repeat(100_000)}1]`;
  const body = Buffer.from(`{"result":${list},"x":1,"id":7}`);

  it('are read in steps of 64 kB', async () => {
    let steps = 0;
    const counted = new OwnedSteps('owner');
    counted.next = () => {
      steps++;
      return undefined;
    };
    expect(await membersInSteps(body, counted)).toEqual(membersOf(body));
    expect(steps).toBe(Math.floor(list.length / 65_536));
  });

  it.each([
    ['a member that is larger than any error', `{"x":[${'{},'.repeat(1_400_000)}`],
    ['members that together are', `{${'"x":"0123456789",'.repeat(100)}"y":"${'0'.repeat(4_000_000)}"`],
    ['very many members', `{${'"x":1,'.repeat(129)}`],
  ])('are not read further than %s', (_, start) => {
    // What follows is no JSON, and is not looked at.
    expect(() => membersOf(Buffer.from(`${start},~`))).toThrow(TooManyValues);
  });
});
