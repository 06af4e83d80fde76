import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OwnedSteps } from '../../../gateway/event-loop/owned-steps.ts';
import {
  membersInSteps,
  membersOf,
  responseId,
  responseIdInSteps,
} from '../../../gateway/upstreams/transport/response-envelope.ts';
import { TooManyValues, UpstreamFailure } from '../../../gateway/upstreams/transport/upstream-response.ts';
import { propertyRuns } from '../../support/property-runs.ts';

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
      { numRuns: propertyRuns(2_000) },
    );
  });

  it.each([
    ['{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m","id":7}}'],
    ['{"jsonrpc":"2.0","error":{"code":1,"message":"m","id":7}}'],
    ['{"code":1,"message":"m"}'],
    // `Number` of these throws, and is 5, 1 and 0.
    ['{"jsonrpc":"2.0","id":{"toString":1},"result":"0x1"}'],
    ['{"jsonrpc":"2.0","result":[1],"id":{"valueOf":1,"toString":2}}'],
    ['{"id":[5],"result":1}'],
    ['{"id":true,"result":1}'],
    ['{"id":"","result":1}'],
  ])('is not in %s', (text) => {
    expect(idIn(text)).toBeUndefined();
  });

  it.each([['Too many requests'], [''], ['null'], ['[]']])('is not in %j, which is no JSON object', (text) => {
    expect(idIn(text)).toBe('not-json');
  });

  it('is not read from a notification', () => {
    expect(idIn('{"jsonrpc":"2.0","method":"eth_subscription","params":{"id":7}}')).toBe('notification');
  });
});

describe('the id of a large response', () => {
  const large = `[${'{},'.repeat(150_000)}1]`;

  it.each([
    ['after its result', `{"x":1,"result":${large},"id":7}`, 7],
    ['before its result', `{"x":1,"id":7,"result":${large}}`, 'unread'],
  ])('%s', (_, text, id) => {
    expect(idIn(text)).toBe(id);
  });

  it.each([
    ['before its result', `{"x":1,"id":7,"result":${large}}`, 7],
    ['before another member', `{"jsonrpc":"2.0","result":${large},"id":7,"usage":{"cu":10}}`, 7],
    ['between a large result and another large member', `{"x":1,"result":${large},"id":7,"y":${large}}`, 7],
    ['in a notification', `{"x":1,"method":"eth_subscription","params":{"result":${large}}}`, 'notification'],
    [
      'in a notification with its method last',
      `{"params":{"result":${large}},"method":"eth_subscription"}`,
      'notification',
    ],
    ['in none of its members', `{"x":${large},"result":{"id":7}}`, undefined],
    ['in an id that is an object', `{"x":1,"id":{"toString":1},"result":${large}}`, undefined],
    ['in very many members', `{"y":${large},${'"x":1,'.repeat(129)}"id":7,"z":1}`, undefined],
    ['in no JSON', `{"x":${large},"id":7,~}`, 'not-json'],
  ])('is found in steps %s', async (_, text, id) => {
    const body = Buffer.from(text);
    expect(responseId(body)).toBe('unread');
    expect(await responseIdInSteps(body, new OwnedSteps('owner'))).toBe(id);
  });
});

describe('the members of a response', () => {
  const list = `[${'{},'.repeat(100_000)}1]`;
  const body = Buffer.from(`{"result":${list},"x":1,"id":7}`);

  // Comparing Buffers byte by byte takes seconds.
  const textsOf = (members: ReadonlyMap<string, Buffer> | undefined): string[] =>
    [...(members ?? [])].map(([name, value]) => `${name}: ${value.toString()}`);

  async function stepsOf(read: Buffer): Promise<number> {
    let steps = 0;
    const counted = new OwnedSteps('owner');
    counted.next = () => {
      steps++;
      return undefined;
    };
    expect(textsOf(await membersInSteps(read, counted))).toEqual(textsOf(membersOf(read)));
    return steps;
  }

  it('are read in steps of 64 kB', async () => {
    expect(await stepsOf(body)).toBe(Math.floor(list.length / 65_536));
  });

  it('are read in steps of 64 kB where each member is smaller', async () => {
    const small = `"x":"${'0'.repeat(60_000)}",`;
    expect(await stepsOf(Buffer.from(`{${small.repeat(20)}"id":7}`))).toBe(10);
  });

  it('have one result at most', () => {
    const twice = `{"result":[1],"result":${list},~`;
    expect(() => membersOf(Buffer.from(twice))).toThrow(
      new UpstreamFailure('malformed', 'the response has two results'),
    );
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
